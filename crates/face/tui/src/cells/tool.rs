//! What a tool did, in one row.

use std::time::Duration;

use hermes_types::Outcome;
use ratatui::text::Span;

use super::{Detail, time};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, cut, cut_front, harmless, one_line, pad, width as wide, wrap};

/// Columns of the word that says what was done.
const VERB: usize = 9;
/// Less room than this for the detail, and the words of several rows are not aligned.
const ROOM: usize = 4;
/// Narrower screens have no margin.
const NARROW: usize = 64;

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub name: String,
    /// What the call is about: a command, a path, a question.
    pub about: String,
    pub state: State,
    /// `display.tool_preview_length`: characters of `about` at most; 0: as many as there is room for.
    pub preview: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// The model still writes the call.
    Preparing,
    /// For so long.
    Running(Duration),
    Ended(Ended),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub outcome: Outcome,
    pub took: Duration,
    /// Of a command, if it is not 0.
    pub exit: Option<i32>,
    /// There was no room for what was to be remembered.
    pub full: bool,
}

impl Ended {
    pub fn new(outcome: Outcome, took: Duration) -> Self {
        Self {
            outcome,
            took,
            exit: None,
            full: false,
        }
    }

    fn failed(&self) -> bool {
        self.outcome != Outcome::Done || self.full || self.exit.is_some_and(|exit| exit != 0)
    }

    fn suffix(&self) -> String {
        match (self.outcome, self.exit) {
            (Outcome::Denied, _) => " [denied]".to_owned(),
            (Outcome::Cancelled, _) => " [interrupted]".to_owned(),
            (_, Some(exit)) if exit != 0 => format!(" [exit {exit}]"),
            (Outcome::Failed, _) if self.full => " [full]".to_owned(),
            (Outcome::Done, _) if self.full => " [full]".to_owned(),
            (Outcome::Failed, _) => " [error]".to_owned(),
            (Outcome::Done, _) => String::new(),
        }
    }
}

impl Tool {
    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        let mut rows = vec![self.row(width, look)];
        let whole = harmless(&self.about);
        if detail == Detail::Full && whole.trim() != self.detail(usize::MAX) {
            let indent = Row::from(Span::raw("    "));
            let lines = whole.trim().split('\n');
            rows.extend(lines.flat_map(|line| {
                let mut row = indent.clone();
                row.push_span(Span::styled(line.to_owned(), look.style(Role::Faint)));
                wrap(row, usize::from(width).max(1), 4)
            }));
        }
        rows
    }

    /// The one row, as far as the call has come.
    pub fn row(&self, width: u16, look: &Look) -> Row {
        let columns = usize::from(width);
        let row = match &self.state {
            State::Preparing => self.preparing(columns, look),
            State::Running(time) => self.running(*time, columns, look),
            State::Ended(ended) => self.ended(ended, columns, look),
        };
        clip(row, columns)
    }

    fn preparing(&self, columns: usize, look: &Look) -> Row {
        let margin = if columns < NARROW { "" } else { "  " };
        let text = format!("preparing {}…", one_line(&self.name));
        Row::from(vec![
            Span::styled(
                format!("{margin}{} ", one_line(look.tool_prefix())),
                look.style(Role::Border),
            ),
            Span::raw(slot(look.emoji(&self.name))),
            Span::styled(text, look.style(Role::Faint)),
        ])
    }

    /// The live form: what runs and for how long, the time always at the same distance.
    fn running(&self, time: Duration, columns: usize, look: &Look) -> Row {
        let picture = slot(look.emoji(&self.name));
        let timer = format!("  {}", time::timer(time));
        let room = columns.saturating_sub(wide(&picture) + wide(&timer));
        let detail = match self.detail(room) {
            detail if detail.is_empty() => cut(&one_line(&self.name), room),
            detail => detail,
        };
        Row::from(vec![
            Span::raw(picture),
            Span::raw(detail),
            Span::styled(timer, look.style(Role::Faint)),
        ])
    }

    fn ended(&self, ended: &Ended, columns: usize, look: &Look) -> Row {
        let picture = slot(look.emoji(&self.name));
        // Names of others may take more: nothing else says what was called.
        let verb = cut(&one_line(&look.verb(&self.name)), VERB.max(columns / 3));
        let took = format!("  {}", time::short(ended.took));
        let suffix = ended.suffix();
        let prefix = one_line(look.tool_prefix());
        let behind = wide(&took) + wide(&suffix);
        let margin = if columns < NARROW { "" } else { "  " };
        let padded = wide(margin) + wide(&prefix) + wide(&picture) + VERB + 2;
        let verb = match padded + behind + ROOM > columns {
            true => format!("{verb} "),
            false => format!("{} ", pad(&verb, VERB)),
        };
        let sign = format!("{margin}{prefix} ");
        let used = wide(&sign) + wide(&picture) + wide(&verb);
        let room = columns.saturating_sub(used + behind);
        let tone = match ended.failed() {
            true => Role::Bad,
            false => Role::Text,
        };
        Row::from(vec![
            Span::styled(sign, look.style(Role::Border)),
            Span::raw(picture),
            Span::styled(verb, look.style(Role::Label)),
            Span::styled(self.detail(room), look.style(tone)),
            Span::styled(took, look.style(Role::Faint)),
            Span::styled(suffix, look.style(tone)),
        ])
    }

    /// What the call is about, on one line; of a path the end is kept.
    fn detail(&self, room: usize) -> String {
        let about = one_line(&self.about);
        let room = match self.preview {
            0 => room,
            most => room.min(most),
        };
        match self.name.as_str() {
            "read_file" | "write_file" | "patch" => cut_front(&about, room),
            _ => cut(&about, room),
        }
    }
}

/// A row that begins as those of calls do, about something that is more than one call.
pub(super) fn plain_head(tool: &str, told: &str, width: u16, look: &Look) -> Row {
    let columns = usize::from(width);
    let margin = if columns < NARROW { "" } else { "  " };
    let sign = format!("{margin}{} ", one_line(look.tool_prefix()));
    let verb = format!("{} ", pad(&cut(&one_line(&look.verb(tool)), VERB), VERB));
    let row = Row::from(vec![
        Span::styled(sign, look.style(Role::Border)),
        Span::raw(slot(look.emoji(tool))),
        Span::styled(verb, look.style(Role::Label)),
        Span::styled(one_line(told), look.style(Role::Text)),
    ]);
    clip(row, columns)
}

/// A picture with the space behind it. Terminals disagree about pictures with a variation selector: they
/// get one space more, so that nothing is drawn over.
fn slot(emoji: &str) -> String {
    let emoji = one_line(emoji);
    match emoji.contains('\u{fe0f}') {
        true => format!("{emoji}  "),
        false => format!("{} ", pad(&emoji, 2)),
    }
}
