//! `hermes tools`: which toolsets are on.

use std::io::Write;

use anyhow::Result;
use hermes_home::config::Document;
use hermes_home::{Env, yaml};
use hermes_lines::one_line;
use hermes_mcp_tools::choice::Switch;
use hermes_session::toolsets::{enabled, leaves};
use hermes_tui::setup::{Pen, choose_tools, platforms};
use serde_json::{Value, json};

use super::market::Shop;
use super::{Failed, intact, mcp, setup};
use crate::cli::{Format, LoginArgs, Tools};
use crate::wire::{App, say};

pub fn run(app: &mut App, summary: bool, action: Option<&Tools>) -> Result<()> {
    match action {
        None if summary => self::summary(app),
        None => choose(app),
        Some(Tools::List { platform, json }) => list(app, platform, (*json).into()),
        Some(Tools::Enable { names, platform }) => change(app, platform, names, true),
        Some(Tools::Disable { names, platform }) => change(app, platform, names, false),
    }
}

fn choose(app: &mut App) -> Result<()> {
    app.home.writable()?;
    intact(app)?;
    let instead = "use `hermes tools list`, `enable NAME` or `disable NAME`, \
                   and for a key `hermes config set NAME_API_KEY KEY`";
    let desk = app.desk("choosing tools from a list", instead)?;
    let env = Env::from_process();
    let (tools, login) = (setup::inventory(app)?, LoginArgs::default());
    let market = Shop { app, login: &login };
    let mut pen = Pen::new(&app.home, &env);
    pen.ready()?;
    let changes = choose_tools(&desk, &mut pen, &market, &tools)?;
    for change in &changes {
        let mark = app.out.good("✓");
        writeln!(app.out, "{mark} {change}")?;
    }
    match changes.is_empty() {
        true => Ok(writeln!(app.out, "The tools are left as they are.")?),
        false => Ok(()),
    }
}

/// How many toolsets are on, and which.
fn summary(app: &mut App) -> Result<()> {
    for platform in platforms(&app.settings) {
        let on = enabled(&app.settings, &platform);
        let count = leaves().count();
        writeln!(
            app.out,
            "{platform}: {}/{count} enabled: {}",
            on.len(),
            on.join(", ")
        )?;
    }
    Ok(())
}

fn list(app: &mut App, platform: &str, format: Format) -> Result<()> {
    let on = enabled(&app.settings, platform);
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
    for (server, tools) in mcp::left_out(app) {
        let line = one_line(&format!("MCP server {server}: {tools}"));
        writeln!(app.out, "{line}")?;
    }
    Ok(())
}

/// Writes the explicit list; a name nobody knows changes nothing. `SERVER:TOOL` is a tool of an MCP server.
fn change(app: &mut App, platform: &str, names: &[String], on: bool) -> Result<()> {
    let mut chosen = enabled(&app.settings, platform);
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
            say(&format!(
                "✗ there is no toolset '{name}'; `hermes tools list` shows them"
            ));
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
