//! What a chat has learned: its skills and its memory, as tools, in the prompt and for its commands; and looking back.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Result;
use futures::future::FutureExt;
use hermes_agent::Toolbox;
use hermes_exec::backend::LocalBackend;
use hermes_exec::terminal::{Granted, inline};
use hermes_gate::Gate;
use hermes_mcp_tools::{Remembering, ServerMemory};
use hermes_session::toolsets::Selection;
use hermes_session::{Learned, OutsideMemory, Review, Reviewer, Told};
use hermes_skills::journal::{Author, By, Journal};
use hermes_skills::memory::{Choice, Memory, MemoryTool, Tell, ToolUse};
use hermes_skills::{Offer, Origin, Passing, Skills, bundled, skill_tools};
use hermes_types::Tool;
use serde_json::Value;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::hands::Hands;
use crate::cli::Talk;
use crate::mcp::Running;
use crate::wire::{App, say};

const TOOLS: [&str; 3] = ["skills_list", "skill_view", "skill_manage"];

/// Where commands run, as far as skills have to do with it.
pub struct Shell<'a> {
    pub backend: &'a Arc<LocalBackend>,
    pub granted: &'a Granted,
    pub gate: &'a Arc<Gate>,
}

/// The session's skills, unless its toolsets leave them out.
pub fn skills(app: &App, selection: &Selection, shell: &Shell<'_>) -> Option<Arc<Skills>> {
    if !TOOLS.iter().any(|tool| selection.allows(tool)) {
        return None;
    }
    seed(app);
    let granted = shell.granted.clone();
    let skills = Skills::new(&app.home, &app.settings, &app.env, "cli");
    let skills = skills.granting(Arc::new(move |passing| match passing {
        Passing::Variable { name, value } => {
            if !granted.grant(name, value) {
                tracing::warn!("{name} opens a provider's account: no skill hands it to commands");
            }
        }
        Passing::Nothing => granted.clear(),
    }));
    Some(Arc::new(if app.settings.is_on("skills.inline_shell") {
        with_commands(app, skills, shell)
    } else {
        skills
    }))
}

/// Lets texts of skills ask the shell, in so far as nobody need be asked about it.
fn with_commands(app: &App, skills: Skills, shell: &Shell<'_>) -> Skills {
    let seconds = app.settings.number("skills.inline_shell_timeout");
    let time = Duration::from_secs_f64(seconds.clamp(1.0, 600.0));
    let (backend, gate) = (shell.backend.clone(), shell.gate.clone());
    skills.running(Arc::new(move |command, dir| {
        let (backend, gate) = (backend.clone(), gate.clone());
        async move {
            let permit = gate.permit_unasked(&command);
            let permit = permit.map_err(|denied| denied.to_string())?;
            inline(backend.as_ref(), permit, dir, time).await
        }
        .boxed()
    }))
}

/// Brings the bundled skills up to date; one look at a stamp if they are.
pub fn seed(app: &App) {
    match bundled::sync(&app.home, &app.env) {
        Ok(None) => {}
        Ok(Some(synced)) => {
            for name in &synced.taken {
                say(&format!(
                    "you have a skill '{name}' of your own, so the bundled one was left out; \
                     `hermes skills reset {name} --restore` puts it in its place"
                ));
            }
            tracing::info!("bundled skills: {synced:?}");
        }
        // A home that cannot be written to has the skills it has.
        Err(error) => tracing::warn!("the bundled skills were not brought up to date: {error}"),
    }
}

/// What the system prompt says about skills, given these tools.
pub fn index(skills: &Skills, toolbox: &Toolbox) -> Option<String> {
    let names = toolbox.names();
    let mut offer = Offer::default();
    for name in &names {
        offer.tools.insert((*name).to_owned());
        let tool = toolbox.get(name);
        offer
            .toolsets
            .extend(tool.map(|tool| tool.spec().toolset.to_owned()));
    }
    let usable = names.iter().any(|name| TOOLS.contains(name));
    usable.then(|| skills.prompt(&offer)).flatten()
}

/// The skills of `-s`.
pub async fn preloaded(app: &App, talk: &Talk, skills: Option<&Skills>) -> Result<Option<String>> {
    if talk.skills.is_empty() || app.env.is_on("HERMES_IGNORE_RULES") {
        return Ok(None);
    }
    let Some(skills) = skills else {
        anyhow::bail!("-s needs the toolset 'skills', which is off");
    };
    Ok(Some(skills.preloaded(&talk.skills, "").await?))
}

