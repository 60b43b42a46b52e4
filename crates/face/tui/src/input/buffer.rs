//! Text and a cursor that always stands between two characters as people see them.

use std::ops::Range;

use super::motion;
use super::token;
use super::undo::{Edit, Step, Undo};

#[derive(Clone, Debug, Default)]
pub struct Buffer {
    text: String,
    cursor: usize,
    undo: Undo,
    changes: usize,
}

impl Buffer {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// How often the text was changed so far.
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// Puts `text` where `range` is; the cursor goes behind it.
    pub fn replace(&mut self, range: Range<usize>, text: &str, step: Step) {
        if range.is_empty() && text.is_empty() {
            return;
        }
        let removed = self.text[range.clone()].to_owned();
        self.text.replace_range(range.clone(), text);
        let edit = Edit {
            at: range.start,
            removed,
            inserted: text.to_owned(),
            cursor: self.cursor,
        };
        self.undo.record(edit, step);
        self.changes += 1;
        self.cursor = motion::settle(&self.text, range.start + text.len());
    }

    /// Whether the cursor really went elsewhere.
    pub fn go(&mut self, at: usize) -> bool {
        let before = self.cursor;
        self.cursor = motion::settle(&self.text, at);
        self.undo.close();
        self.cursor != before
    }

    pub fn undo(&mut self) -> bool {
        let cursor = self.undo.back(&mut self.text);
        self.land(cursor)
    }

    pub fn redo(&mut self) -> bool {
        let cursor = self.undo.again(&mut self.text);
        self.land(cursor)
    }

    fn land(&mut self, cursor: Option<usize>) -> bool {
        if let Some(cursor) = cursor {
            self.cursor = motion::settle(&self.text, cursor);
            self.changes += 1;
        }
        cursor.is_some()
    }
}

/// What may stand in the input: no control characters but line breaks and tabs, and nothing that could be
/// taken for a token.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                clean.push('\n');
            }
            '\n' | '\t' => clean.push(c),
            c if c.is_control() => {}
            c if token::is_mark(c) => clean.push(char::REPLACEMENT_CHARACTER),
            c => clean.push(c),
        }
    }
    clean
}
