//! What a chat has learned: its skills, as tools, in the prompt and for its commands.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::future::FutureExt;
use hermes_agent::Toolbox;
use hermes_exec::backend::LocalBackend;
use hermes_exec::terminal::{Granted, inline};
use hermes_gate::Gate;
use hermes_session::toolsets::Selection;
use hermes_skills::{Offer, Passing, Skills, bundled};

use crate::cli::Talk;
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
