//! `hermes model set`: decides first whether the name can be used at all; only then is it written down.

use std::io::Write;

use anyhow::Result;
use hermes_home::config::Settings;
use hermes_home::{Home, config, dotenv};
use hermes_lines::one_line;
use hermes_model::{Overrides, Route, RoutedModels};

use super::{offers, routed, scope, settle};
use crate::cmd::Failed;
use crate::wire::{App, say};

pub fn run(app: &mut App, name: &str) -> Result<()> {
    let name = name.trim();
    if name.is_empty() || name.chars().any(char::is_whitespace) {
        say("a model's name has no spaces: `hermes model set PROVIDER:MODEL`, or only MODEL");
        return Err(Failed(2).into());
    }
    let overrides = Overrides {
        model: Some(name.to_owned()),
        provider: None,
    };
    let models = routed(app, overrides)?;
    settle(app, &models)?;
    let (model, note) = match models.is_named() {
        true => listed(app, &models)?,
        false => {
            let note = "a family; its newest model is looked up at every start".to_owned();
            (models.route().model.clone(), note)
        }
    };
    write(&app.home, &app.settings, &models.route(), &model)?;
    let provider = &models.route().provider;
    let mark = app.out.good("✓");
    let note = match note.is_empty() {
        true => note,
        false => format!(": {note}"),
    };
    let line = one_line(&format!("{model} ({provider}){note}"));
    writeln!(app.out, "{mark} {line}")?;
    forget_old_address(app, provider)
}

/// The name as the provider has it on its list, and what to say about that.
fn listed(app: &App, models: &RoutedModels) -> Result<(String, String)> {
    let route = models.route();
    let (offers, scope) = (offers(app), scope());
    let checked = offers.check(&route.provider, &route.model, &scope);
    let checked = app.block_on(async { Ok(checked.await) })?;
    Ok(checked.settled(&route.model))
}

/// Writes down that this is the model from here on.
pub fn write(home: &Home, settings: &Settings, route: &Route, model: &str) -> Result<()> {
    config::assign(home, "model.default", model)?;
    if route.provider != settings.text("model.provider") {
        config::assign(home, "model.provider", &route.provider)?;
        // What was set for the old provider would follow the new one otherwise.
        for key in [
            "model.base_url",
            "model.api_key",
            "model.api_mode",
            "model.context_length",
        ] {
            let is_set = |value: &serde_json::Value| value != "" && !value.is_null();
            if settings.get(key).is_some_and(is_set) && route.provider != "custom" {
                config::unassign(home, key)?;
            }
        }
    }
    // An alias may have brought another address.
    let address = settings.text("model.base_url").trim_end_matches('/');
    let other = route.base_url.as_str().trim_end_matches('/');
    if route.provider == "custom" && !address.is_empty() && address != other {
        config::assign(home, "model.base_url", other)?;
    }
    Ok(())
}

/// `OPENAI_BASE_URL` in `.env` was another program's way to choose; it means nothing beside a named provider.
fn forget_old_address(app: &mut App, provider: &str) -> Result<()> {
    if provider == "custom" {
        return Ok(());
    }
    let mut was_there = false;
    dotenv::edit(&app.home, |file| {
        was_there = file.remove("OPENAI_BASE_URL");
        Ok(was_there)
    })?;
    if was_there {
        writeln!(
            app.out,
            "OPENAI_BASE_URL is removed from .env: it was left over"
        )?;
    }
    Ok(())
}
