//! `hermes auth list` and `hermes auth status`

use std::io::Write;

use anyhow::Result;
use hermes_lines::{Table, one_line};
use hermes_model::auth::{Condition, Kind, Listed, PoolList};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::desk;
use crate::cli::Format;
use crate::cmd::Failed;
use crate::wire::App;

pub fn run(app: &mut App, provider: Option<&str>, format: Format) -> Result<()> {
    let now = Timestamp::now();
    let only = provider.map(|name| desk(app).pool(name)).transpose()?;
    let lists = desk(app).list(only.as_deref(), now);
    if format == Format::Json {
        let lists: Vec<Value> = lists.iter().map(|list| as_json(list, now)).collect();
        return Ok(app.out.json(&lists)?);
    }
    let mut lists = lists
        .into_iter()
        .filter(|list| !list.entries.is_empty())
        .peekable();
    if lists.peek().is_none() {
        let whose = only.map_or_else(String::new, |name| format!(" for {name}"));
        writeln!(
            app.out,
            "There are no keys{whose}. Add one with `hermes auth add PROVIDER`."
        )?;
    }
    for list in lists {
        print(app, &list, now)?;
    }
    Ok(())
}

/// Whether a provider can be used right now.
pub fn status(app: &mut App, provider: &str, format: Format) -> Result<()> {
    let now = Timestamp::now();
    let pool = desk(app).pool(provider)?;
    let lists = desk(app).list(Some(&pool), now);
    let list = &lists[0];
    let is_good = |entry: &&Listed| entry.condition == Condition::Good;
    let next = list.entries.iter().find(is_good);
    if format == Format::Json {
        let mut status = as_json(list, now);
        status["usable"] = json!(next.is_some());
        app.out.json(&status)?;
    } else {
        let text = match next {
            Some(entry) => {
                let mark = app.out.good("✓");
                format!("{mark} {pool}: {}, {}", one_line(&entry.label), kind(entry))
            }
            None if list.entries.is_empty() => {
                let mark = app.out.bad("✗");
                format!("{mark} {pool}: no key and no login")
            }
            None => {
                let mark = app.out.bad("✗");
                format!(
                    "{mark} {pool}: all {} credentials have failed",
                    list.entries.len()
                )
            }
        };
        writeln!(app.out, "{text}")?;
    }
    match next {
        Some(_) => Ok(()),
        None => Err(Failed(1).into()),
    }
}

fn print(app: &mut App, list: &PoolList, now: Timestamp) -> Result<()> {
    let heading = app.out.heading(&list.provider);
    let strategy = app.out.faint(list.strategy);
    writeln!(app.out, "{heading}  {strategy}")?;
    let headings = ["#", "label", "type", "key", "source", "status", "id"];
    let mut table = Table::new(&headings, 1);
    for entry in &list.entries {
        table.row(vec![
            entry.index.to_string(),
            one_line(&entry.label),
            kind(entry).to_owned(),
            entry.key.clone(),
            one_line(&entry.source),
            condition(entry, now),
            entry.id.clone(),
        ]);
    }
    Ok(table.print(&mut app.out)?)
}

fn kind(entry: &Listed) -> &'static str {
    match entry.kind {
        Kind::ApiKey => "key",
        Kind::OAuth => "login",
    }
}

fn condition(entry: &Listed, now: Timestamp) -> String {
    match &entry.condition {
        Condition::Good => "ok".to_owned(),
        Condition::Dead => "needs a new login".to_owned(),
        Condition::Resting { until, code } => {
            let code = code.map_or_else(String::new, |code| format!(" ({code})"));
            format!("failed{code}, {} left", left(*until, now))
        }
    }
}

/// `4m 10s`
fn left(until: Timestamp, now: Timestamp) -> String {
    let seconds = until.duration_since(now).as_secs().max(0);
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

fn as_json(list: &PoolList, now: Timestamp) -> Value {
    let entries = list.entries.iter().map(|entry| {
        let (status, until, code) = match &entry.condition {
            Condition::Good => ("ok", None, None),
            Condition::Dead => ("dead", None, None),
            Condition::Resting { until, code } => ("exhausted", Some(*until), *code),
        };
        json!({
            "index": entry.index, "id": entry.id, "label": entry.label,
            "type": match entry.kind { Kind::ApiKey => "api_key", Kind::OAuth => "oauth" },
            "source": entry.source, "key": entry.key, "base_url": entry.base_url,
            "status": status, "error_code": code, "usable_at": until.map(|until| until.to_string()),
            "seconds_left": until.map(|until| until.duration_since(now).as_secs().max(0)),
            "message": entry.message, "requests": entry.requests,
        })
    });
    json!({"provider": list.provider, "strategy": list.strategy, "entries": entries.collect::<Vec<_>>()})
}
