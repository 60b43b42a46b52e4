//! Markdown as rows: whole texts, and texts that are still being written.

mod code;
mod fence;
mod inline;
mod print;
mod stream;
mod table;
mod tree;

pub use code::Highlighter;
pub use stream::Stream;

use crate::Row;
use crate::look::Look;
use print::{Before, Printer};
use tree::Refs;

/// `display.final_response_markdown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Formatted: bold is bold.
    #[default]
    Render,
    /// Without the signs of markdown, except those of lists and quotes.
    Strip,
    /// As it came.
    Raw,
}

impl Style {
    /// Reads the setting; `None`: no such style.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "render" => Some(Self::Render),
            "strip" => Some(Self::Strip),
            "raw" => Some(Self::Raw),
            _ => None,
        }
    }
}

/// A whole text.
pub fn rows(text: &str, style: Style, width: u16, look: &Look) -> Vec<Row> {
    let text = text.replace('\r', "");
    let printer = Printer::new(style, width, look);
    if style == Style::Raw {
        let lines = stream::lines(&text);
        return lines.flat_map(|line| printer.raw(line)).collect();
    }
    let mut before = Before::Nothing;
    let tree = tree::parse(&text, 0..tree::end(&text), &Refs::default());
    let mut rows = Vec::new();
    for block in &tree.blocks {
        rows.extend(printer.top(block, &mut before));
    }
    rows
}

#[cfg(test)]
mod tests;
