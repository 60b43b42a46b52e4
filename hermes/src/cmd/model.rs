//! `hermes model`: which one, which there are, another one.

pub mod list;
pub mod set;

use std::io::Write;

use anyhow::Result;
use hermes_home::Env;
use hermes_lines::one_line;
use hermes_model::{Offers, Overrides, RoutedModels};
use hermes_tui::setup::{self, Chosen, Pen};
use hermes_types::{Scope, SessionId};
use serde_json::json;

use super::intact;
use super::market::Shop;
use crate::cli::{Format, LoginArgs, Model};
use crate::wire::{App, say};

pub fn run(app: &mut App, login: &LoginArgs, action: Option<&Model>) -> Result<()> {
    match action {
        None => choose(app, login),
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

/// One of all there are, by lists.
fn choose(app: &mut App, login: &LoginArgs) -> Result<()> {
    app.home.writable()?;
    intact(app)?;
    let desk = app.desk(
        "choosing a model from a list",
        "use `hermes model show`, `list` or `set NAME`",
    )?;
    let env = Env::from_process();
    let mut pen = Pen::new(&app.home, &env);
    pen.ready()?;
    let text = match setup::choose_model(&desk, &mut pen, &Shop { app, login })? {
        Chosen::Model { provider, model } => {
            format!(
                "{} {}",
                app.out.good("✓"),
                one_line(&format!("{model} ({provider})"))
            )
        }
        Chosen::Unchanged => "The model is left as it is.".to_owned(),
    };
    Ok(writeln!(app.out, "{text}")?)
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

pub fn offers(app: &App) -> Offers {
    Offers::new(&app.home, app.settings.clone(), app.env.clone())
}

pub fn scope() -> Scope {
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
