//! `hermes audit`: what the tools did, and whether that is all of it.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use hermes_home::audit::{self, Query};
use hermes_home::log;
use hermes_lines::audit::{self as lines, Export};
use jiff::Timestamp;
use serde_json::Value;

use super::Failed;
use crate::cli::{Audit, AuditShow, Format};
use crate::wire::{App, say};

pub fn run(app: &mut App, action: &Audit) -> Result<()> {
    match action {
        Audit::Show(asked) => show(app, asked),
        Audit::Verify { json } => verify(app, (*json).into()),
        Audit::Export { format, output } => export(app, format.as_str().into(), output.as_deref()),
    }
}

fn show(app: &mut App, asked: &AuditShow) -> Result<()> {
    let span = asked.since.as_deref().map(log::parse_since).transpose()?;
    let query = Query {
        most: asked.lines,
        session: asked.session.clone().unwrap_or_default(),
        tool: asked.tool.clone(),
        outcome: asked.outcome.clone(),
        since: span.and_then(|span| Timestamp::now().checked_sub(span).ok()),
    };
    let found = audit::latest(&audit::dir(&app.home), &query)?;
    lines::unreadable(found.unreadable)
        .iter()
        .for_each(|told| say(told));
    if Format::from(asked.json) == Format::Json {
        let entries: Vec<Value> = found.entries.iter().map(lines::as_json).collect();
        return Ok(app.out.json(&entries)?);
    }
    Ok(lines::show(&mut app.out, &found)?)
}

fn verify(app: &mut App, format: Format) -> Result<()> {
    let report = audit::verify_and_note(&app.home, Timestamp::now())?;
    if format == Format::Json {
        app.out.json(&report)?;
    } else {
        lines::report(&mut app.out, &report)?;
        if !app.settings.is_on("audit.enabled") {
            writeln!(app.out, "audit.enabled is off: nothing new is recorded")?;
        }
    }
    match report.problems.is_empty() {
        true => Ok(()),
        false => Err(Failed(1).into()),
    }
}

fn export(app: &mut App, format: Export, output: Option<&Path>) -> Result<()> {
    let dir = audit::dir(&app.home);
    let left_out = match output {
        None => lines::export(&dir, format, &mut app.out)?,
        Some(path) => lines::export_to(path, &dir, format)
            .with_context(|| format!("cannot write {}", path.display()))?,
    };
    lines::unreadable(left_out)
        .iter()
        .for_each(|told| say(told));
    Ok(())
}
