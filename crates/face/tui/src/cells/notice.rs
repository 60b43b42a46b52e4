//! What the owner should know, beside the conversation.

use ratatui::text::Span;

use crate::Row;
use crate::look::{Look, Role};
use crate::text::{harmless, wrap};

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

    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        let (sign, role) = match self.kind {
            Kind::Info => ("· ", Role::Faint),
            Kind::Warn => ("⚠ ", Role::Warn),
            Kind::Bad => ("✗ ", Role::Bad),
        };
        let style = look.style(role);
        let text = harmless(self.text.trim());
        let lines = text.split('\n').enumerate().map(|(index, line)| {
            let sign = if index == 0 { sign } else { "  " };
            Row::from(vec![
                Span::styled(sign, style),
                Span::styled(line.to_owned(), style),
            ])
        });
        let columns = usize::from(width).max(1);
        lines.flat_map(|row| wrap(row, columns, 2)).collect()
    }
}
