//! `hermes model`: which one, which there are, another one.

use std::io::Write;

use anyhow::Result;
use hermes_home::config;
use hermes_model::{Overrides, RoutedModels, list_providers};
use hermes_types::{Scope, SessionId};
use serde_json::json;

use crate::cli::{Format, Model};
use crate::table::Table;
use crate::wire::App;

pub fn run(app: &mut App, action: Option<&Model>) -> Result<()> {
    match action {
        None => show(app, Format::Text),
        Some(Model::Show { json }) => show(app, (*json).into()),
        Some(Model::List { json }) => list(app, (*json).into()),
        Some(Model::Set { name }) => set(app, name),
    }
}

fn show(app: &mut App, format: Format) -> Result<()> {
    let models = RoutedModels::new(
        &app.home,
        app.settings.clone(),
        app.env.clone(),
        &Overrides::default(),
    )?;
    settle(app, &models)?;
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
    Ok(())
}

/// How a model is called whose server does not answer.
const NAMELESS: &str = "(the only one its server has; the server does not say which)";

/// Asks the server for the name, if it is its only model or the newest of a family.
fn settle(app: &App, models: &RoutedModels) -> Result<()> {
    if models.is_named() {
        return Ok(());
    }
    let scope = Scope::new(SessionId::new("model"));
    app.block_on(async { Ok(models.context(&scope).await) })
        .map(drop)
}

fn list(app: &mut App, format: Format) -> Result<()> {
    let providers = list_providers(&app.settings, &app.env);
    if format == Format::Json {
        let rows: Vec<_> = providers
            .iter()
            .map(|p| {
                json!({
                    "id": p.id, "name": p.name, "aliases": p.aliases, "base_url": p.base_url, "keys": p.keys,
                    "configured": p.is_configured,
                })
            })
            .collect();
        return Ok(app.out.json(&rows)?);
    }
    let mut table = Table::new(&["", "provider", "name", "address", "key"], 3);
    for provider in providers {
        table.row(vec![
            if provider.is_configured { "✓" } else { "" }.to_owned(),
            provider.id,
            provider.name,
            provider.base_url,
            provider.keys.first().cloned().unwrap_or("-".to_owned()),
        ]);
    }
    table.print(&mut app.out)?;
    Ok(writeln!(
        app.out,
        "✓ can be used now; `hermes model set PROVIDER:MODEL` chooses one"
    )?)
}

/// Decides first whether the name can be used at all; only then is it written down.
fn set(app: &mut App, name: &str) -> Result<()> {
    let overrides = Overrides {
        model: Some(name.to_owned()),
        provider: None,
    };
    let models = RoutedModels::new(&app.home, app.settings.clone(), app.env.clone(), &overrides)?;
    settle(app, &models)?;
    let (model, provider) = (
        models.route().model.clone(),
        models.route().provider.clone(),
    );
    config::assign(&app.home, "model.default", &model)?;
    if provider != app.settings.text("model.provider") {
        config::assign(&app.home, "model.provider", &provider)?;
        // What was set for the old provider would follow the new one otherwise.
        for key in ["model.base_url", "model.api_key", "model.api_mode"] {
            if app
                .settings
                .get(key)
                .is_some_and(|value| value != "" && !value.is_null())
                && provider != "custom"
            {
                config::unassign(&app.home, key)?;
            }
        }
    }
    let mark = app.out.good("✓");
    let note = match models.is_named() {
        true => "",
        false => ": a family; its newest model is looked up at every start",
    };
    Ok(writeln!(app.out, "{mark} {model} ({provider}){note}")?)
}