/// The memory outside that the owner chose, if it can be had; else they are told why not.
pub fn outside(app: &App, mcp: Option<&Running>) -> Option<OutsideMemory> {
    let choice = Choice::read(&app.settings);
    if let Some(problem) = choice.problem() {
        say(&problem);
    }
    let Choice::Server(tools) = choice else {
        return None;
    };
    let server = &tools.server;
    let live = mcp.map(|mcp| &mcp.live);
    let Some(live) = live.filter(|live| live.server(server).is_some()) else {
        let servers = app.settings.get("mcp_servers");
        match servers.and_then(|servers| servers.get(server)) {
            Some(_) => tracing::info!("mcp:{server} is not part of this session"),
            None => say(&format!(
                "memory.provider is mcp:{server}, but no MCP server of that name is configured"
            )),
        }
        return None;
    };
    let used = |used: Option<ToolUse>| {
        used.map(|used| match used.shape {
            Some(arguments) => Remembering {
                tool: used.tool,
                arguments,
            },
            None => Remembering::with_argument(used.tool, used.argument),
        })
    };
    let memory = ServerMemory::new(live.clone(), server)
        .recalling(used(tools.recall))
        .keeping(used(tools.keep));
    let home = app.home.dir().to_owned();
    Some(OutsideMemory::new(Arc::new(memory), home))
}

/// What a session can write down, and the journal of it.
#[derive(Clone)]
pub struct Learning {
    memory: Memory,
    journal: Arc<Journal>,
    /// Hears of what is written into memory; known only after the tools that write.
    heard: Arc<OnceLock<Tell>>,
}

/// Who writes down.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    Agent,
    Review,
}

impl Learning {
    pub fn new(app: &App) -> Self {
        Self {
            memory: Memory::new(&app.home, &app.settings),
            journal: Arc::new(Journal::new(&app.home)),
            heard: Arc::default(),
        }
    }

    /// Has somebody hear of what is written into memory.
    pub fn tell(&self, outside: &OutsideMemory) {
        // Each session has one at most.
        let _ = self.heard.set(outside.writes());
    }

    /// The tools that write down what was learned, and those to look it up.
    pub fn tools(&self, skills: Option<&Arc<Skills>>, writer: Writer) -> Vec<Arc<dyn Tool>> {
        let (by, origin) = match writer {
            Writer::Agent => (By::Agent, Origin::Foreground),
            Writer::Review => (By::Review, Origin::Review),
        };
        let author = Author::of(by);
        let heard = self.heard.clone();
        let memory = MemoryTool::new(self.memory.clone(), self.journal.clone(), author.clone());
        let memory = memory.telling(Some(Arc::new(move |write| {
            if let Some(tell) = heard.get() {
                tell(write);
            }
        })));
        let skills = skills.map(|skills| skill_tools(skills, origin));
        let skills =
            skills
                .into_iter()
                .flatten()
                .map(|tool| match tool.spec().name == "skill_manage" {
                    true => self.journal.watching(tool, author.clone()),
                    false => tool,
                });
        let memory: Arc<dyn Tool> = Arc::new(memory);
        std::iter::once(memory).chain(skills).collect()
    }
}

impl Hands {
    /// What the prompt says about earlier sessions, if this one remembers at all.
    pub fn memory(&self) -> Option<Memory> {
        let remembers = self.toolbox.get("memory").is_some();
        remembers.then(|| self.learning.memory.clone())
    }

    /// What `/memory` and `/journey` show.
    pub fn learned(&self, app: &App) -> Learned {
        Learned {
            home: app.home.clone(),
            memory: self.learning.memory.clone(),
            journal: self.learning.journal.clone(),
            provider: Choice::read(&app.settings).to_string(),
        }
    }

    /// Notes beside the session what others changed since the last one. Nobody waits for it.
    pub fn catch_up(&self) -> AbortOnDropHandle<()> {
        let look = self.learning.journal.clone().catch_up();
        AbortOnDropHandle::new(TaskTracker::new().spawn(look))
    }

    /// How a session with a person looks back.
    pub fn review(&self, app: &App) -> Review {
        let (learning, skills) = (self.learning.clone(), self.skills.clone());
        let every = |key: &str| app.settings.number(key).clamp(0.0, 1e6) as u32;
        let set = |key: &str| {
            app.settings
                .get(&format!("auxiliary.background_review.{key}"))
        };
        let is_named = |key: &str| {
            let name = set(key).and_then(Value::as_str).unwrap_or_default();
            !matches!(name, "" | "auto")
        };
        Review {
            memory_every: every("memory.nudge_interval"),
            skills_every: every("skills.creation_nudge_interval"),
            tools: Arc::new(move || learning.tools(skills.as_ref(), Writer::Review)),
            told: match app.settings.get("display.memory_notifications") {
                Some(Value::Bool(false)) => Told::No,
                Some(Value::String(word)) if word == "off" => Told::No,
                _ => Told::Yes,
            },
            reviewer: match is_named("provider") && is_named("model") {
                true => Reviewer::Other,
                false => Reviewer::Same,
            },
        }
    }
}
