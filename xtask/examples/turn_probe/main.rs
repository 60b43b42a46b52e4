//! Conversations without the program around them, for `cargo xtask bench`: several in one process, and tools that take
//! as long as they are told. The home, the model and the settings are those of the environment, as for the program.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

mod hands;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hermes_agent::{Limits, Prompt, Toolbox};
use hermes_exec::files::{Cwd, LocalWorkspace};
use hermes_home::config::Settings;
use hermes_home::{Env, Home, Resolved, clock};
use hermes_model::{Overrides, RoutedModels};
use hermes_session::{
    Asking, Busy, Feed, Input, Opening, Session, Surroundings, Titles, Which, system_prompt,
};
use hermes_store::{OpenOptions, Store};
use hermes_types::{
    AgentEvent, Message, ModelError, ModelErrorKind, Models, Purpose, Scope, SessionId, TurnEnd,
};
use serde_json::json;
use tokio::task::{JoinSet, LocalSet};

use hands::{Hands, Wait};

/// A turn that takes longer has starved.
const PATIENCE: Duration = Duration::from_secs(60);

/// One thread, like the program.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let world = World::new().await?;
    match args[..] {
        ["batch", rounds] => batch(&world, rounds.parse()?).await?,
        ["crowd", turns] => {
            let turns = turns.parse()?;
            LocalSet::new().run_until(crowd(&world, turns)).await?;
        }
        _ => bail!("batch ROUNDS | crowd TURNS"),
    }
    world.store.close().await;
    Ok(())
}

/// One turn after another, each in a conversation of its own.
async fn batch(world: &World, rounds: usize) -> Result<()> {
    let cwd = Cwd::new(world.env.user_home());
    for _ in 0..rounds {
        let toolbox = Toolbox::new([Wait::tool()]);
        let opening = world.opening(toolbox, cwd.clone())?;
        turn(Session::open(opening).await?, "go").await?;
    }
    Ok(())
}

/// All turns at the same time; the conversations are open before the first one starts.
async fn crowd(world: &World, turns: usize) -> Result<()> {
    let hands = Hands::new(&world.env, &world.home, &world.store);
    let mut running = JoinSet::new();
    let mut open = Vec::new();
    for at in 0..turns {
        let cwd = Cwd::new(world.env.user_home().join(format!("work/{at}")));
        let opening = world.opening(hands.toolbox(&cwd), cwd)?;
        open.push(Session::open(opening).await?);
    }
    let start = Instant::now();
    for session in open {
        running.spawn_local(async move {
            turn(session, "write a report").await?;
            anyhow::Ok(start.elapsed().as_secs_f64() * 1000.0)
        });
    }
    let (mut times, mut failures) = (Vec::new(), Vec::new());
    while let Some(ended) = running.join_next().await {
        match ended? {
            Ok(time) => times.push(time),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    hands.put_down().await;
    println!(
        "{}",
        json!({"turns": times, "failures": failures, "peak_kb": peak_kb()?})
    );
    Ok(())
}

/// Prompt to answer.
async fn turn((session, live, feed): Open, prompt: &str) -> Result<()> {
    let face = async {
        session.send(Input::Prompt(Message::user(prompt))).await;
        let end = tokio::time::timeout(PATIENCE, ended(&feed)).await;
        session.send(Input::Close).await;
        end
    };
    let (end, ()) = tokio::join!(face, live.run());
    let end = end.context("starved")?.context("no end")?;
    match end.answered() {
        true => Ok(()),
        false => bail!("{}: {:?}", end.reason, end.error),
    }
}

type Open = (Session, hermes_session::Live, Feed);

async fn ended(feed: &Feed) -> Option<TurnEnd> {
    while let Some(event) = feed.next().await {
        if let AgentEvent::TurnEnded(end) = event {
            return Some(*end);
        }
    }
    None
}

/// What all conversations share.
struct World {
    env: Env,
    home: Home,
    store: Store,
    models: Arc<RoutedModels>,
}

impl World {
    async fn new() -> Result<Self> {
        let env = Env::from_process();
        let home = Resolved::from(None, &env)?.home(&env);
        home.ensure()?;
        let settings = Settings::load(&home, &env);
        let models = RoutedModels::new(&home, settings, env.clone(), &Overrides::default())?;
        models.context(&Scope::new(SessionId::new("start"))).await;
        let store = Store::open(home.state_db(), OpenOptions::default()).await?;
        Ok(Self {
            env,
            home,
            store,
            models: Arc::new(models),
        })
    }

    fn opening(&self, toolbox: Toolbox, cwd: Cwd) -> Result<Opening> {
        let model = self.models.client(&Purpose::Main)?;
        let around = Surroundings {
            cwd: cwd.get(),
            user_home: self.env.user_home(),
            model: model.info().model.clone(),
            provider: model.info().provider.clone(),
            started: clock::now(),
            rules: true,
            tools: true,
            enforce: false,
            platform: "cli",
            worktree: None,
            skills: None,
            preloaded: None,
            memory: None,
        };
        Ok(Opening {
            which: Which::New,
            source: "cli".to_owned(),
            asking: Asking::Nobody,
            busy: Busy::Queue,
            store: self.store.clone(),
            models: self.models.clone(),
            model,
            tools: Arc::new(move || toolbox.clone()),
            workspace: Arc::new(LocalWorkspace::new(cwd)),
            limits: Limits::default(),
            system: {
                let home = self.home.clone();
                Prompt::new(move |_| system_prompt(&home, &around))
            },
            switch: Arc::new(|wanted| {
                let kind = ModelErrorKind::NotConfigured;
                let error = ModelError::new(kind, format!("no {} here", wanted.model));
                Box::pin(std::future::ready(Err(error)))
            }),
            saved_dir: PathBuf::new(),
            titles: Titles::None,
        })
    }
}

/// The most memory this process ever had.
fn peak_kb() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .context("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
