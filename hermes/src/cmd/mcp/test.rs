//! `hermes mcp test`: connect on the side, and show what there is.

use std::io::Write;

use anyhow::Result;
use hermes_lines::{cut, one_line};
use hermes_mcp::{Catalog, Endpoint, HttpFlavour, State};
use hermes_mcp_tools::config::Auth;
use hermes_mcp_tools::{Answered, Entry, Kind, Look, NotConnected, Question, Single, mask};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{named, only};
use crate::cmd::Failed;
use crate::mcp::Source;
use crate::wire::App;

/// How much of a description is shown.
const DESCRIPTION: usize = 55;

/// A server as it was found.
pub struct Seen {
    pub look: Look,
    resources: Option<usize>,
    prompts: Option<usize>,
}

pub fn run(app: &mut App, name: &str) -> Result<()> {
    let entry = named(app, name)?;
    let title = app.out.heading(name);
    writeln!(app.out, "{title}")?;
    writeln!(app.out, "  Transport  {}", transport(&entry))?;
    writeln!(app.out, "  Auth       {}", auth(&entry))?;
    app.out.flush()?;
    match look(app, &entry)? {
        Ok(seen) => show(app, &entry, &seen),
        Err(failure) => {
            complain(app, name, &failure)?;
            Err(Failed(1).into())
        }
    }
}

/// Connects once and looks around.
pub fn look(app: &App, entry: &Entry) -> Result<Result<Seen, NotConnected>> {
    app.block_on(async {
        let starter = Source::of(app).starter(&only(entry), None)?;
        let single = Single::start(entry.clone(), &starter);
        let seen = match single.look().await {
            Ok(look) => Ok(Seen {
                resources: count(&single, &look.catalog, entry, Kind::ListResources).await,
                prompts: count(&single, &look.catalog, entry, Kind::ListPrompts).await,
                look,
            }),
            Err(failure) => Err(failure),
        };
        single.stop().await;
        Ok(seen)
    })
}

/// How many there are, if the server has such things and they are wanted.
async fn count(single: &Single, catalog: &Catalog, entry: &Entry, kind: Kind) -> Option<usize> {
    let (is_there, is_wanted, key) = match kind {
        Kind::ListResources => (catalog.has_resources, entry.filter.resources, "resources"),
        _ => (catalog.has_prompts, entry.filter.prompts, "prompts"),
    };
    if !is_there || !is_wanted {
        return None;
    }
    let question = Question {
        kind,
        subject: String::new(),
        args: Map::new(),
    };
    let Answered { output, .. } = single.ask(&question, &CancellationToken::new()).await;
    let listed: Value = serde_json::from_str(&output.text).ok()?;
    listed.get(key)?.as_array().map(Vec::len)
}

fn show(app: &mut App, entry: &Entry, seen: &Seen) -> Result<()> {
    let catalog = &seen.look.catalog;
    let mark = app.out.good("✓");
    let ms = seen.look.took.as_millis();
    let who = match one_line(&catalog.server) {
        who if who.is_empty() => String::new(),
        who => format!(" ({who})"),
    };
    writeln!(app.out, "  {mark} connected in {ms} ms{who}")?;
    if !entry.enabled {
        writeln!(app.out, "  It is disabled: the model doesn't see it.")?;
    }
    if let Some(warning) = &catalog.warning {
        let mark = app.out.warn("⚠");
        writeln!(app.out, "  {mark} {}", one_line(warning))?;
    }
    writeln!(app.out, "  Tools      {}", catalog.tools.len())?;
    tools(app, catalog)?;
    for (label, number) in [("Resources", seen.resources), ("Prompts", seen.prompts)] {
        if let Some(number) = number {
            writeln!(app.out, "  {label:<10} {number}")?;
        }
    }
    Ok(())
}

/// Names and what they say about themselves, as far as there is room.
pub fn tools(app: &mut App, catalog: &Catalog) -> Result<()> {
    let names: Vec<String> = (catalog.tools.iter())
        .map(|tool| cut(&one_line(&tool.name), 40))
        .collect();
    let widest = names.iter().map(|name| name.chars().count()).max();
    let widest = widest.unwrap_or_default().min(24);
    let room = match app.out.width() {
        Some(width) => width.saturating_sub(widest + 6).min(DESCRIPTION),
        None => DESCRIPTION,
    };
    for (name, tool) in names.iter().zip(&catalog.tools) {
        let what = cut(&one_line(&tool.description), room);
        let line = format!("    {name:<widest$}  {what}");
        writeln!(app.out, "{}", line.trim_end())?;
    }
    Ok(())
}

pub fn complain(app: &mut App, name: &str, failure: &NotConnected) -> Result<()> {
    let mark = app.out.bad("✗");
    writeln!(app.out, "  {mark} {}", one_line(&failure.reason))?;
    if failure.state == State::NeedsAuth {
        writeln!(app.out, "  → hermes mcp login {name}")?;
    }
    Ok(())
}

fn transport(entry: &Entry) -> String {
    let text = match &entry.server.endpoint {
        Endpoint::Stdio(stdio) => {
            let words = std::iter::once(stdio.program.display().to_string());
            let words: Vec<String> = words.chain(stdio.args.iter().cloned()).collect();
            format!("stdio: {}", words.join(" "))
        }
        Endpoint::Http(http) if http.flavour == HttpFlavour::Sse => format!("sse: {}", http.url),
        Endpoint::Http(http) => format!("http: {}", http.url),
    };
    one_line(&entry.secrets.hide(&text))
}

fn auth(entry: &Entry) -> String {
    if matches!(entry.auth, Auth::OAuth(_)) {
        return "OAuth".to_owned();
    }
    let headers: Vec<String> = match &entry.server.endpoint {
        Endpoint::Http(http) => (http.headers.iter())
            .map(|(name, value)| format!("{name}: {}", mask(value.expose())))
            .collect(),
        Endpoint::Stdio(_) => Vec::new(),
    };
    match headers.is_empty() {
        true => "none".to_owned(),
        false => one_line(&headers.join(", ")),
    }
}
