//! From settings and options to an open session.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use hermes_agent::{GuardLimits, Limits};
use hermes_exec::files::LocalWorkspace;
use hermes_home::clock;
use hermes_model::{Overrides, RoutedModels, context};
use hermes_session::toolsets::{Selection, names};
use hermes_session::{
    Asking, Busy, Feed, Live, Opening, Session, Surroundings, Titles, Which, system_prompt,
};
use hermes_store::Store;
use hermes_types::{Effort, ModelError, ModelErrorKind, Models, Purpose, Scope, SessionId};
use serde_json::{Value, json};

use super::hands::Hands;
use crate::cli::Talk;
use crate::cmd::Failed;
use crate::wire::{App, Scratch, say};

/// Whether somebody is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Person,
    /// One-shot: whoever typed it wants it done without questions.
    Nobody,
    /// A question without a person to ask: what is dangerous does not run.
    Unattended,
}

/// An open session with everything that belongs to it.
pub struct Open {
    pub session: Session,
    pub live: Live,
    pub feed: Feed,
    pub hands: Hands,
}

/// Opens what the options ask for. Everything that can be wrong with them is found out before any request.
pub async fn open(app: &App, talk: &Talk, source: &str, presence: Presence) -> Result<Open> {
    check(talk)?;
    let selection = selection(app, talk)?;
    let models = Arc::new(check_model(app, talk)?);
    let (store, scratch) = store(app, talk).await?;
    let which = which(&store, talk).await?;
    let window = models.context(&Scope::new(SessionId::new("start"))).await;
    if let Some(refusal) = context::refusal(&models.route().model, window) {
        return Err(anyhow!(refusal));
    }
    let model = models
        .client(&Purpose::Main)
        .map_err(|error| explained(&error))?;
    let hands = Hands::new(app, &store, talk, &selection, presence)?.keeping(scratch);
    let opening = Opening {
        which,
        source: source.to_owned(),
        asking: if presence == Presence::Person {
            Asking::Interactive
        } else {
            Asking::Nobody
        },
        busy: busy(app),
        system: prompt(app, (&model.info().model, &model.info().provider), &hands),
        limits: limits(app, talk),
        workspace: Arc::new(LocalWorkspace::new(hands.cwd.clone())),
        saved_dir: app.home.sessions_dir().join("saved"),
        titles: if presence == Presence::Person {
            Titles::Suggested
        } else {
            Titles::None
        },
        switch: switch(app),
        models,
        model,
        toolbox: hands.toolbox.clone(),
        store,
    };
    let (session, live, feed) = Session::open(opening).await?;
    Ok(Open {
        session,
        live,
        feed,
        hands,
    })
}

/// The size of the system prompt, and of each tool's definition, in bytes.
pub async fn preamble(app: &App, talk: &Talk) -> Result<(usize, Vec<(String, usize)>)> {
    let store = app.store().await?;
    let hands = Hands::new(app, &store, talk, &selection(app, talk)?, Presence::Person)?;
    let (model, provider) = (
        app.settings.text("model.default"),
        app.settings.text("model.provider"),
    );
    let system = prompt(app, (model, provider), &hands);
    let sizes = hands.toolbox.definitions().into_iter().map(|tool| {
        let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        (tool.name, json!({"type": "function", "function": function}).to_string().len())
    });
    Ok((system.len(), sizes.collect()))
}

fn prompt(app: &App, (model, provider): (&str, &str), hands: &Hands) -> String {
    let enforcement = app
        .settings
        .get("agent.tool_use_enforcement")
        .unwrap_or(&Value::Null);
    let around = Surroundings {
        cwd: hands.cwd.get(),
        user_home: app.env.user_home(),
        model: model.to_owned(),
        provider: provider.to_owned(),
        started: clock::now(),
        rules: !app.env.is_on("HERMES_IGNORE_RULES"),
        tools: !hands.toolbox.names().is_empty(),
        enforce: Surroundings::enforces(enforcement, model),
        platform: "cli",
    };
    system_prompt(&app.home, &app.env, &around)
}

/// Decides about the model; fails with how to set one up.
pub fn check_model(app: &App, talk: &Talk) -> Result<RoutedModels> {
    let overrides = Overrides {
        model: talk.model.clone(),
        provider: talk.provider.clone(),
    };
    RoutedModels::new(&app.home, app.settings.clone(), app.env.clone(), &overrides)
        .map_err(|error| explained(&error))
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

fn selection(app: &App, talk: &Talk) -> Result<Selection> {
    let configured = || {
        let platform = app
            .settings
            .get("platform_toolsets.cli")
            .filter(|value| value.is_array());
        names(
            platform
                .or(app.settings.get("toolsets"))
                .unwrap_or(&Value::Null),
        )
    };
    let enabled = if talk.toolsets.is_empty() {
        configured()
    } else {
        talk.toolsets.clone()
    };
    let disabled = names(
        app.settings
            .get("agent.disabled_toolsets")
            .unwrap_or(&Value::Null),
    );
    let selection = Selection::of(enabled.iter().map(String::as_str), &disabled);
    for name in &selection.unknown {
        say(&format!("there is no toolset '{name}'"));
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

fn limits(app: &App, talk: &Talk) -> Limits {
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
        verify_files: settings.is_on("display.file_mutation_verifier"),
        guard,
        ..Limits::default()
    }
}

fn busy(app: &App) -> Busy {
    match app.settings.text("display.busy_input_mode") {
        "queue" => Busy::Queue,
        "steer" => Busy::Steer,
        _ => Busy::Interrupt,
    }
}

fn switch(app: &App) -> hermes_session::Switch {
    let (home, settings, env) = (app.home.clone(), app.settings.clone(), app.env.clone());
    Arc::new(move |name| {
        let overrides = Overrides {
            model: Some(name.to_owned()),
            provider: None,
        };
        RoutedModels::new(&home, settings.clone(), env.clone(), &overrides)?.client(&Purpose::Main)
    })
}

fn explained(error: &ModelError) -> anyhow::Error {
    match error.kind {
        ModelErrorKind::NotConfigured => anyhow!("{error}"),
        _ => anyhow!("the model cannot be used: {error}"),
    }
}
