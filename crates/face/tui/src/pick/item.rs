//! One row of a list.

use super::filter::{fit, has_words};

/// Worse than any fit of the label.
const BY_OTHER_WORDS: usize = 1_000;

/// A row that stands for a value.
#[derive(Clone, Debug)]
pub struct Item<T> {
    pub(super) value: T,
    pub(super) label: String,
    /// Behind the label, in faint letters.
    pub(super) about: String,
    /// Columns at the right side; the last go first where there is no room.
    pub(super) cells: Vec<String>,
    /// Further words it is found by.
    pub(super) also: String,
    pub(super) group: String,
    pub(super) is_current: bool,
    /// Why it cannot be chosen.
    pub(super) off: Option<String>,
    /// Chooses it at once, where letters don't search.
    pub(super) letter: Option<char>,
}

impl<T> Item<T> {
    pub fn new(value: T, label: impl Into<String>) -> Self {
        Self {
            value,
            label: crate::text::one_line(&label.into()),
            about: String::new(),
            cells: Vec::new(),
            also: String::new(),
            group: String::new(),
            is_current: false,
            off: None,
            letter: None,
        }
    }

    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = crate::text::one_line(&about.into());
        self
    }

    pub fn cells(mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let cells = cells.into_iter().map(Into::into);
        self.cells = cells.map(|cell| crate::text::one_line(&cell)).collect();
        self
    }

    /// Also found by these words.
    pub fn also(mut self, words: impl Into<String>) -> Self {
        self.also = words.into();
        self
    }

    /// Stands under this heading; rows of one group must follow each other.
    pub fn group(mut self, heading: impl Into<String>) -> Self {
        self.group = heading.into();
        self
    }

    /// It is this one now: marked, and where the cursor begins.
    pub fn current_if(mut self, is_current: bool) -> Self {
        self.is_current = is_current;
        self
    }

    /// Shown, but it cannot be chosen.
    pub fn off(mut self, why: impl Into<String>) -> Self {
        self.off = Some(why.into());
        self
    }

    pub fn letter(mut self, letter: char) -> Self {
        self.letter = Some(letter);
        self
    }

    /// How well it fits what was typed: by its label, or by everything else it has.
    pub(super) fn fit(&self, typed: &str) -> Option<usize> {
        fit(typed, &self.label).or_else(|| {
            let cells = self.cells.join(" ");
            let all = format!("{} {} {cells} {}", self.label, self.about, self.also);
            has_words(&typed.to_lowercase(), &all.to_lowercase()).then_some(BY_OTHER_WORDS)
        })
    }
}
