//! From settings and options to an open session.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use hermes_agent::{GuardLimits, Limits, Prompt};
use hermes_exec::files::LocalWorkspace;
use hermes_home::clock;
use hermes_mcp_tools::config::allowed;
use hermes_mcp_tools::{ChooseModel, Entry, ModelWish};
use hermes_model::{MOA, RoutedModels};
use hermes_session::toolsets::{Selection, names};
use hermes_session::{
    Asking, Busy, Feed, Live, Opening, OutsideMemory, Personalities, Session, Spending,
    Surroundings, Titles, Which, system_prompt,
};
use hermes_skills::memory::Memory;
use hermes_store::Store;
use hermes_types::{Effort, ModelInfo, Models, Purpose, Speed};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::attend::attend;
use super::compaction::compaction;
use super::hands::Hands;
use super::learning;
use super::models::{check_model, explained, main_model, reload, routed, switch};
use super::place::{Changes, Place};
use super::signals::Signals;
use crate::cli::Talk;
use crate::cmd::{Failed, curator};
use crate::mcp::{Follow, News, Running, Source};
use crate::wire::{App, Scratch, say};

/// Whether somebody is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Person,
    /// Somebody with one question, who leaves with the answer.
    Once,
    /// One-shot: whoever typed it wants it done without questions.
    Nobody,
    /// A question without a person to ask: what is dangerous does not run.
    Unattended,
}

impl Presence {
    /// Whether somebody can be asked.
    pub fn is_person(self) -> bool {
        matches!(self, Self::Person | Self::Once)
    }

    /// Whether the first answer is also the last.
    pub fn is_for_one_turn(self) -> bool {
        self != Self::Person
    }
}

/// An open session with everything that belongs to it.
pub struct Open {
    pub session: Session,
    pub live: Live,
    pub feed: Feed,
    pub hands: Hands,
    pub place: Place,
    pub store: Store,
    /// Looks after things beside the session; ends with it.
    pub tending: Vec<AbortOnDropHandle<()>>,
}

/// Opens what the options ask for. Everything that can be wrong with them is found out before any request.
pub async fn open(
    app: &App,
    talk: &Talk,
    source: &str,
    presence: Presence,
    signals: &mut Signals,
) -> Result<Open> {
    let ready = Ready::new(app, talk).await?;
    let store = ready.store.clone();
    let place = Place::enter(app, talk).await?;
    let begun = tokio::select! {
        biased;
        caught = signals.next() => Err(caught.failed().into()),
        begun = ready.begin(app, talk, source, presence, &place) => begun,
    };
    match begun {
        Ok(((session, live, feed), hands)) => Ok(Open {
            tending: tending(app, presence, &session, &hands),
            store,
            session,
            live,
            feed,
            hands,
            place,
        }),
        Err(error) => {
            place.leave(async |_| Changes::Keep).await;
            Err(error)
        }
    }
}

fn tending(
    app: &App,
    presence: Presence,
    session: &Session,
    hands: &Hands,
) -> Vec<AbortOnDropHandle<()>> {
    let stays = presence == Presence::Person;
    let attending = stays.then(|| attend(&app.home, session.tasks()));
    attending
        .into_iter()
        .chain([hands.tend_checkpoints()])
        .collect()
}

/// What the options mean, as far as that can be known without asking anybody.
struct Ready {
    selection: Selection,
    models: Arc<RoutedModels>,
    store: Store,
    scratch: Option<Scratch>,
    which: Which,
}

type Begun = ((Session, Live, Feed), Hands);

impl Ready {
    async fn new(app: &App, talk: &Talk) -> Result<Self> {
        check(talk)?;
        let selection = selection(app, talk)?;
        let models = Arc::new(check_model(app, talk)?);
        let (store, scratch) = store(app, talk).await?;
        let which = which(&store, talk).await?;
        Ok(Self {
            selection,
            models,
            store,
            scratch,
            which,
        })
    }

