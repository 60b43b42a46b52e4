//! What the owner said.

use ratatui::text::Span;

use super::Detail;
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, harmless, wrap};

/// Rows one line may take where only some lines are shown.
const TALLEST: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    /// `display.user_message_preview`: how many lines are shown from the beginning …
    pub first_lines: usize,
    /// … and from the end of a long text.
    pub last_lines: usize,
}

impl Said {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            first_lines: 2,
            last_lines: 2,
        }
    }

    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        let text = harmless(self.text.trim_end());
        let lines: Vec<_> = text.split('\n').collect();
        let (first, last) = (self.first_lines.max(1), self.last_lines);
        let hidden = lines.len().saturating_sub(first + last);
        if detail == Detail::Full || hidden == 0 {
            return self.lines(&lines, 0, width, look, detail);
        }
        let faint = look.style(Role::Faint);
        let told = match hidden {
            1 => "  ... (+1 more line)".to_owned(),
            _ => format!("  ... (+{hidden} more lines)"),
        };
        let mut rows = self.lines(&lines[..first], 0, width, look, detail);
        let told = Row::from(Span::styled(told, faint));
        rows.push(clip(told, usize::from(width)));
        rows.extend(self.lines(&lines[first + hidden..], first, width, look, detail));
        rows
    }

    /// Some lines; the one at `from` 0 begins with the sign.
    fn lines(
        &self,
        lines: &[&str],
        from: usize,
        width: u16,
        look: &Look,
        detail: Detail,
    ) -> Vec<Row> {
        let columns = usize::from(width).max(1);
        let said = look.style(Role::Said);
        let mut rows = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let sign = match from + index {
                0 => Span::styled("● ", look.style(Role::Accent)),
                _ => Span::raw("  "),
            };
            let row = Row::from(vec![sign, Span::styled((*line).to_owned(), said)]);
            let mut wrapped = wrap(row, columns, 2);
            if detail == Detail::Short && wrapped.len() > TALLEST {
                wrapped.truncate(TALLEST);
                if let Some(last) = wrapped.last_mut() {
                    last.spans.push(Span::styled(" …", said));
                    *last = clip(std::mem::take(last), columns);
                }
            }
            rows.extend(wrapped);
        }
        rows
    }
}
