//! `hermes mcp list`

use std::io::Write;

use anyhow::Result;
use hermes_lines::{Table, one_line};
use hermes_mcp_tools::{Entry, Problem};
use serde_json::{Value, json};

use super::configured;
use crate::cli::Format;
use crate::mcp::Source;
use crate::wire::{App, say};

/// Longer ones are cut.
const WIDEST: usize = 28;

pub fn run(app: &mut App, format: Format) -> Result<()> {
    let source = Source::of(app);
    let rows: Vec<Row> = configured(app)
        .into_iter()
        .map(|(name, value)| Row {
            transport: transport(&value),
            entry: source.entry(&name, &value),
            name,
        })
        .collect();
    if format == Format::Json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        return Ok(app.out.json(&rows)?);
    }
    if rows.is_empty() {
        writeln!(app.out, "No MCP servers are configured. Add one with:")?;
        writeln!(app.out, "  hermes mcp add NAME --url URL")?;
        return Ok(writeln!(
            app.out,
            "  hermes mcp add NAME --command PROGRAM --args …"
        )?);
    }
    let is_narrow = app.out.width().is_some_and(|width| width < 50);
    let mut table = Table::new(&["name", "transport", "tools", "status"], 1);
    for row in &rows {
        table.row(vec![
            one_line(&row.name),
            cut(&row.transport),
            row.tools(),
            match is_narrow {
                true => row.status().chars().take(1).collect(),
                false => row.status().to_owned(),
            },
        ]);
    }
    table.print(&mut app.out)?;
    app.out.flush()?;
    for problem in rows.iter().filter_map(|row| row.entry.as_ref().err()) {
        say(&problem.to_string());
    }
    Ok(())
}

struct Row {
    name: String,
    transport: String,
    entry: Result<Entry, Problem>,
}

impl Row {
    fn tools(&self) -> String {
        let Ok(entry) = &self.entry else {
            return "-".to_owned();
        };
        match (&entry.filter.include, entry.filter.exclude.len()) {
            (Some(names), _) => format!("{} selected", names.len()),
            (None, 0) => "all".to_owned(),
            (None, count) => format!("-{count} excluded"),
        }
    }

    fn status(&self) -> &'static str {
        match &self.entry {
            Ok(entry) if entry.enabled => "✓ enabled",
            Ok(_) => "✗ disabled",
            Err(_) => "✗ unusable",
        }
    }

    fn json(&self) -> Value {
        let entry = self.entry.as_ref();
        json!({
            "name": self.name,
            "transport": self.transport,
            "enabled": entry.is_ok_and(|entry| entry.enabled),
            "include": entry.ok().and_then(|entry| entry.filter.include.clone()),
            "exclude": entry.ok().map(|entry| entry.filter.exclude.clone()),
            "error": entry.err().map(ToString::to_string),
        })
    }
}

/// Where the server is, as written: what references stand for may be a secret.
fn transport(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let shown = match text("url") {
        "" => {
            let args = value.get("args").and_then(Value::as_array);
            let args = args.into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<&str> = std::iter::once(text("command")).chain(args).collect();
            words.join(" ")
        }
        url => url.to_owned(),
    };
    one_line(&hermes_mcp::redact(&shown, &[]))
}

fn cut(text: &str) -> String {
    match text.chars().count() > WIDEST {
        true => text.chars().take(WIDEST - 3).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}
