//! The input as it is seen: its sign, its rows, what could follow, and the cursor.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::Span;

use crate::look::{Look, Role};
use crate::{Row, text};

use super::Editor;
use super::rows::{View, row_of};
use super::token;

/// The rows of an editor, and where the cursor stands in them: column, row.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    pub rows: Vec<Row>,
    pub cursor: (u16, u16),
}

impl Editor {
    /// Rows for a screen of `width` columns, at most `most` of them; the cursor is always in view.
    pub fn rows(&mut self, width: usize, most: usize, look: &Look) -> Drawn {
        let prompt = self.fitting_prompt(width);
        let indent = text::width(&prompt);
        // One column is left for a cursor behind the last character.
        self.columns = width.saturating_sub(indent + 1).max(1);
        let rows = self.view().rows();
        let current = row_of(&rows, self.cursor());
        let most = most.max(1);
        let lowest = rows.len().saturating_sub(most);
        self.top = self
            .top
            .clamp((current + 1).saturating_sub(most), current)
            .min(lowest);
        let view = self.view();
        let column = indent + view.width(rows[current].start..self.cursor());
        let visible = rows.iter().enumerate().skip(self.top).take(most);
        let drawn = visible.map(|(index, row)| {
            let mut spans = vec![match index {
                0 => Span::styled(prompt.clone(), look.style(Role::Prompt)),
                _ => Span::raw(" ".repeat(indent)),
            }];
            self.spans(&view, row.clone(), look, &mut spans);
            if index + 1 == rows.len() {
                self.behind(view.width(row.clone()), look, &mut spans);
            }
            Row::from(spans)
        });
        Drawn {
            rows: drawn.collect(),
            cursor: (
                cell(column.min(width.saturating_sub(1))),
                cell(current - self.top),
            ),
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            text: self.raw(),
            tokens: &self.tokens,
            masked: self.is_masked(),
            columns: self.columns,
        }
    }

    /// The sign before the text, unless the screen is too narrow for both.
    fn fitting_prompt(&self, width: usize) -> String {
        match text::width(&self.prompt) + 4 <= width {
            true => self.prompt.clone(),
            false => String::new(),
        }
    }

    fn spans(
        &self,
        view: &View<'_>,
        row: Range<usize>,
        look: &Look,
        spans: &mut Vec<Span<'static>>,
    ) {
        for range in view.pieces(row) {
            let piece = &view.text[range];
            let role = match piece.starts_with(token::is_mark) {
                true => Role::Accent,
                false => Role::Text,
            };
            push(spans, &view.shown(piece), look.style(role));
        }
    }

    /// What stands faint behind the text: how it could go on, or what is wanted here.
    fn behind(&self, used: usize, look: &Look, spans: &mut Vec<Span<'static>>) {
        let hint = match self.is_empty() {
            true => &self.placeholder,
            false if self.cursor() == self.raw().len() => &self.ghost,
            false => return,
        };
        let line = hint.lines().next().unwrap_or_default();
        let fitting = text::cut(&text::harmless(line), self.columns.saturating_sub(used));
        if !fitting.is_empty() {
            spans.push(Span::styled(fitting, look.style(Role::Faint)));
        }
    }
}

/// Adds to the last span if it looks the same.
fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    let fresh = spans.len() == 1;
    match spans.last_mut() {
        Some(last) if !fresh && last.style == style => last.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    }
}

fn cell(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