    async fn begin(
        self,
        app: &App,
        talk: &Talk,
        source: &str,
        presence: Presence,
        place: &Place,
    ) -> Result<Begun> {
        // First of all: they connect while everything else is made ready.
        let mcp = servers(app, talk, presence, &self.models)?;
        let model = main_model(&self.models).await;
        let model = model.map_err(|error| explained(&error))?;
        let hands = Hands::new(app, &self.store, talk, &self.selection, presence, place)?
            .thinking_with(app, &self.selection, &self.models)
            .with_scripts(app, &self.selection)
            .keeping(self.scratch)
            .with_servers(mcp)
            .with_children(app, (&self.store, &self.selection), talk, presence);
        let outside = learning::outside(app, hands.mcp.as_ref());
        if let Some(outside) = &outside {
            hands.learning.tell(outside);
        }
        if let Some(mcp) = &hands.mcp {
            let limit = app.settings.number("mcp_discovery_timeout");
            let limit = Duration::from_secs_f64(limit.clamp(0.0, 3600.0));
            mcp.live.settled(limit).await;
        }
        let preloaded = learning::preloaded(app, talk, hands.skills.as_deref()).await?;
        let preface = preface(&self.which, place, preloaded.as_deref());
        let person = presence.is_person();
        if person {
            let problems = hands.memory().map(|memory| memory.problems());
            problems.iter().flatten().for_each(|problem| say(problem));
        }
        let recalled = outside.as_ref().and_then(OutsideMemory::prompt_part);
        let opening = Opening {
            which: self.which,
            source: source.to_owned(),
            asking: if person {
                Asking::Interactive
            } else {
                Asking::Nobody
            },
            busy: busy(app),
            system: prompt(app, &hands, place, (preloaded, recalled)),
            limits: Limits {
                compaction: compaction(app, model.as_ref(), self.models.as_ref())?,
                ..limits(app, talk)
            },
            workspace: Arc::new(LocalWorkspace::new(hands.cwd.clone())),
            saved_dir: app.home.sessions_dir().join("saved"),
            titles: if person {
                Titles::Suggested
            } else {
                Titles::None
            },
            switch: switch(app, &self.models),
            models: self.models.clone(),
            model,
            tools: hands.tools(),
            store: self.store,
        };
        let (session, live, feed) = Session::open(opening).await?;
        let live = equipped(live, app, &hands, &self.models, presence)
            .with_preface(preface)
            .with_outside_memory(outside);
        Ok(((session, live, feed), hands))
    }
}

/// A conversation keeps the prompt it began with: what is new is said in the next message.
fn preface(which: &Which, place: &Place, preloaded: Option<&str>) -> String {
    if !matches!(which, Which::Existing(_)) {
        return String::new();
    }
    let checkout = place.checkout();
    let checkout = checkout.map(|checkout| format!("[{}]\n\n", checkout.note()));
    let skills = preloaded.map(|skills| format!("{skills}\n\n"));
    [checkout, skills].into_iter().flatten().collect()
}

/// Everything a session can be asked to do besides answering.
fn equipped(
    live: Live,
    app: &App,
    hands: &Hands,
    models: &Arc<RoutedModels>,
    presence: Presence,
) -> Live {
    let mut live = live
        .with_jobs(hands.stop_jobs())
        .with_rollback(hands.rollback())
        .with_reload(reload(app, models))
        .with_references(hands.references(app))
        .with_permissions(hands.forget())
        .with_controls(hands.controls(app))
        .with_quick_commands(hands.quick(app))
        .with_servers(hands.mcp.as_ref().map(|mcp| mcp.for_session(app)))
        .with_personalities(Personalities::new(&app.home, &app.settings, &app.env))
        .with_skills(hands.skills.clone())
        .with_learned(hands.learned(app))
        .with_spending(spending(app))
        .with_witness(hands.witness.clone());
    if presence.is_person() {
        live = live.with_review(hands.review(app));
    }
    if presence == Presence::Person {
        live = live.with_curator(curator::of(app));
    }
    if presence.is_for_one_turn() {
        live = live.for_one_turn();
    }
    live
}

/// Starts the MCP servers this session may use.
fn servers(
    app: &App,
    talk: &Talk,
    presence: Presence,
    models: &Arc<RoutedModels>,
) -> Result<Option<Running>> {
    let source = Source::of(app);
    let mut servers = source.servers();
    for problem in &servers.problems {
        say(&problem.to_string());
    }
    for warning in servers.entries.iter().flat_map(|entry| &entry.warnings) {
        tracing::warn!("{warning}");
    }
    let all: Vec<&str> = servers.entries.iter().map(Entry::name).collect();
    let allowed = allowed(&all, &toolsets(app, talk))
        .into_iter()
        .map(str::to_owned);
    let allowed: Vec<String> = allowed.collect();
    servers
        .entries
        .retain(|entry| allowed.iter().any(|name| name == entry.name()));
    if servers.entries.is_empty() && !presence.is_person() {
        return Ok(None);
    }
    let starter = source.starter(&servers, Some(thinker(models)))?;
    let follow = match presence {
        Presence::Person | Presence::Once => Follow::File(Box::new(tell)),
        Presence::Nobody | Presence::Unattended => Follow::Nothing,
    };
    Ok(Some(Running::start(source, servers, starter, follow)))
}

