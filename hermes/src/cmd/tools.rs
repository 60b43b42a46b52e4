//! `hermes tools`: which toolsets are on.

use std::io::Write;

use anyhow::{Result, bail};
use hermes_home::config::Document;
use hermes_home::yaml;
use hermes_session::toolsets::{Selection, is_default, leaves, names};
use serde_json::{Value, json};

use super::Failed;
use crate::cli::{Format, Tools};
use crate::wire::{App, say};

pub fn run(app: &mut App, action: Option<&Tools>) -> Result<()> {
    match action {
        None => bail!(
            "choosing tools from a list needs a terminal; use `hermes tools list`, `enable NAME` or `disable NAME`"
        ),
        Some(Tools::List { platform, json }) => list(app, platform, (*json).into()),
        Some(Tools::Enable { names, platform }) => change(app, platform, names, true),
        Some(Tools::Disable { names, platform }) => change(app, platform, names, false),
    }
}

/// The leaves that are on: named one by one, or all that a composite covers.
fn enabled(app: &App, platform: &str) -> Vec<&'static str> {
    let configured = app
        .settings
        .get(&format!("platform_toolsets.{platform}"))
        .filter(|value| value.is_array())
        .or(app.settings.get("toolsets"));
    let chosen = names(configured.unwrap_or(&Value::Null));
    let disabled = names(
        app.settings
            .get("agent.disabled_toolsets")
            .unwrap_or(&Value::Null),
    );
    let explicit = leaves().any(|(leaf, _)| chosen.iter().any(|name| name == leaf));
    let selection = Selection::of(chosen.iter().map(String::as_str), &disabled);
    leaves()
        .filter(|(leaf, tools)| {
            let covered = tools.iter().all(|tool| selection.allows(tool));
            if explicit {
                chosen.iter().any(|name| name == leaf) && covered
            } else {
                covered && is_default(leaf)
            }
        })
        .map(|(leaf, _)| leaf)
        .collect()
}

fn list(app: &mut App, platform: &str, format: Format) -> Result<()> {
    let on = enabled(app, platform);
    if format == Format::Json {
        let rows: Vec<Value> = leaves()
            .map(|(leaf, tools)| json!({"toolset": leaf, "tools": tools, "enabled": on.contains(&leaf)}))
            .collect();
        return Ok(app.out.json(&rows)?);
    }
    for (leaf, tools) in leaves() {
        let state = if on.contains(&leaf) {
            app.out.good("✓ enabled ")
        } else {
            app.out.faint("✗ disabled")
        };
        writeln!(app.out, "{state}  {leaf:<16} {}", tools.join(", "))?;
    }
    Ok(())
}

/// Writes the explicit list; a name nobody knows changes nothing.
fn change(app: &mut App, platform: &str, names: &[String], on: bool) -> Result<()> {
    let mut chosen = enabled(app, platform);
    let mut applied = 0;
    for name in names {
        let Some((leaf, _)) = leaves().find(|(leaf, _)| leaf == name) else {
            say(&format!("✗ there is no toolset '{name}'"));
            continue;
        };
        applied += 1;
        chosen.retain(|known| *known != leaf);
        if on {
            chosen.push(leaf);
        }
    }
    if applied == 0 {
        return Err(Failed(1).into());
    }
    let path = yaml::Path::parse(&format!("platform_toolsets.{platform}"))?;
    Document::edit(&app.home, |document| document.set(&path, &json!(chosen)))?;
    let mark = app.out.good("✓");
    let word = if on { "enabled" } else { "disabled" };
    Ok(writeln!(
        app.out,
        "{mark} {word} for {platform}: {}",
        names.join(", ")
    )?)
}
