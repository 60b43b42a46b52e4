//! `hermes journey`: what was learned, when, by whom and from which conversation; and the way back.

use std::io::Write;

use anyhow::{Result, bail};
use hermes_home::clock;
use hermes_lines::{Table, printable};
use hermes_skills::journal::{Author, By, Entry, Journal, Undo};
use serde_json::Value;

use crate::cli::{self, Format, JourneyAction};
use crate::wire::App;

pub fn run(app: &mut App, asked: &cli::Journey) -> Result<()> {
    let journal = Journal::new(&app.home);
    journal.keep_all(&Author::of(By::Outside))?;
    match &asked.action {
        None => list(app, &journal, asked),
        Some(JourneyAction::Show { number }) => show(app, &journal, *number),
        Some(JourneyAction::Undo { number }) => undo(app, &journal, *number),
    }
}

fn list(app: &mut App, journal: &Journal, asked: &cli::Journey) -> Result<()> {
    let mut entries = journal.entries()?;
    entries.retain(|entry| asked.all || !is_first_sight(entry));
    let skipped = entries.len().saturating_sub(asked.lines);
    let entries = &entries[skipped..];
    if Format::from(asked.json) == Format::Json {
        let entries = entries.iter().map(serde_json::to_value);
        return Ok(app.out.json(&entries.collect::<Result<Vec<Value>, _>>()?)?);
    }
    if entries.is_empty() {
        writeln!(app.out, "Nothing has been learned yet.")?;
        return Ok(());
    }
    let mut table = Table::new(&["#", "what", "change", "when", "by", "session"], 1);
    for entry in entries {
        table.row(vec![
            entry.number.to_string(),
            printable(&entry.subject.title()),
            change(entry).to_owned(),
            clock::local(entry.at).strftime("%m-%d %H:%M").to_string(),
            who(entry.by).to_owned(),
            printable(entry.session.as_deref().unwrap_or_default()),
        ]);
    }
    Ok(table.print(&mut app.out)?)
}

/// What was there before the journal, or came with the program.
fn is_first_sight(entry: &Entry) -> bool {
    entry.by == By::Outside && entry.before.is_none()
}

fn show(app: &mut App, journal: &Journal, number: u64) -> Result<()> {
    let entry = find(journal, number)?;
    let heading = format!("{} {}", entry.subject.title(), change(&entry));
    let heading = app.out.heading(printable(&heading));
    let when = clock::local(entry.at)
        .strftime("%Y-%m-%d %H:%M")
        .to_string();
    writeln!(app.out, "{heading}  {when}, by {}", who(entry.by))?;
    if let Some(session) = &entry.session {
        writeln!(app.out, "in {}", printable(session))?;
    }
    for line in journal.diff(&entry)?.lines() {
        let line = printable(line);
        let line = match line.as_bytes().first() {
            Some(b'+') => app.out.good(line),
            Some(b'-') => app.out.bad(line),
            _ => line,
        };
        writeln!(app.out, "{line}")?;
    }
    Ok(())
}

fn undo(app: &mut App, journal: &Journal, number: u64) -> Result<()> {
    match journal.undo(number)? {
        Undo::Unknown => bail!(unknown(number)),
        Undo::ChangedSince(later) => bail!(
            "{} was changed again by entry {}: undo that one first (`hermes journey show {}`)",
            later.subject.title(),
            later.number,
            later.number
        ),
        Undo::Done(done) => {
            let title = done.entry.subject.title();
            writeln!(app.out, "{title} is what it was before entry {number}")?;
            if let Some(noted) = done.noted {
                writeln!(
                    app.out,
                    "`hermes journey undo {}` takes that back",
                    noted.number
                )?;
            }
            Ok(())
        }
    }
}

fn find(journal: &Journal, number: u64) -> Result<Entry> {
    let entries = journal.entries()?.into_iter();
    match entries.into_iter().find(|entry| entry.number == number) {
        Some(entry) => Ok(entry),
        None => bail!(unknown(number)),
    }
}

fn unknown(number: u64) -> String {
    format!("there is no entry {number}; `hermes journey --all` lists them")
}

fn change(entry: &Entry) -> &'static str {
    match (&entry.before, &entry.after, entry.undoes) {
        (_, _, Some(_)) => "taken back",
        (None, _, _) => "new",
        (_, None, _) => "gone",
        _ => "changed",
    }
}

fn who(by: By) -> &'static str {
    match by {
        By::Agent => "the agent",
        By::Review => "looking back",
        By::Curator => "the curator",
        By::Owner => "you",
        By::Outside => "somebody else",
    }
}