/// What happened to the servers because their configuration changed.
fn tell(news: News) {
    match news {
        News::Applied(reload) => say(&format!("MCP servers changed: {reload}")),
        News::Waiting => say("mcp_servers changed; /reload-mcp applies it"),
    }
}

/// Models for servers that want to think.
fn thinker(models: &Arc<RoutedModels>) -> Arc<ChooseModel> {
    let models = models.clone();
    Arc::new(move |wish| match wish {
        ModelWish::Configured(name) => models.client(&Purpose::Named(name.to_owned())),
        ModelWish::Hinted(_) | ModelWish::Default => models.client(&Purpose::Aux("mcp")),
    })
}

/// What every request of a new session begins with, in bytes.
pub struct Preamble {
    pub system: usize,
    /// Each tool's definition.
    pub tools: Vec<(String, usize)>,
    /// Tools that cannot be used now, and why.
    pub unusable: Vec<(String, String)>,
}

pub async fn preamble(app: &App, talk: &Talk) -> Result<Preamble> {
    let store = app.store().await?;
    let (selection, here) = (selection(app, talk)?, Place::default());
    let presence = Presence::Person;
    let mut hands = Hands::new(app, &store, talk, &selection, presence, &here)?;
    let mut unusable = Vec::new();
    match routed(app, talk) {
        Ok(models) => hands = hands.thinking_with(app, &selection, &Arc::new(models)),
        Err(error) if selection.allows(MOA) => unusable.push((MOA.to_owned(), error.to_string())),
        Err(_) => {}
    }
    let hands = hands.with_scripts(app, &selection).with_children(
        app,
        (&store, &selection),
        talk,
        presence,
    );
    let info = ModelInfo {
        model: app.settings.text("model.default").to_owned(),
        provider: app.settings.text("model.provider").to_owned(),
        base_url: String::new(),
        context_length: 0,
    };
    let preloaded = learning::preloaded(app, talk, hands.skills.as_deref()).await?;
    let prompt = prompt(app, &hands, &here, (preloaded, None));
    let system = prompt.build(&info).unwrap_or_default();
    let sizes = hands.toolbox.definitions().into_iter().map(|tool| {
        let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        (tool.name, json!({"type": "function", "function": function}).to_string().len())
    });
    let left_out = hands.toolbox.unusable();
    unusable.extend(left_out.map(|(name, why)| (name.to_owned(), why.to_owned())));
    Ok(Preamble {
        system: system.len(),
        tools: sizes.collect(),
        unusable,
    })
}

/// Builds the system prompt whenever one is needed, as things are then; with what is said of skills that are loaded
/// and of a memory outside.
fn prompt(
    app: &App,
    hands: &Hands,
    place: &Place,
    (preloaded, recalled): (Option<String>, Option<String>),
) -> Prompt {
    let (home, settings, env) = (app.home.clone(), app.settings.clone(), app.env.clone());
    let (cwd, worktree) = (hands.cwd.clone(), place.checkout());
    let tools = !hands.toolbox.names().is_empty();
    let (skills, offered) = (hands.skills.clone(), hands.tools());
    let memory = hands.memory();
    Prompt::new(move |info| {
        let enforcement = settings
            .get("agent.tool_use_enforcement")
            .unwrap_or(&Value::Null);
        let around = Surroundings {
            cwd: cwd.get(),
            user_home: env.user_home(),
            model: info.model.clone(),
            provider: info.provider.clone(),
            started: clock::now(),
            rules: !env.is_on("HERMES_IGNORE_RULES"),
            tools,
            enforce: Surroundings::enforces(enforcement, &info.model),
            platform: "cli",
            worktree: worktree.clone(),
            skills: skills
                .as_ref()
                .and_then(|skills| learning::index(skills, &offered())),
            preloaded: preloaded.clone(),
            memory: joined([memory.as_ref().and_then(Memory::prompt), recalled.clone()]),
        };
        system_prompt(&home, &around)
    })
}

