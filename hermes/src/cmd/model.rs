//! `hermes model`: which one, which there are, another one.

mod list;
mod set;

use std::io::Write;

use anyhow::Result;
use hermes_model::{Offers, Overrides, RoutedModels};
use hermes_types::{Scope, SessionId};
use serde_json::json;

use crate::cli::{Format, Model};
use crate::wire::{App, say};

pub fn run(app: &mut App, action: Option<&Model>) -> Result<()> {
    match action {
        None => show(app, Format::Text),
        Some(Model::Show { json }) => show(app, (*json).into()),
        Some(Model::List {
            provider: None,
            json,
        }) => list::providers(app, (*json).into()),
        Some(Model::List {
            provider: Some(provider),
            json,
        }) => list::models(app, provider, (*json).into()),
        Some(Model::Search { words, json }) => list::search(app, words, (*json).into()),
        Some(Model::Refresh { json }) => list::refresh(app, (*json).into()),
        Some(Model::Set { name }) => set::run(app, name),
    }
}

fn show(app: &mut App, format: Format) -> Result<()> {
    let models = routed(app, Overrides::default())?;
    settle(app, &models)?;
    for warning in models.warnings() {
        say(&warning);
    }
    let route = models.route();
    let model = Some(route.model.as_str()).filter(|name| !name.is_empty());
    if format == Format::Json {
        return Ok(app.out.json(&json!({
            "model": model, "provider": route.provider, "base_url": route.base_url.as_str(),
            "context_length": route.context.tokens, "key": route.key_name,
        }))?);
    }
    for (label, value) in [
        ("Model", model.unwrap_or(NAMELESS).to_owned()),
        ("Provider", route.provider.clone()),
        ("Address", route.base_url.to_string()),
        ("Context", format!("{} tokens", route.context.tokens)),
        ("Key", route.key_name.clone()),
    ] {
        writeln!(app.out, "{label:<10}{value}")?;
    }
    let hint = app
        .out
        .faint("`hermes model list` shows others, `hermes model set PROVIDER:MODEL` chooses one");
    Ok(writeln!(app.out, "{hint}")?)
}

/// How a model is called whose server does not answer.
const NAMELESS: &str = "(the only one its server has; the server does not say which)";

fn routed(app: &App, overrides: Overrides) -> Result<RoutedModels> {
    let (settings, env) = (app.settings.clone(), app.env.clone());
    Ok(RoutedModels::new(&app.home, settings, env, &overrides)?)
}

fn offers(app: &App) -> Offers {
    Offers::new(&app.home, app.settings.clone(), app.env.clone())
}

fn scope() -> Scope {
    Scope::new(SessionId::new("model"))
}

/// Asks the server for the name, if it is its only model or the newest of a family.
fn settle(app: &App, models: &RoutedModels) -> Result<()> {
    if models.is_named() {
        return Ok(());
    }
    app.block_on(async { Ok(models.context(&scope()).await) })
        .map(drop)
}
