//! What the model thought before it answered, in a faint frame.

use ratatui::text::Span;

use super::frame::Edge;
use super::{Detail, indented};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{harmless, wrap};

/// Lines that are shown of thinking that is over.
const SHOWN: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasoning {
    pub text: String,
}

impl Reasoning {
    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        let all = self.text.trim().lines().count();
        let shown = match detail {
            Detail::Short => SHOWN,
            Detail::Full => all,
        };
        let lines: Vec<_> = self.text.trim().lines().take(shown).collect();
        let mut rows = vec![top(width, look)];
        rows.extend(body(&lines.join("\n"), width, look));
        if all > shown {
            rows.extend(body(&format!("({} more lines)", all - shown), width, look));
        }
        rows.push(bottom(width, look));
        rows
    }
}

/// The line above, for thinking that is shown while it goes on.
pub fn top(width: u16, look: &Look) -> Row {
    let faint = look.style(Role::Faint);
    let edge = Edge {
        corners: ("┌", "┐"),
        title: Some(Span::styled(" Reasoning ", faint)),
        end: None,
        line: faint,
    };
    edge.row(width)
}

pub fn bottom(width: u16, look: &Look) -> Row {
    let edge = Edge {
        corners: ("└", "┘"),
        title: None,
        end: None,
        line: look.style(Role::Faint),
    };
    edge.row(width)
}

/// Lines of thinking, further in.
pub fn body(text: &str, width: u16, look: &Look) -> Vec<Row> {
    let indent = if width >= 24 { 2 } else { 0 };
    let columns = usize::from(width).saturating_sub(indent).max(1);
    let text = harmless(text);
    let lines = text.split('\n');
    let faint = look.style(Role::Faint);
    let rows = lines.map(|line| Row::from(Span::styled(line.to_owned(), faint)));
    let rows = rows.flat_map(|row| wrap(row, columns, 0)).collect();
    indented(rows, indent)
}
