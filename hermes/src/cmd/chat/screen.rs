//! A conversation on a screen.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use futures::future::{BoxFuture, FutureExt};
use hermes_exec::process::Processes;
use hermes_lines::Out;
use hermes_session::QuickCommands;
use hermes_skills::Skills;
use hermes_skills::curator::Curator;
use hermes_store::Store;
use hermes_tui::cells::{Banner, banner};
use hermes_tui::chat::{self, Jobs, Joined, Left, World};
use hermes_tui::menu::Candidate;
use hermes_types::SessionId;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::oneshot;

use super::farewell::farewell;
use super::hands::Hands;
use super::lists::{Found, Picks};
use super::open::{Open, Presence, open};
use super::place::{Changes, Place};
use super::signals::{Caught, Signals};
use crate::cli::Talk;
use crate::wire::{self, App};

/// Whether there is a screen to draw on, and the owner wants it.
pub fn is_wanted(app: &App, talk: &Talk) -> bool {
    let env = &app.env;
    let plain = talk.cli || env.get("HERMES_TUI") == Some("0") || env.get("TERM") == Some("dumb");
    !plain && env.filled("TERM").is_some() && std::io::stdout().is_terminal()
}

pub fn run(app: &mut App, talk: &Talk, source: &str) -> Result<()> {
    app.block_on(talk_to(app, talk, source))
}

/// What is left when the chat is over.
struct Rest {
    hands: Hands,
    place: Place,
    store: Store,
}

async fn talk_to(app: &App, talk: &Talk, source: &str) -> Result<()> {
    let mut signals = Signals::watch(&Caught::ENDS, &app.env)?;
    let mut opening_signals = Signals::watch(&Caught::ENDS, &app.env)?;
    let (caught, ended) = oneshot::channel();
    let (rest, kept) = oneshot::channel();
    let opening = async {
        let open = open(app, talk, source, Presence::Person, &mut opening_signals).await?;
        let (joined, left) = parts(app, open);
        // Whoever waits for it is further down.
        let _ = rest.send(left);
        Ok::<_, anyhow::Error>(joined)
    };
    let world = world(app, talk, ended.map(drop).boxed(), signals.grace());
    let watch = async {
        let signal = signals.next().await;
        let _ = caught.send(());
        signal
    };
    let screen = chat::run(world, opening);
    tokio::pin!(screen, watch);
    let (left, signal) = tokio::select! {
        left = &mut screen => (left, None),
        signal = &mut watch => (screen.await, Some(signal)),
    };
    wire::hear(None);
    finish(app, left, signal, kept).await
}

async fn finish(
    app: &App,
    left: Result<Left, chat::Error<anyhow::Error>>,
    signal: Option<Caught>,
    mut kept: oneshot::Receiver<Rest>,
) -> Result<()> {
    let rest = kept.try_recv().ok();
    let left = left.map_err(|error| match error {
        chat::Error::Opening(error) => error,
        chat::Error::Terminal(error) => anyhow!("the terminal cannot be used: {error}"),
    });
    let signal = match &left {
        Ok(Left::Gone) => Some(signal.unwrap_or(Caught::Hangup)),
        _ => signal,
    };
    let Some(rest) = rest else {
        let caught = signal.filter(|_| left.is_ok());
        return match caught {
            Some(caught) => Err(caught.failed().into()),
            None => left.map(drop),
        };
    };
    let Rest {
        hands,
        place,
        store,
    } = rest;
    hands.put_down().await;
    if let Some(caught) = signal {
        place.leave(async |_| Changes::Keep).await;
        return Err(caught.failed().into());
    }
    let mut out = Out::stdout(&app.env);
    if let Left::Owner(Some(id)) = left? {
        farewell(&mut out, &store, &id).await?;
    }
    let decide = async |path: &Path| discard(&mut out, path).await;
    place.leave(decide).await;
    Ok(out.flush()?)
}

