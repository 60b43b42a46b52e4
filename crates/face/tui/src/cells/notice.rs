//! What the owner should know, beside the conversation.

use ratatui::text::Span;

use crate::Row;
use crate::look::{Look, Role};
use crate::text::{harmless, width, wrap};

/// No first column is wider than this.
const WIDEST: usize = 48;
/// Columns the second one needs to stand beside the first.
const ROOM: usize = 24;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub kind: Kind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Info,
    Warn,
    Bad,
}

impl Notice {
    pub fn info(text: impl Into<String>) -> Self {
        Self {
            kind: Kind::Info,
            text: text.into(),
        }
    }

    pub fn warn(text: impl Into<String>) -> Self {
        Self {
            kind: Kind::Warn,
            text: text.into(),
        }
    }

    pub fn bad(text: impl Into<String>) -> Self {
        Self {
            kind: Kind::Bad,
            text: text.into(),
        }
    }

    pub fn rows(&self, columns: u16, look: &Look) -> Vec<Row> {
        let (sign, role) = match self.kind {
            Kind::Info => ("· ", Role::Faint),
            Kind::Warn => ("⚠ ", Role::Warn),
            Kind::Bad => ("✗ ", Role::Bad),
        };
        let style = look.style(role);
        let text = harmless(self.text.trim());
        let lines = text.split('\n').enumerate().map(|(index, line)| {
            let sign = if index == 0 { sign } else { "  " };
            (sign, line)
        });
        let columns = usize::from(columns).max(1);
        let row = |sign: &str, line: &str| {
            let spans = [sign, line].map(|part| Span::styled(part.to_owned(), style));
            Row::from(spans.to_vec())
        };
        lines
            .flat_map(|(sign, line)| match table(line, columns) {
                None => wrap(row(sign, line), columns, 2),
                Some(Table::Beside(column)) => wrap(row(sign, line), columns, column + 2),
                Some(Table::Below(left, right)) => {
                    let indent = indent(left) + 4;
                    let below = row(&" ".repeat(indent + 2), right);
                    let mut rows = wrap(row(sign, left), columns, indent);
                    rows.extend(wrap(below, columns, indent + 2));
                    rows
                }
            })
            .collect()
    }
}

/// How a line of two columns that is too long for its row is broken.
#[derive(Debug, PartialEq, Eq)]
enum Table<'l> {
    /// The second one goes on at this column.
    Beside(usize),
    /// There is no room for it beside the first.
    Below(&'l str, &'l str),
}

/// What follows two blanks or more is a column of its own.
fn table(line: &str, columns: usize) -> Option<Table<'_>> {
    if width(line) + 2 <= columns {
        return None;
    }
    let begins = indent(line);
    let gap = begins + line.get(begins..)?.find("  ")?;
    let (left, rest) = line.split_at(gap);
    let right = rest.trim_start();
    let column = width(left) + rest.len() - right.len();
    let is_table = !left.trim().is_empty() && !right.is_empty() && column <= WIDEST;
    is_table.then_some(match columns.saturating_sub(column) < ROOM {
        true => Table::Below(left, right),
        false => Table::Beside(column),
    })
}

/// Blanks a line begins with.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_column_stands_below_where_there_is_no_room_beside() {
        let line = "  /reasoning [level]          how hard the model thinks about things";
        let left = "  /reasoning [level]";
        let right = "how hard the model thinks about things";
        assert_eq!(table(line, 40), Some(Table::Below(left, right)));
        assert_eq!(table(line, 60), Some(Table::Beside(30)));
        assert_eq!(table(line, 80), None);
        assert_eq!(table("a sentence that is longer than its row", 20), None);
        assert_eq!(table("  ", 1), None);
    }
}
