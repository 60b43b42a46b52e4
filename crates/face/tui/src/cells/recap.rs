//! What was said before, when a conversation is taken up again.

use ratatui::text::Span;

use super::frame::Edge;
use super::indented;
use crate::Row;
use crate::look::{Look, Role};
use crate::markdown;
use crate::text::{harmless, one_line, wrap};

/// The end of a conversation that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recap {
    pub session: String,
    pub title: Option<String>,
    /// Messages of the owner, and all of them.
    pub user_messages: usize,
    pub all_messages: usize,
    pub exchanges: Vec<Exchange>,
    pub limits: Limits,
}

/// What the owner said, and what followed until they spoke again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    pub said: String,
    pub answers: Vec<String>,
    /// Tools that were called.
    pub tools: usize,
}

/// `display.resume_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    pub exchanges: usize,
    pub user_chars: usize,
    pub assistant_chars: usize,
    pub assistant_lines: usize,
    /// Leave out exchanges without an answer in words.
    pub skip_tool_only: bool,
    /// `display.resume_display: minimal` shows none of them.
    pub show: Show,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    #[default]
    Full,
    /// One line that says what was taken up.
    Minimal,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            exchanges: 10,
            user_chars: 300,
            assistant_chars: 200,
            assistant_lines: 3,
            skip_tool_only: false,
            show: Show::Full,
        }
    }
}

impl Recap {
    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        let mut rows = self.resumed(width, look);
        let kept: Vec<_> = self
            .exchanges
            .iter()
            .filter(|one| self.keeps(one))
            .collect();
        if self.limits.show == Show::Minimal || kept.is_empty() {
            return rows;
        }
        let hidden = kept.len().saturating_sub(self.limits.exchanges);
        let border = look.style(Role::SessionBorder);
        let edge = |corners, title: Option<&'static str>| Edge {
            corners,
            title: title.map(|title| Span::styled(title, look.style(Role::Session))),
            end: None,
            line: border,
        };
        rows.push(edge(("╭", "╮"), Some(" Previous Conversation ")).row(width));
        let page = Page::new(width, look);
        if hidden > 0 {
            rows.extend(page.faint(&format!("… {hidden} earlier, not shown")));
        }
        let shown = &kept[hidden..];
        let last = shown.iter().rposition(|one| !one.answers.is_empty());
        for (index, exchange) in shown.iter().enumerate() {
            rows.extend(self.exchange(exchange, &page, last == Some(index)));
        }
        rows.push(edge(("╰", "╯"), None).row(width));
        rows
    }

    fn keeps(&self, exchange: &Exchange) -> bool {
        !(self.limits.skip_tool_only && exchange.answers.is_empty() && exchange.tools > 0)
    }

    fn resumed(&self, width: u16, look: &Look) -> Vec<Row> {
        let title = self.title.as_deref().map(one_line).unwrap_or_default();
        let title = match title.as_str() {
            "" => String::new(),
            title => format!(" \"{title}\""),
        };
        let text = format!(
            "↻ Resumed session {}{title} ({} user messages, {} total messages)",
            one_line(&self.session),
            self.user_messages,
            self.all_messages
        );
        let row = Row::from(Span::styled(text, look.style(Role::Session)));
        wrap(row, usize::from(width).max(1), 2)
    }

    /// Only the last answer of all is shown whole, for it is what the owner goes on from.
    fn exchange(&self, exchange: &Exchange, page: &Page<'_>, last: bool) -> Vec<Row> {
        let limits = &self.limits;
        let said = shortened(&exchange.said, limits.user_chars, usize::MAX);
        let mut rows = page.said(&said);
        if exchange.tools > 0 {
            let word = if exchange.tools == 1 { "call" } else { "calls" };
            rows.extend(page.faint(&format!("[{} tool {word}]", exchange.tools)));
        }
        for (index, answer) in exchange.answers.iter().enumerate() {
            match last && index + 1 == exchange.answers.len() {
                true => rows.extend(page.whole(answer)),
                false => {
                    let (chars, lines) = (limits.assistant_chars, limits.assistant_lines);
                    rows.extend(page.faint(&shortened(answer, chars, lines)));
                }
            }
        }
        rows
    }
}

/// The beginning of a text, with `…` if something is missing.
fn shortened(text: &str, chars: usize, lines: usize) -> String {
    let text = text.trim();
    let some: Vec<_> = text.lines().take(lines).collect();
    let mut short: String = some.join("\n").chars().take(chars).collect();
    if short.len() < text.len() {
        short.truncate(short.trim_end().len());
        short.push('…');
    }
    short
}

struct Page<'a> {
    columns: usize,
    indent: usize,
    look: &'a Look,
}

impl<'a> Page<'a> {
    fn new(width: u16, look: &'a Look) -> Self {
        let indent = if width >= 40 { 2 } else { 0 };
        Self {
            columns: usize::from(width).saturating_sub(indent).max(1),
            indent,
            look,
        }
    }

    fn said(&self, text: &str) -> Vec<Row> {
        let text = harmless(text);
        let accent = self.look.style(Role::Accent);
        let rows = text.split('\n').enumerate().flat_map(|(index, line)| {
            let sign = if index == 0 { "● " } else { "  " };
            let row = Row::from(vec![Span::styled(sign, accent), Span::raw(line.to_owned())]);
            wrap(row, self.columns, 2)
        });
        indented(rows.collect(), self.indent)
    }

    fn faint(&self, text: &str) -> Vec<Row> {
        let text = harmless(text);
        let faint = self.look.style(Role::Faint);
        let rows = text.split('\n').flat_map(|line| {
            let row = Row::from(vec![Span::raw("  "), Span::styled(line.to_owned(), faint)]);
            wrap(row, self.columns, 2)
        });
        indented(rows.collect(), self.indent)
    }

    fn whole(&self, text: &str) -> Vec<Row> {
        let inner = self.columns.saturating_sub(2).max(1);
        let width = u16::try_from(inner).unwrap_or(u16::MAX);
        let rows = markdown::rows(text, markdown::Style::Render, width, self.look);
        let indent = self.columns.saturating_sub(inner);
        indented(rows, self.indent + indent)
    }
}
