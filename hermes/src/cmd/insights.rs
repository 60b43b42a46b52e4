//! `hermes insights`: what the last days were spent on.

use std::io::Write;

use anyhow::Result;
use hermes_home::clock;
use hermes_lines::{Out, cut, one_line};
use hermes_session::{Line, Section};
use hermes_store::{Insights, InsightsQuery};
use jiff::Span;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::cli;
use crate::wire::App;

/// What is printed where nobody looks.
const WIDTH: usize = 80;
const LONGEST_BAR: usize = 15;

pub fn run(app: &mut App, asked: &cli::Insights) -> Result<()> {
    let query = InsightsQuery {
        since: clock::now().saturating_sub(Span::new().days(asked.days)),
        source: asked.source.clone().unwrap_or_default(),
    };
    let seen = app.block_on(async {
        match app.existing_store().await? {
            Some(store) => Ok(store.insights(query).await?),
            None => Ok(Insights::default()),
        }
    })?;
    if cli::Format::from(asked.json) == cli::Format::Json {
        return Ok(app.out.json(&as_json(asked, &seen)?)?);
    }
    // Money may have been spent in sessions that began earlier.
    let is_empty = match asked.cost {
        true => seen.money.days.is_empty(),
        false => seen.overview.sessions == 0,
    };
    if is_empty {
        let days = asked.days;
        return Ok(writeln!(
            app.out,
            "No sessions found in the last {days} days."
        )?);
    }
    let title = match asked.cost {
        true => format!("Cost · last {} days", asked.days),
        false => format!("Insights · last {} days", asked.days),
    };
    let sections = match asked.cost {
        true => Section::account(&seen.money),
        false => Section::report(&seen),
    };
    let mut page = Page::new(&mut app.out);
    page.header(&title)?;
    sections
        .iter()
        .try_for_each(|section| page.section(section))
}

fn as_json(asked: &cli::Insights, seen: &Insights) -> Result<Value> {
    let mut value = json!({
        "days": asked.days,
        "source": asked.source,
        "empty": seen.overview.sessions == 0,
    });
    if let (Value::Object(value), Value::Object(report)) = (&mut value, serde_json::to_value(seen)?)
    {
        value.extend(report);
    }
    Ok(value)
}

/// A screen of a certain width.
struct Page<'o> {
    out: &'o mut Out,
    width: usize,
}

impl<'o> Page<'o> {
    fn new(out: &'o mut Out) -> Self {
        let width = out.width().unwrap_or(WIDTH).max(20);
        Self { out, width }
    }

    fn header(&mut self, title: &str) -> Result<()> {
        let inner = (self.width - 2).min(title.width() + 2);
        let title = cut(title, inner.saturating_sub(2));
        let line = "─".repeat(inner);
        let padding = " ".repeat(inner.saturating_sub(title.width() + 1));
        let title = self.out.heading(title);
        Ok(writeln!(
            self.out,
            "╭{line}╮\n│ {title}{padding}│\n╰{line}╯"
        )?)
    }

    fn section(&mut self, section: &Section) -> Result<()> {
        let head = self.out.heading(cut(section.head, self.width));
        writeln!(self.out, "\n{head}")?;
        let (mut facts, mut bars) = (Vec::new(), Vec::new());
        for line in &section.lines {
            match line {
                Line::Fact(label, value) => facts.push((*label, one_line(value))),
                Line::Bar { name, size, text } => bars.push((one_line(name), *size, text.as_str())),
            }
        }
        self.bars(&bars)?;
        self.facts(&facts)
    }

    /// Lines of a label and a value; the value gives way.
    fn facts(&mut self, rows: &[(&str, String)]) -> Result<()> {
        let label = rows.iter().map(|(label, _)| label.width()).max();
        let label = label.unwrap_or_default();
        for (name, value) in rows {
            let value = cut(value, self.width.saturating_sub(label + 4).max(8));
            writeln!(self.out, "  {name:<label$}  {value}")?;
        }
        Ok(())
    }

    /// Bars that end where the screen does.
    fn bars(&mut self, rows: &[(String, f64, &str)]) -> Result<()> {
        let value = rows.iter().map(|(.., value)| value.width()).max();
        let value = value.unwrap_or_default().min(self.width / 2);
        let label = rows.iter().map(|(label, ..)| label.width()).max();
        let room = self.width.saturating_sub(value + 4);
        let label = label.unwrap_or_default().min(room.saturating_sub(4).max(6));
        let longest = room.saturating_sub(label + 2).min(LONGEST_BAR);
        let most = rows.iter().map(|(_, size, _)| *size).fold(0.0, f64::max);
        for (name, size, text) in rows {
            let name = cut(name, label);
            let padding = " ".repeat(label - name.width());
            let share = if most > 0.0 { size / most } else { 0.0 };
            let blocks = (share * longest as f64).round() as usize;
            // Something is never shown as nothing.
            let blocks = blocks.max(usize::from(*size > 0.0 && longest > 0));
            let gap = " ".repeat(longest - blocks.min(longest));
            let bar = self.out.good("█".repeat(blocks));
            let text = cut(text, value);
            let line = format!("  {name}{padding}  {bar}{gap}  {text}");
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
