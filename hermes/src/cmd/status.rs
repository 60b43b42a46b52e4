//! `hermes status`: what is set up, without what isn't.

use std::io::Write;

use anyhow::Result;
use hermes_home::envvars::{self, Category, Var};
use hermes_home::redact::mask_display;
use serde_json::{Map, Value, json};

use super::mcp;
use crate::cli::Format;
use crate::wire::App;

pub fn run(app: &mut App, all: bool, format: Format) -> Result<()> {
    let sessions = app.block_on(async {
        match app.existing_store().await? {
            Some(store) => Ok(Some(store.stats().await?)),
            None => Ok(None),
        }
    });
    let sessions = match sessions {
        Ok(Some(stats)) => format!(
            "{} conversations, {} messages",
            stats.sessions, stats.messages
        ),
        Ok(None) => "none yet".to_owned(),
        Err(error) => error.to_string(),
    };
    let model = app.settings.text("model.default").to_owned();
    let environment = [
        ("Profile", app.home.profile_name().to_owned()),
        ("Home", app.home.dir().display().to_string()),
        (
            "Model",
            if model.is_empty() {
                "(not set)".to_owned()
            } else {
                model
            },
        ),
        ("Provider", app.settings.text("model.provider").to_owned()),
        ("Terminal", app.settings.text("terminal.backend").to_owned()),
        (
            "Gateway",
            if app.home.gateway_running() {
                "running"
            } else {
                "stopped"
            }
            .to_owned(),
        ),
        ("Jobs", jobs(app)),
        ("Sessions", sessions),
    ];
    if format == Format::Json {
        return as_json(app, &environment);
    }
    for (name, value) in environment {
        writeln!(app.out, "{name:<10}{value}")?;
    }
    variables(app, "API keys", Category::Provider, all)?;
    variables(app, "Tool keys", Category::Tool, all)?;
    variables(app, "Messaging", Category::Messaging, all)?;
    servers(app)
}

/// The MCP servers, if there are any.
fn servers(app: &mut App) -> Result<()> {
    let lines = mcp::lines(app)?;
    if lines.is_empty() {
        return Ok(());
    }
    let title = app.out.heading("MCP servers");
    writeln!(app.out, "{title}")?;
    lines
        .iter()
        .try_for_each(|line| Ok(writeln!(app.out, "{line}")?))
}

fn variables(app: &mut App, title: &str, category: Category, all: bool) -> Result<()> {
    let vars: Vec<&Var> = envvars::all()
        .iter()
        .filter(|var| var.category == category)
        .collect();
    let title = app.out.heading(title);
    writeln!(app.out, "{title}")?;
    let mut unset = 0;
    for var in vars {
        match app.env.filled(var.name).map(|value| shown(var, value)) {
            Some(value) => {
                let mark = app.out.good("✓");
                writeln!(app.out, "  {mark} {:<28} {value}", var.name)?;
            }
            None if all => writeln!(app.out, "  ○ {:<28} (not set)", var.name)?,
            None => unset += 1,
        }
    }
    if unset > 0 {
        let rest = app.out.faint(format!("{unset} others not configured"));
        writeln!(app.out, "  {rest}")?;
    }
    Ok(())
}

fn shown(var: &Var, value: &str) -> String {
    if var.secret {
        mask_display(value)
    } else {
        value.to_owned()
    }
}

/// The scheduler's file is shared with the Python program.
fn jobs(app: &App) -> String {
    let text = std::fs::read_to_string(app.home.dir().join("cron/jobs.json")).unwrap_or_default();
    let jobs: Value = serde_json::from_str(&text).unwrap_or_default();
    let list = jobs.get("jobs").unwrap_or(&jobs);
    match list.as_array().map_or(0, Vec::len) {
        0 => "none".to_owned(),
        count => count.to_string(),
    }
}

fn as_json(app: &mut App, environment: &[(&str, String)]) -> Result<()> {
    let mut status: Map<String, Value> = environment
        .iter()
        .map(|(name, value)| (name.to_lowercase(), value.clone().into()))
        .collect();
    let configured: Map<String, Value> = envvars::storable()
        .filter_map(|var| {
            Some((
                var.name.to_owned(),
                shown(var, app.env.filled(var.name)?).into(),
            ))
        })
        .collect();
    status.insert("variables".to_owned(), json!(configured));
    status.insert("mcp_servers".to_owned(), json!(mcp::json(app)?));
    Ok(app.out.json(&status)?)
}
