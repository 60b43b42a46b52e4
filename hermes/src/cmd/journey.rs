//! `hermes journey`: what was learned, when, by whom and from which conversation; and the way back.

use std::io::Write;

use anyhow::Result;
use hermes_lines::{Table, printable};
use hermes_skills::journal::{Author, By, Journal, NOTHING};
use serde_json::Value;

use crate::cli::{self, Format, JourneyAction};
use crate::wire::App;

pub fn run(app: &mut App, asked: &cli::Journey) -> Result<()> {
    let journal = Journal::new(&app.home);
    journal.keep_all(&Author::of(By::Outside))?;
    match &asked.action {
        None => list(app, &journal, asked),
        Some(JourneyAction::Show { number }) => show(app, &journal, *number),
        Some(JourneyAction::Undo { number }) => {
            let told = journal.take_back(*number)?;
            Ok(writeln!(app.out, "{told}")?)
        }
    }
}

fn list(app: &mut App, journal: &Journal, asked: &cli::Journey) -> Result<()> {
    let mut entries = journal.entries()?;
    entries.retain(|entry| asked.all || !entry.is_first_sight());
    let skipped = entries.len().saturating_sub(asked.lines);
    let entries = &entries[skipped..];
    if Format::from(asked.json) == Format::Json {
        let entries = entries.iter().map(serde_json::to_value);
        return Ok(app.out.json(&entries.collect::<Result<Vec<Value>, _>>()?)?);
    }
    if entries.is_empty() {
        writeln!(app.out, "{NOTHING}")?;
        return Ok(());
    }
    let mut table = Table::new(&["#", "what", "change", "when", "by", "session"], 1);
    for entry in entries {
        table.row(vec![
            entry.number.to_string(),
            printable(&entry.subject.title()),
            entry.change().to_owned(),
            entry.when(),
            entry.by.who().to_owned(),
            printable(entry.session.as_deref().unwrap_or_default()),
        ]);
    }
    Ok(table.print(&mut app.out)?)
}

fn show(app: &mut App, journal: &Journal, number: u64) -> Result<()> {
    for (index, line) in journal.shown(number)?.lines().enumerate() {
        let line = printable(line);
        let line = match line.as_bytes().first() {
            _ if index == 0 => app.out.heading(line),
            Some(b'+') => app.out.good(line),
            Some(b'-') => app.out.bad(line),
            _ => line,
        };
        writeln!(app.out, "{line}")?;
    }
    Ok(())
}