fn joined(parts: [Option<String>; 2]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// A full or unreadable disk is no reason not to answer; only going on with something stored needs the store.
async fn store(app: &App, talk: &Talk) -> Result<(Store, Option<Scratch>)> {
    match app.store().await {
        Ok(store) => Ok((store, None)),
        Err(error) if talk.resume.is_some() || talk.continue_.is_some() => Err(error),
        Err(error) => {
            say(&format!("this conversation is not being saved: {error:#}"));
            // If not even that works, the first reason is the one to tell.
            let (store, scratch) = app.scratch_store().await.map_err(|_| error)?;
            Ok((store, Some(scratch)))
        }
    }
}

/// A provider alone says nothing about the model it should serve.
fn check(talk: &Talk) -> Result<()> {
    if talk.provider.is_some() && talk.model.is_none() {
        say("--provider needs --model too: a provider has many models");
        return Err(Failed(2).into());
    }
    Ok(())
}

/// The names of the toolsets this session gets, some of which may be MCP servers.
fn toolsets(app: &App, talk: &Talk) -> Vec<String> {
    if !talk.toolsets.is_empty() {
        return talk.toolsets.clone();
    }
    let platform = app
        .settings
        .get("platform_toolsets.cli")
        .filter(|value| value.is_array());
    names(
        platform
            .or(app.settings.get("toolsets"))
            .unwrap_or(&Value::Null),
    )
}

fn selection(app: &App, talk: &Talk) -> Result<Selection> {
    let enabled = toolsets(app, talk);
    let disabled = names(
        app.settings
            .get("agent.disabled_toolsets")
            .unwrap_or(&Value::Null),
    );
    let selection = Selection::of(enabled.iter().map(String::as_str), &disabled);
    let servers = app.settings.get("mcp_servers").and_then(Value::as_object);
    let is_server = |name: &str| {
        let server = name.strip_prefix("mcp-").unwrap_or(name);
        name == "no_mcp"
            || servers
                .is_some_and(|servers| servers.contains_key(server) || servers.contains_key(name))
    };
    for name in selection.unknown.iter().filter(|name| !is_server(name)) {
        say(&format!(
            "there is no toolset '{name}'; `hermes tools list` shows them"
        ));
    }
    if selection.is_empty() && !talk.toolsets.is_empty() {
        say("none of the toolsets of -t exists");
        return Err(Failed(2).into());
    }
    Ok(selection)
}

async fn which(store: &Store, talk: &Talk) -> Result<Which> {
    let found = match (talk.resume.as_deref(), talk.continue_.as_deref()) {
        (None, None) => return Ok(Which::New),
        (Some(what), _) => store.find(what).await?,
        (None, Some("")) => store
            .latest(&["cli", "tui"])
            .await?
            .ok_or_else(|| anyhow!("there is no conversation to continue yet"))?,
        (None, Some(title)) => store.find(title).await?,
    };
    Ok(Which::Existing(store.resume_target(&found).await?))
}

pub(super) fn limits(app: &App, talk: &Talk) -> Limits {
    let settings = &app.settings;
    let guard = GuardLimits {
        warn: settings.is_on("tool_loop_guardrails.warnings_enabled"),
        stop: settings.is_on("tool_loop_guardrails.hard_stop_enabled"),
        ..GuardLimits::default()
    };
    Limits {
        iterations: talk
            .max_turns
            .unwrap_or(settings.number("agent.max_turns") as u32)
            .max(1),
        effort: Effort::from(settings.text("agent.reasoning_effort")),
        speed: Speed::from(settings.text("agent.service_tier")),
        verify_files: settings.is_on("display.file_mutation_verifier"),
        guard,
        ..Limits::default()
    }
}

pub fn spending(app: &App) -> Spending {
    let limit = |name: &str| {
        let amount = app.settings.number(&format!("limits.max_cost_usd.{name}"));
        (amount > 0.0).then_some(amount)
    };
    Spending {
        turn: limit("turn"),
        session: limit("session"),
        day: limit("day"),
    }
}

fn busy(app: &App) -> Busy {
    Busy::read(app.settings.text("display.busy_input_mode")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The terminal tool tells the model what ends with the answer by the second of these.
    #[test]
    fn who_can_be_asked_and_who_stays() {
        let check = |presence: Presence, expected: (bool, bool)| {
            assert_eq!((presence.is_person(), presence.is_for_one_turn()), expected);
        };
        check(Presence::Person, (true, false));
        check(Presence::Once, (true, true));
        check(Presence::Nobody, (false, true));
        check(Presence::Unattended, (false, true));
    }
}
