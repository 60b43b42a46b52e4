//! What the owner decided about a command, in one line.

use ratatui::text::Span;

use super::Detail;
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, cut, harmless, one_line, width as wide, wrap};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub command: String,
    pub decided: Decided,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    Once,
    Session,
    Always,
    Denied,
    /// Nobody answered in time.
    TimedOut,
}

impl Approval {
    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        let (words, role) = match self.decided {
            Decided::Once => ("allowed once", Role::Good),
            Decided::Session => ("allowed for session", Role::Good),
            Decided::Always => ("allowed always", Role::Good),
            Decided::Denied => ("denied", Role::Bad),
            Decided::TimedOut => ("denied, nobody answered", Role::Bad),
        };
        let columns = usize::from(width);
        let head = "⚠ Approval: ";
        let arrow = " → ";
        let used = wide(head) + wide(arrow) + wide(words);
        let command = match detail {
            Detail::Short => cut(&one_line(&self.command), columns.saturating_sub(used)),
            Detail::Full => harmless(&self.command).replace('\n', " ⏎ "),
        };
        let row = Row::from(vec![
            Span::styled(head, look.style(Role::Warn)),
            Span::raw(command),
            Span::styled(arrow, look.style(Role::Faint)),
            Span::styled(words, look.style(role)),
        ]);
        match detail {
            Detail::Short => vec![clip(row, columns)],
            Detail::Full => wrap(row, columns.max(1), 2),
        }
    }
}
