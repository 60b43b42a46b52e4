//! The audit log for people and for other programs.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hermes_home::audit::{self, Entry, Found, Report};
use hermes_home::clock;
use serde_json::{Value, json};

use crate::out::{Out, one_line, printable};
use crate::table::{Table, cut};

/// Narrower screens get two lines for each entry instead of a table.
const TABLE: usize = 84;
/// Wider ones see the session, too.
const WIDE: usize = 130;
/// Names of MCP tools can be very long.
const TOOL: usize = 24;

/// The first line of a CSV file.
const CSV_HEADER: &str =
    "seq,at,session,tool,outcome,decision,took_ms,place,about,changed,missed,hash";

/// How entries are written for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// One JSON object for each.
    JsonLines,
    /// Rows for spreadsheets.
    Csv,
}

impl From<&str> for Export {
    fn from(name: &str) -> Self {
        match name {
            "csv" => Self::Csv,
            _ => Self::JsonLines,
        }
    }
}

/// Writes all entries to a file that only its owner can read; how many lines could not be read.
pub fn export_to(path: &Path, dir: &Path, format: Export) -> io::Result<usize> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    export(dir, format, &mut BufWriter::new(options.open(path)?))
}

/// Writes all entries of the log in `dir`; how many lines could not be read.
pub fn export(dir: &Path, format: Export, out: &mut impl Write) -> io::Result<usize> {
    if format == Export::Csv {
        writeln!(out, "{CSV_HEADER}")?;
    }
    let mut left_out = 0;
    for line in audit::lines(dir).map_err(io::Error::other)? {
        match line.map_err(io::Error::other)?.entry {
            Err(_) => left_out += 1,
            Ok(found) => {
                let line = match format {
                    Export::JsonLines => printable(&as_json(&found).to_string()),
                    Export::Csv => csv(&found),
                };
                writeln!(out, "{line}")?;
            }
        }
    }
    out.flush()?;
    Ok(left_out)
}

/// Prints entries as the screen has room.
pub fn show(out: &mut Out, found: &Found) -> io::Result<()> {
    if found.entries.is_empty() {
        return writeln!(out, "Nothing of that was recorded.");
    }
    let entries = found.entries.iter().map(|(entry, _)| entry);
    match out.width() {
        Some(width) if width < TABLE => list(out, entries, width),
        Some(width) if width < WIDE => table(out, entries, &[]),
        _ => table(out, entries, &["session"]),
    }
}

/// What there is to say about lines that could not be read.
pub fn unreadable(count: usize) -> Option<String> {
    let told = || format!("lines that cannot be read: {count}; `hermes audit verify` says where");
    (count > 0).then(told)
}

fn table<'e>(
    out: &mut Out,
    entries: impl Iterator<Item = &'e Entry>,
    more: &[&'static str],
) -> io::Result<()> {
    let headings = [&["when", "tool", "outcome", "decision", "about"], more].concat();
    let mut table = Table::new(&headings, 4);
    for entry in entries {
        let action = &entry.action;
        let when = clock::local(entry.at).strftime("%Y-%m-%d %H:%M:%S");
        let mut cells = vec![
            when.to_string(),
            cut(&one_line(&action.tool), TOOL),
            one_line(&action.outcome),
            one_line(&action.decision),
            one_line(&action.about),
            one_line(&action.session),
        ];
        cells.truncate(headings.len());
        table.row(cells);
    }
    table.print(out)
}

/// When, by what and how on one line; what it was about on the next.
fn list<'e>(
    out: &mut Out,
    entries: impl Iterator<Item = &'e Entry>,
    width: usize,
) -> io::Result<()> {
    for entry in entries {
        let action = &entry.action;
        let when = clock::local(entry.at).strftime("%m-%d %H:%M:%S");
        let head = format!("{when} {} {}", action.tool, action.outcome);
        let head = match action.decision.as_str() {
            "" => head,
            decision => format!("{head} ({decision})"),
        };
        let head = out.heading(cut(&one_line(&head), width));
        writeln!(out, "{head}")?;
        let about = one_line(&action.about);
        if !about.is_empty() {
            writeln!(out, "  {}", cut(&about, width.saturating_sub(2)))?;
        }
    }
    Ok(())
}

/// Prints whether the chain is whole.
pub fn report(out: &mut Out, report: &Report) -> io::Result<()> {
    for problem in &report.problems {
        let mark = out.bad("✗");
        writeln!(out, "{mark} {}", one_line(problem))?;
    }
    for note in &report.notes {
        let mark = out.warn("·");
        writeln!(out, "{mark} {}", one_line(note))?;
    }
    let entries = report.entries;
    let told = match (report.problems.len(), entries) {
        (0, 0) => "nothing is recorded yet".to_owned(),
        (0, _) => format!("{entries} entries, nothing was changed"),
        (1, _) => format!("{entries} entries, 1 problem"),
        (count, _) => format!("{entries} entries, {count} problems"),
    };
    let mark = match report.problems.is_empty() {
        true => out.good("✓"),
        false => out.bad("✗"),
    };
    writeln!(out, "{mark} {told}")
}

/// An entry with its hash.
pub fn as_json((entry, hash): &(Entry, String)) -> Value {
    let mut value = json!(entry);
    value["hash"] = hash.as_str().into();
    value
}

/// An entry as a row under [`CSV_HEADER`].
fn csv((entry, hash): &(Entry, String)) -> String {
    let action = &entry.action;
    let cells = [
        entry.seq.to_string(),
        entry.at.to_string(),
        cell(&action.session),
        cell(&action.tool),
        cell(&action.outcome),
        cell(&action.decision),
        action.took_ms.to_string(),
        cell(&action.place),
        cell(&action.about),
        cell(&action.changed.join(";")),
        action.missed.to_string(),
        hash.clone(),
    ];
    printable(&cells.join(","))
}

/// Quoted where it must be. What a spreadsheet would take for a formula gets a quote it hides.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = match is_formula {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_stay_cells() {
        let check = |text: &str, expected: &str| assert_eq!(cell(text), expected);
        check("plain words", "plain words");
        check("a,b", "\"a,b\"");
        check("say \"hi\"", "\"say \"\"hi\"\"\"");
        check("a\nb", "\"a\nb\"");
        check("=1+1", "'=1+1");
        check("@x,y", "\"'@x,y\"");
    }
}
