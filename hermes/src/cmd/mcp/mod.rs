//! `hermes mcp`

mod add;
mod auth;
mod call;
mod choose;
mod list;
mod serve;
mod state;
mod test;

use std::io::Write;

use anyhow::{Result, anyhow, bail};
use hermes_home::log::Console;
use hermes_home::yaml;
use hermes_mcp_tools::{Entry, Servers};
use serde_json::Value;

use super::Failed;
use crate::cli::{Format, Mcp};
use crate::mcp::Source;
use crate::wire::App;

pub use choose::{left_out, pick, switch};
pub use state::{findings, json, lines};

pub fn run(app: &mut App, action: Option<&Mcp>) -> Result<()> {
    if let Some(Mcp::Serve { .. }) = action {
        return serve::run(app);
    }
    if app.settings.broken().is_some() {
        // What is wrong with the file has been said at the start.
        return Err(Failed(1).into());
    }
    match action {
        None => overview(app),
        Some(Mcp::Serve { .. }) => serve::run(app),
        Some(Mcp::List { json }) => list::run(app, (*json).into()),
        Some(Mcp::Add(add)) => add::run(app, add),
        Some(Mcp::Remove { name, yes }) => choose::remove(app, name, *yes),
        Some(Mcp::Test { name }) => test::run(app, name),
        Some(Mcp::Configure { name }) => choose::configure(app, name.as_deref()),
        Some(Mcp::Login { name }) => auth::login(app, name),
        Some(Mcp::Reauth { name, .. }) => auth::reauth(app, name.as_deref()),
        Some(Mcp::Refresh { name }) => auth::refresh(app, name.as_deref()),
        Some(Mcp::Status { json }) => state::run(app, (*json).into()),
        Some(Mcp::Call(call)) => call::run(app, call),
    }
}

/// What of the log goes to stderr: a server's stdout is taken, and whoever started it keeps its stderr.
pub fn console(action: Option<&Mcp>) -> Console {
    match action {
        Some(Mcp::Serve { verbose: true }) => Console::Debug,
        Some(Mcp::Serve { verbose: false }) => Console::Warnings,
        _ => Console::Quiet,
    }
}

fn overview(app: &mut App) -> Result<()> {
    list::run(app, Format::Text)?;
    let title = app.out.heading("\nCommands");
    writeln!(app.out, "{title}")?;
    for (command, what) in [
        ("add", "connect a new server"),
        ("test", "see what one offers"),
        ("configure", "choose its tools"),
        ("status", "how all are doing"),
        ("call", "run one tool"),
        ("login", "log in with OAuth"),
        ("remove", "forget one"),
        ("serve", "be a server"),
    ] {
        writeln!(app.out, "  {command:<11}{what}")?;
    }
    let more = app.out.faint("`hermes mcp COMMAND --help` says more.");
    Ok(writeln!(app.out, "{more}")?)
}

/// What is written about each server.
fn configured(app: &App) -> Vec<(String, Value)> {
    match Source::of(app).section() {
        Value::Object(section) => section.into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The server of that name, enabled or not, if it can be started at all.
fn named(app: &App, name: &str) -> Result<Entry> {
    let all = configured(app);
    let Some((_, value)) = all.iter().find(|(known, _)| known == name) else {
        return Err(unknown(name, &all));
    };
    if app.env.is_on("HERMES_SAFE_MODE") {
        bail!("HERMES_SAFE_MODE is on: no MCP server is started");
    }
    let entry = Source::of(app).entry(name, value)?;
    for warning in &entry.warnings {
        crate::wire::say(warning);
    }
    Ok(entry)
}

fn unknown(name: &str, all: &[(String, Value)]) -> anyhow::Error {
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => anyhow!("there is no MCP server '{name}': none is configured (`hermes mcp add`)"),
        names => anyhow!(
            "there is no MCP server '{name}'; there are: {}",
            names.join(", ")
        ),
    }
}

/// A configuration with this one server in it.
fn only(entry: &Entry) -> Servers {
    Servers {
        entries: vec![entry.clone()],
        ..Servers::default()
    }
}

/// Where a server, or something below it, is in `config.yaml`.
fn path(name: &str, below: &str) -> Result<yaml::Path> {
    if name.contains('.') {
        bail!("'{name}' has a dot in its name; edit its section by hand (`hermes config edit`)");
    }
    Ok(yaml::Path::parse(&format!("mcp_servers.{name}{below}"))?)
}
