//! `hermes memory`: what every session begins with.

use std::io::Write;

use anyhow::Result;
use hermes_lines::printable;
use hermes_skills::journal::{Author, By, Journal, Subject};
use hermes_skills::memory::{Memory, Target};
use serde_json::{Value, json};

use super::confirm;
use crate::cli::{self, Format};
use crate::wire::App;

pub fn run(app: &mut App, action: Option<&cli::Memory>) -> Result<()> {
    match action {
        Some(cli::Memory::Reset { target, yes }) => reset(app, target, *yes),
        Some(cli::Memory::Status { json }) => status(app, (*json).into()),
        None => status(app, Format::Text),
    }
}

fn status(app: &mut App, format: Format) -> Result<()> {
    let memory = Memory::new(&app.home, &app.settings);
    let mut stores = Vec::new();
    for target in Target::ALL {
        let notes = memory.notes(target);
        let entries = notes.map(|notes| notes.entries()).transpose()?;
        let path = Memory::path(app.home.dir(), target);
        if format == Format::Json {
            stores.push(json!({
                "target": target.name(), "path": path, "enabled": notes.is_some(),
                "usage": notes.map(|notes| notes.usage(entries.as_deref().unwrap_or_default())),
                "entries": entries,
            }));
            continue;
        }
        let heading = app.out.heading(target.file());
        let usage = match (notes, &entries) {
            (Some(notes), Some(entries)) => notes.usage(entries),
            _ => "off".to_owned(),
        };
        let usage = app.out.faint(usage);
        writeln!(app.out, "{heading}  {usage}")?;
        for entry in entries.into_iter().flatten() {
            let entry = printable(&entry).replace('\n', "\n  ");
            writeln!(app.out, "- {entry}")?;
        }
    }
    if format == Format::Json {
        app.out.json(&Value::from(stores))?;
    }
    Ok(())
}

fn reset(app: &mut App, target: &str, yes: bool) -> Result<()> {
    let all = Target::ALL.into_iter();
    let targets: Vec<Target> = all
        .filter(|known| target == "all" || known.name() == target)
        .filter(|known| Memory::path(app.home.dir(), *known).exists())
        .collect();
    let names: Vec<&str> = targets.iter().map(|target| target.file()).collect();
    if names.is_empty() {
        writeln!(app.out, "There is nothing to forget.")?;
        return Ok(());
    }
    let question = format!("Forget everything in {}?", names.join(" and "));
    if !yes && !confirm(app, &question)? {
        return Ok(());
    }
    let journal = Journal::new(&app.home);
    for target in targets {
        let subject = Subject::Memory(target);
        journal.keep(&subject, &Author::of(By::Outside))?;
        Memory::forget(&app.home, target)?;
        let noted = journal.keep(&subject, &Author::of(By::Owner))?;
        let number = noted.map_or(0, |entry| entry.number);
        writeln!(
            app.out,
            "{} is empty now; `hermes journey undo {number}` brings it back",
            target.file()
        )?;
    }
    Ok(())
}
