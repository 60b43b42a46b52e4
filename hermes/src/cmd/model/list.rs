//! `hermes model list|search|refresh`: what there is to choose from, and how fresh that is.

use std::io::Write;

use anyhow::{Result, bail};
use hermes_lines::{Table, one_line};
use hermes_model::{ListedModel, Origin, Refreshed, context, list_providers};
use serde_json::{Value, json};

use super::{offers, scope};
use crate::cli::Format;
use crate::cmd::Failed;
use crate::wire::App;

/// More is not read but searched through.
const MAX_ROWS: usize = 100;

pub fn providers(app: &mut App, format: Format) -> Result<()> {
    let providers = list_providers(app.home.dir(), &app.settings, &app.env);
    if format == Format::Json {
        return Ok(app.out.json(&providers)?);
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
        "✓ can be used now; `hermes model list PROVIDER` shows its models, `hermes model set PROVIDER:MODEL` \
         chooses one"
    )?)
}

pub fn models(app: &mut App, provider: &str, format: Format) -> Result<()> {
    let offers = offers(app);
    let scope = scope();
    let offer = app.block_on(async { Ok(offers.of(provider, &scope).await?) })?;
    if let Origin::Nowhere { why } = &offer.origin {
        bail!(
            "there is no list of the models of {}: {}",
            offer.provider,
            one_line(why)
        );
    }
    if format == Format::Json {
        return Ok(app.out.json(&offer)?);
    }
    let mut table = Table::new(&["model", "context", "in/M", "out/M"], 0);
    for model in &offer.models {
        let [id, context, input, output] = cells(model);
        table.row(vec![id, context, input, output]);
    }
    table.print(&mut app.out)?;
    let count = counted(offer.models.len());
    let origin = one_line(&offer.origin.to_string());
    Ok(writeln!(
        app.out,
        "{count} of {}, {origin}",
        offer.provider
    )?)
}

pub fn search(app: &mut App, words: &[String], format: Format) -> Result<()> {
    let offers = offers(app);
    let scope = scope();
    let found = app.block_on(async { Ok(offers.search(words, &scope).await) })?;
    if format == Format::Json {
        return Ok(app.out.json(&found)?);
    }
    if found.is_empty() {
        bail!(
            "no model has '{}' in its name. `hermes model refresh` fetches the lists again",
            one_line(&words.join(" "))
        );
    }
    let mut table = Table::new(&["", "model", "context", "in/M", "out/M"], 1);
    for entry in found.iter().take(MAX_ROWS) {
        let [id, context, input, output] = cells(&entry.model);
        let mark = if entry.is_ready { "✓" } else { "" }.to_owned();
        let name = format!("{}:{id}", entry.provider);
        table.row(vec![mark, name, context, input, output]);
    }
    table.print(&mut app.out)?;
    if found.len() > MAX_ROWS {
        writeln!(app.out, "and {} more: add words", found.len() - MAX_ROWS)?;
    }
    Ok(writeln!(
        app.out,
        "✓ can be used now; `hermes model set PROVIDER:MODEL` chooses one"
    )?)
}

pub fn refresh(app: &mut App, format: Format) -> Result<()> {
    let offers = offers(app);
    let scope = scope();
    let lists = app.block_on(async { Ok(offers.refresh(&scope).await) })?;
    if format == Format::Json {
        let rows: Vec<Value> = lists.iter().map(refreshed_json).collect();
        app.out.json(&rows)?;
    } else {
        for list in &lists {
            let (mark, text) = match &list.outcome {
                Ok(count) => (app.out.good("✓"), counted(*count)),
                Err(why) => (app.out.bad("✗"), one_line(why)),
            };
            writeln!(app.out, "{mark} {:<20} {text}", list.name)?;
        }
    }
    match lists.iter().any(|list| list.outcome.is_ok()) {
        true => Ok(()),
        false => {
            app.out.flush()?;
            Err(Failed(1).into())
        }
    }
}

pub fn cells(model: &ListedModel) -> [String; 4] {
    let [input, output] = model.price.unwrap_or_default().shown();
    let context = model.context_length.map(context::short);
    [
        one_line(&model.id),
        context.unwrap_or_default(),
        input,
        output,
    ]
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 model".to_owned(),
        count => format!("{count} models"),
    }
}

fn refreshed_json(list: &Refreshed) -> Value {
    match &list.outcome {
        Ok(count) => json!({"name": list.name, "models": count}),
        Err(why) => json!({"name": list.name, "error": why}),
    }
}
