//! What the model said: a line above with its name, the text further in, a line below.
//!
//! An answer that is still being written is put together by whoever shows it: [`top`], rows of
//! [`crate::markdown::Stream`] at [`body_width`] through [`body`], [`bottom`].

use ratatui::text::Span;

use super::frame::Edge;
use super::indented;
use crate::Row;
use crate::look::{Look, Role};
use crate::markdown;
use crate::text::one_line;

/// A finished answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub style: markdown::Style,
    pub frame: Frame,
}

/// What the line above an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Instead of the skin's name: `⚕ Hermes (background #1)`.
    pub label: Option<String>,
    /// The time of day, if it is shown.
    pub clock: Option<String>,
}

impl Answer {
    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        let inner = markdown::rows(&self.text, self.style, body_width(width), look);
        let mut rows = vec![self.frame.top(width, look)];
        rows.extend(body(inner, width));
        rows.push(bottom(width, look));
        rows
    }
}

impl Frame {
    pub fn top(&self, width: u16, look: &Look) -> Row {
        let label = self.label.as_ref();
        let label = label.unwrap_or(&look.branding().response_label);
        let label = format!(" {} ", one_line(label));
        let clock = self.clock.as_deref().map(one_line);
        let faint = look.style(Role::Faint);
        let edge = Edge {
            corners: ("╭", "╮"),
            title: Some(Span::styled(label, look.style(Role::Title))),
            end: clock.map(|clock| Span::styled(format!(" {clock} "), faint)),
            line: look.style(Role::Response),
        };
        edge.row(width)
    }
}

/// The line above an answer, with the skin's name.
pub fn top(width: u16, look: &Look) -> Row {
    Frame::default().top(width, look)
}

/// The line below an answer.
pub fn bottom(width: u16, look: &Look) -> Row {
    let edge = Edge {
        corners: ("╰", "╯"),
        title: None,
        end: None,
        line: look.style(Role::Response),
    };
    edge.row(width)
}

/// Columns the text of an answer has.
pub fn body_width(width: u16) -> u16 {
    width.saturating_sub(indent(width)).max(1)
}

/// Rows of [`body_width`], moved to their place.
pub fn body(rows: Vec<Row>, width: u16) -> Vec<Row> {
    indented(rows, usize::from(indent(width)))
}

/// Narrow screens have no columns to give away.
fn indent(width: u16) -> u16 {
    match width {
        64.. => 4,
        24..64 => 2,
        ..24 => 0,
    }
}
