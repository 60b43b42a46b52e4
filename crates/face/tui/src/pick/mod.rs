//! Lists to choose from and lines to fill in: what a key does to them, and how they look.
//!
//! Widgets neither read nor write anything, so that a chat can show them too; [`Desk`] puts one on a terminal of
//! its own and waits for the answer.

mod body;
mod checklist;
mod desk;
mod filter;
mod frame;
mod item;
mod line;
mod list;
mod numbers;
mod terminal;

use crossterm::event::KeyEvent;
use ratatui::layout::{Position, Size};

use crate::Row;
use crate::look::Look;

pub use body::Search;
pub use checklist::Checklist;
pub use desk::Desk;
pub use filter::fit;
pub use item::Item;
pub use line::Line;
pub use list::List;
pub use terminal::on_terminal;

/// Something a person answers.
pub trait Widget {
    type Answer;

    /// What a key does to it.
    fn key(&mut self, key: KeyEvent) -> Step<Self::Answer>;

    /// How it looks: at most `size.height` rows, none wider than `size.width`.
    fn rows(&self, size: Size, look: &Look) -> Vec<Row>;

    /// The same for terminals that only know lines.
    fn lines(&self) -> Vec<String>;

    /// What a typed line means; an error says why it means nothing.
    fn said(&mut self, line: &str) -> Result<Outcome<Self::Answer>, String>;

    /// Text that arrives at once.
    fn paste(&mut self, text: &str) {
        let _ = text; // most lists have nowhere to put it
    }

    /// Where something is typed, for the terminal's own cursor.
    fn cursor(&self, size: Size) -> Option<Position> {
        let _ = size; // nothing is typed in most lists
        None
    }

    /// Whether what is typed must not be seen.
    fn is_secret(&self) -> bool {
        false
    }
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<A> {
    /// The question stands.
    Stay,
    Done(Outcome<A>),
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<A> {
    Chosen(A),
    /// One of the list's further keys was pressed on this row.
    Key(char, A),
    /// Esc or `q`: what was before stays.
    Cancelled,
    /// Ctrl+C: no further question either.
    Interrupted,
}

/// What is left of pasted or typed text when nothing in it drives a terminal: no markers of a paste, no breaks.
pub fn clean(text: &str) -> String {
    let mut text = text.to_owned();
    for marker in ["\u{1b}[200~", "\u{1b}[201~", "[200~", "[201~"] {
        text = text.replace(marker, "");
    }
    text.retain(|c| !c.is_control());
    text
}

#[cfg(test)]
mod tests;
