//! What was cut, to be put back: the newest first, older ones by turning the ring.

use std::collections::VecDeque;

const MOST: usize = 32;

/// Which side of the cursor a cut took; cuts in a row grow one entry on that side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

#[derive(Clone, Debug, Default)]
pub struct Kills(VecDeque<String>);

impl Kills {
    /// Keeps what was cut as an entry of its own.
    pub fn push(&mut self, text: String) {
        self.0.push_front(text);
        self.0.truncate(MOST);
    }

    /// Adds to the newest entry.
    pub fn grow(&mut self, text: &str, side: Side) {
        match (self.0.front_mut(), side) {
            (None, _) => self.push(text.to_owned()),
            (Some(newest), Side::After) => newest.push_str(text),
            (Some(newest), Side::Before) => newest.insert_str(0, text),
        }
    }

    pub fn newest(&self) -> Option<&str> {
        self.0.front().map(String::as_str)
    }

    /// Brings the next older entry to the front.
    pub fn turn(&mut self) {
        self.0.rotate_left(usize::from(!self.0.is_empty()));
    }

    /// Forgets what `unwanted` says.
    pub fn forget(&mut self, unwanted: impl Fn(&str) -> bool) {
        self.0.retain(|text| !unwanted(text));
    }
}
