//! What a tool printed: its beginning and its end.

use ratatui::text::Span;

use super::Detail;
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, fold, harmless};

/// Lines that are shown from the beginning and from the end.
const SHOWN: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub text: String,
}

impl Output {
    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        let text = harmless(self.text.trim_end());
        let lines: Vec<_> = text.split('\n').collect();
        if text.is_empty() {
            return Vec::new();
        }
        let faint = look.style(Role::Faint);
        let columns = usize::from(width);
        let margin = if width >= 24 { "    " } else { "" };
        let row = |line: &str| {
            Row::from(vec![
                Span::raw(margin),
                Span::styled(line.to_owned(), faint),
            ])
        };
        // One line more than would be hidden costs no more than saying so.
        let hidden = lines.len().saturating_sub(2 * SHOWN);
        match detail {
            Detail::Full => lines
                .iter()
                .flat_map(|line| fold(row(line), columns.max(1)))
                .collect(),
            Detail::Short if hidden <= 1 => {
                let rows = lines.iter().map(|line| clip(row(line), columns));
                rows.collect()
            }
            Detail::Short => {
                let told = format!("… +{hidden} lines");
                let first = lines[..SHOWN].iter().copied();
                let last = lines[SHOWN + hidden..].iter().copied();
                let shown = first.chain([told.as_str()]).chain(last);
                shown.map(|line| clip(row(line), columns)).collect()
            }
        }
    }
}
