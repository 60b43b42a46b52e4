//! Rows one of which is under the cursor, cut down to what was typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::item::Item;

/// Rows that PageUp and PageDown skip.
const PAGE: isize = 8;
/// No search is longer.
const MAX_TYPED: usize = 80;

/// What letters do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// `j` and `k` move, `q` leaves.
    #[default]
    None,
    /// They search.
    Letters,
    /// They search; only a `q` before all others leaves.
    LettersButQ,
}

/// What a key means for everything that has rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pressed {
    /// It has been dealt with.
    Moved,
    Enter,
    Space,
    Letter(char),
    /// With Ctrl.
    Extra(char),
    Leave,
    Interrupt,
}

#[derive(Clone, Debug)]
pub(super) struct Body<T> {
    pub items: Vec<Item<T>>,
    pub search: Search,
    /// Space is never part of a search.
    pub space_toggles: bool,
    pub typed: String,
    /// The item under the cursor.
    pub at: usize,
}

impl<T> Body<T> {
    pub fn new(items: Vec<Item<T>>) -> Self {
        let can = |item: &Item<T>| item.off.is_none();
        let current = items.iter().position(|item| item.is_current && can(item));
        let at = current.or_else(|| items.iter().position(can)).unwrap_or(0);
        Self {
            items,
            search: Search::None,
            space_toggles: false,
            typed: String::new(),
            at,
        }
    }

    pub fn begin_at(&mut self, place: usize) {
        let place = place.min(self.items.len().saturating_sub(1));
        if self.items.get(place).is_some_and(|item| item.off.is_none()) {
            self.at = place;
        }
    }

    /// The places of the rows to show: in their order, or the best fitting first.
    pub fn shown(&self) -> Vec<usize> {
        let mut fitting: Vec<(usize, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter_map(|(place, item)| Some((item.fit(&self.typed)?, place)))
            .collect();
        fitting.sort_unstable();
        fitting.into_iter().map(|(_, place)| place).collect()
    }

    /// The row under the cursor, if there is one that can be chosen.
    pub fn current(&self) -> Option<&Item<T>> {
        let item = self.items.get(self.at)?;
        let is_shown = item.fit(&self.typed).is_some();
        (is_shown && item.off.is_none()).then_some(item)
    }

    pub fn press(&mut self, key: KeyEvent) -> Pressed {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_ctrl => return Pressed::Interrupt,
            KeyCode::Char('p') if is_ctrl => self.go(-1),
            KeyCode::Char('n') if is_ctrl => self.go(1),
            KeyCode::Char('u') if is_ctrl => self.search_for(String::new()),
            KeyCode::Char(c) if is_ctrl => return Pressed::Extra(c),
            KeyCode::Up | KeyCode::BackTab => self.go(-1),
            KeyCode::Down | KeyCode::Tab => self.go(1),
            KeyCode::PageUp => self.jump(-PAGE),
            KeyCode::PageDown => self.jump(PAGE),
            KeyCode::Home => self.jump(isize::MIN / 2),
            KeyCode::End => self.jump(isize::MAX / 2),
            KeyCode::Enter => return Pressed::Enter,
            KeyCode::Esc if self.typed.is_empty() => return Pressed::Leave,
            KeyCode::Esc => self.search_for(String::new()),
            KeyCode::Backspace => {
                let mut typed = self.typed.clone();
                typed.pop();
                self.search_for(typed);
            }
            KeyCode::Char(c) => return self.letter(c),
            _ => {}
        }
        Pressed::Moved
    }

    fn letter(&mut self, c: char) -> Pressed {
        match (self.search, c) {
            (_, ' ') if self.typed.is_empty() || self.space_toggles => return Pressed::Space,
            (Search::None, 'j') => self.go(1),
            (Search::None, 'k') => self.go(-1),
            (Search::None, ' ') => return Pressed::Space,
            (Search::None, 'q') => return Pressed::Leave,
            (Search::None, c) => return Pressed::Letter(c),
            (Search::LettersButQ, 'q') if self.typed.is_empty() => return Pressed::Leave,
            (_, c) => self.add(&c.to_string()),
        }
        Pressed::Moved
    }

    /// More of what is searched for.
    pub fn add(&mut self, text: &str) {
        if self.search == Search::None {
            return;
        }
        let typed = format!("{}{}", self.typed, super::clean(text));
        self.search_for(typed.chars().take(MAX_TYPED).collect());
    }

    fn search_for(&mut self, typed: String) {
        if typed == self.typed {
            return;
        }
        self.typed = typed;
        let shown = self.shown();
        let can = |place: &&usize| self.items[**place].off.is_none();
        // Without a search the cursor stays where it was found.
        if (!self.typed.is_empty() || !shown.contains(&self.at))
            && let Some(first) = shown.iter().find(can)
        {
            self.at = *first;
        }
    }

    /// Up or down, round the ends, past what cannot be chosen.
    fn go(&mut self, by: isize) {
        let places = self.reachable();
        let Some(count) = isize::try_from(places.len())
            .ok()
            .filter(|count| *count > 0)
        else {
            return;
        };
        let now = places.iter().position(|place| *place == self.at);
        let next = now.map_or(0, |now| (now as isize + by).rem_euclid(count));
        self.at = places[next as usize];
    }

    /// Many rows at once; ends hold.
    fn jump(&mut self, by: isize) {
        let places = self.reachable();
        let now = places.iter().position(|place| *place == self.at);
        let next = (now.unwrap_or(0) as isize).saturating_add(by).max(0) as usize;
        if let Some(place) = places.get(next).or(places.last()) {
            self.at = *place;
        }
    }

    fn reachable(&self) -> Vec<usize> {
        let shown = self.shown().into_iter();
        shown
            .filter(|place| self.items[*place].off.is_none())
            .collect()
    }
}
