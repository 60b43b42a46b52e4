//! How Hermes works: turns, what is shown of tools, when a conversation is made shorter.

use super::choice::Choice;
use super::{Pen, Result, ask};
use crate::pick::{Desk, Line};

const PROGRESS: [(&str, &str); 4] = [
    ("off", "only the answer"),
    ("new", "a line when the tool changes"),
    ("all", "a line for every call"),
    ("verbose", "calls with their arguments and results"),
];

pub(super) fn section(desk: &Desk, pen: &mut Pen<'_>) -> Result<()> {
    let settings = pen.settings();
    let now = settings.number("agent.max_turns").to_string();
    let line = Line::new("How many replies with tool calls may a turn have?")
        .note("More lets it finish longer tasks by itself.")
        .default(now)
        .check(|text| match text.parse::<u32>() {
            Ok(1..=10_000) => Ok(()),
            _ => Err("a whole number from 1 to 10000".to_owned()),
        });
    if let Some(turns) = ask(desk, line)?
        && pen.assign("agent.max_turns", &turns)?
    {
        // An older program's way to say the same; it would win there.
        pen.forget("HERMES_MAX_ITERATIONS")?;
    }
    let progress = Choice {
        key: "display.tool_progress",
        title: "How much do you want to see of its tools?",
        note: "",
        values: &PROGRESS,
    };
    progress.settle(desk, pen)?;
    let now = settings.number("compression.threshold").to_string();
    let line = Line::new("How full may the window get before the conversation is made shorter?")
        .note("A share from 0.5 to 0.95.")
        .default(now)
        .check(|text| match text.parse::<f64>() {
            Ok(share) if (0.5..=0.95).contains(&share) => Ok(()),
            _ => Err("a number from 0.5 to 0.95".to_owned()),
        });
    if let Some(share) = ask(desk, line)? {
        pen.assign("compression.threshold", &share)?;
    }
    Ok(())
}