/// The session for the screen, and what has to be put in order afterwards.
fn parts(app: &App, open: Open) -> (Joined, Rest) {
    let processes = open.hands.processes().clone();
    let picks = Picks::new(app, &open);
    let skills = open.hands.skills.as_deref().map(commands);
    let more = quick(app).into_iter().chain(skills.unwrap_or_default());
    let tending = open.tending;
    let live = open.live;
    let joined = Joined {
        session: open.session,
        feed: open.feed,
        live: async move {
            live.run().await;
            drop(tending);
        }
        .boxed(),
        jobs: Arc::new(News(processes)),
        more: more.collect(),
        lists: Arc::new(picks),
        servers: servers(&open.hands),
    };
    let rest = Rest {
        hands: open.hands,
        place: open.place,
        store: open.store,
    };
    (joined, rest)
}

/// The owner's own commands.
fn quick(app: &App) -> Vec<Candidate> {
    let commands = QuickCommands::read(&app.settings);
    let rows = commands.listed();
    rows.map(|(name, about)| Candidate::quick(name, about))
        .collect()
}

/// How many MCP servers there are, and how many of them are away.
fn servers(hands: &Hands) -> Arc<dyn Fn() -> Option<String> + Send + Sync> {
    let live = hands.mcp.as_ref().map(|mcp| mcp.live.clone());
    Arc::new(move || match live.as_ref()?.standing() {
        (_, 0) => None,
        (up, all) if up == all => Some(format!("{all} MCP")),
        (up, all) => Some(format!("{up}/{all} MCP")),
    })
}

/// What `/name` may call.
fn commands(skills: &Skills) -> Vec<Candidate> {
    let commands = skills.commands().into_iter();
    commands
        .map(|(name, skills)| {
            let about = skills.first().map(|skill| skill.found.description.clone());
            Candidate::skill(&name, about.unwrap_or_default())
        })
        .collect()
}

fn world(app: &App, talk: &Talk, ended: BoxFuture<'static, ()>, grace: Duration) -> World {
    let cwd = std::env::current_dir().unwrap_or_else(|_| app.env.user_home());
    let mut greeting = Vec::new();
    if !talk.skills.is_empty() {
        greeting.push(format!("Activated skills: {}", talk.skills.join(", ")));
    }
    greeting.extend(Curator::news(&app.home));
    let found = Arc::new(Found::new(&cwd, &app.env));
    World {
        home: app.home.clone(),
        settings: app.settings.clone(),
        env: app.env.clone(),
        banner: banner(app, talk, &cwd),
        cwd,
        greeting,
        words: Arc::new(super::lists::Names::new(app)),
        files: found,
        told: wire::listen(),
        ended,
        grace,
    }
}

fn banner(app: &App, talk: &Talk, cwd: &Path) -> Banner {
    let text = |key: &str| app.settings.text(key).to_owned();
    let size = match app.settings.text("display.banner") {
        "full" => banner::Size::Full,
        "none" => banner::Size::None,
        "compact" => banner::Size::Compact,
        _ if app.settings.is_on("display.compact") => banner::Size::Compact,
        _ => banner::Size::Header,
    };
    Banner {
        size,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model: talk.model.clone().unwrap_or_else(|| text("model.default")),
        provider: talk
            .provider
            .clone()
            .unwrap_or_else(|| text("model.provider")),
        cwd: cwd.display().to_string(),
        ..Banner::default()
    }
}

struct News(Processes);

impl Jobs for News {
    fn news(&self, session: SessionId) -> BoxFuture<'static, Vec<String>> {
        let processes = self.0.clone();
        async move {
            processes.noticed(&session).await;
            let notices = processes.drain_notices(&session);
            notices.iter().map(|notice| notice.text()).collect()
        }
        .boxed()
    }
}

/// Asks what becomes of changes that were not committed. No answer is no.
async fn discard(out: &mut Out, path: &Path) -> Changes {
    let asked = write!(
        out,
        "{} has changes that are not committed. Remove it with them? [y/N] ",
        path.display()
    );
    if asked.and_then(|()| out.flush()).is_err() {
        return Changes::Keep;
    }
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let line = lines.next_line().await.ok().flatten().unwrap_or_default();
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Changes::Discard,
        _ => Changes::Keep,
    }
}
