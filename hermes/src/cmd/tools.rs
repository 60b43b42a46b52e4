//! `hermes tools`: which toolsets are on.

use std::io::Write;

use anyhow::{Result, bail};
use hermes_home::config::Document;
use hermes_home::yaml;
use hermes_mcp_tools::choice::Switch;
use hermes_session::toolsets::{Selection, is_default, leaves, names};
use serde_json::{Value, json};

use super::{Failed, mcp};
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

/// Writes the explicit list; a name nobody knows changes nothing. `SERVER:TOOL` is a tool of an MCP server.
fn change(app: &mut App, platform: &str, names: &[String], on: bool) -> Result<()> {
    let mut chosen = enabled(app, platform);
    let (mut toolsets, mut tools) = (Vec::new(), Vec::new());
    for name in names {
        if let Some((server, tool)) = name.split_once(':') {
            let to = if on { Switch::On } else { Switch::Off };
            match mcp::switch(app, server, tool, to) {
                Ok(()) => tools.push(name.as_str()),
                Err(error) => say(&format!("✗ {error:#}")),
            }
            continue;
        }
        let Some((leaf, _)) = leaves().find(|(leaf, _)| leaf == name) else {
            say(&format!("✗ there is no toolset '{name}'"));
            continue;
        };
        toolsets.push(leaf);
        chosen.retain(|known| *known != leaf);
        if on {
            chosen.push(leaf);
        }
    }
    if toolsets.is_empty() && tools.is_empty() {
        return Err(Failed(1).into());
    }
    if !toolsets.is_empty() {
        let path = yaml::Path::parse(&format!("platform_toolsets.{platform}"))?;
        Document::edit(&app.home, |document| document.set(&path, &json!(chosen)))?;
    }
    let word = if on { "enabled" } else { "disabled" };
    for (what, names) in [
        (format!("{word} for {platform}"), toolsets),
        (word.to_owned(), tools),
    ] {
        if !names.is_empty() {
            let mark = app.out.good("✓");
            writeln!(app.out, "{mark} {what}: {}", names.join(", "))?;
        }
    }
    Ok(())
}
