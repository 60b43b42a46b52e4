//! Searching what was typed before, while the owner types what to look for.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::text::Span;

use crate::input::{Editor, Pressed};
use crate::look::{Look, Role};
use crate::{Row, text};

/// How a key left a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Searched {
    /// It goes on and looks different now.
    Going,
    /// This entry is wanted.
    Found(String),
    /// This entry is wanted, and then the key.
    FoundThen(String, KeyEvent),
    /// Everything stays as it was.
    GivenUp,
}

/// A search in progress.
#[derive(Debug)]
pub struct Search {
    entries: Vec<String>,
    wanted: Editor,
    /// The entry that is shown.
    at: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Older,
    Newer,
}

impl Search {
    pub(super) fn new(entries: Vec<String>) -> Self {
        Self {
            entries,
            wanted: Editor::line(),
            at: None,
        }
    }

    pub fn key(&mut self, key: KeyEvent, now: std::time::Instant) -> Searched {
        if key.kind == KeyEventKind::Release {
            return Searched::Going;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if control => self.step(Way::Older),
            KeyCode::Char('s') if control => self.step(Way::Newer),
            KeyCode::Up => self.step(Way::Older),
            KeyCode::Down => self.step(Way::Newer),
            KeyCode::Esc => Searched::GivenUp,
            KeyCode::Char('g' | 'c' | 'q') if control => Searched::GivenUp,
            KeyCode::Enter | KeyCode::Tab => {
                self.found().map_or(Searched::GivenUp, Searched::Found)
            }
            KeyCode::Char(_) | KeyCode::Backspace => self.edit(key, now),
            _ => self
                .found()
                .map_or(Searched::GivenUp, |found| Searched::FoundThen(found, key)),
        }
    }

    /// What is looked for, pasted.
    pub fn insert(&mut self, text: &str) {
        self.wanted.insert(text);
        self.look_again();
    }

    /// The entry that is shown.
    pub fn current(&self) -> Option<&str> {
        self.entries.get(self.at?).map(String::as_str)
    }

    /// Two rows: what was found, with what was looked for in it, and what is looked for.
    pub fn rows(&self, width: usize, look: &Look) -> Vec<Row> {
        let wanted = self.wanted.text();
        let state = match (self.current(), wanted.is_empty()) {
            (None, false) => "nothing found",
            _ => "search",
        };
        let line = text::cut(&format!("{state}: {}", text::one_line(&wanted)), width);
        vec![
            self.found_row(&wanted, width, look),
            Row::from(Span::styled(line, look.style(Role::Faint))),
        ]
    }

    fn found_row(&self, wanted: &str, width: usize, look: &Look) -> Row {
        let entry = self.current().unwrap_or_default();
        let start = find(entry, wanted).unwrap_or(0);
        let line_start = entry[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = entry[line_start..].lines().next().unwrap_or_default();
        let hit = start - line_start..(start - line_start + wanted.len()).min(line.len());
        let (before, rest) = line.split_at(hit.start);
        let (inside, after) = rest.split_at_checked(hit.len()).unwrap_or((rest, ""));
        // What was found must be in view: a long beginning is cut off.
        let room = width.saturating_sub(text::width(inside));
        let before = match text::width(before) > room {
            true => "…",
            false => before,
        };
        let mut left = width;
        let mut spans = Vec::new();
        for (part, role) in [
            (before, Role::Text),
            (inside, Role::Selection),
            (after, Role::Text),
        ] {
            let part = text::cut(&text::harmless(part), left);
            left -= text::width(&part);
            spans.push(Span::styled(part, look.style(role)));
        }
        Row::from(spans)
    }

    fn found(&self) -> Option<String> {
        self.current().map(str::to_owned)
    }

    fn edit(&mut self, key: KeyEvent, now: std::time::Instant) -> Searched {
        if self.wanted.key(key, now) == Pressed::Changed {
            self.look_again();
        }
        Searched::Going
    }

    /// What is looked for has changed: the newest entry that fits, beginning with the one shown.
    fn look_again(&mut self) {
        let newest = self.entries.len().checked_sub(1);
        let from = self.at.or(newest);
        self.at = self
            .nearest(from, Way::Older)
            .or_else(|| self.nearest(newest, Way::Older));
    }

    fn step(&mut self, way: Way) -> Searched {
        let from = match (self.at, way) {
            (None, _) => self.entries.len().checked_sub(1),
            (Some(at), Way::Older) => at.checked_sub(1),
            (Some(at), Way::Newer) => Some(at + 1),
        };
        if let Some(found) = self.nearest(from, way) {
            self.at = Some(found);
        }
        Searched::Going
    }

    fn nearest(&self, from: Option<usize>, way: Way) -> Option<usize> {
        let (from, wanted) = (from?, self.wanted.text());
        let shown = self.current();
        let fits = |index: &usize| {
            let entry = self.entries[*index].as_str();
            // The same text again is no news.
            let news = Some(entry) != shown || self.at == Some(*index);
            !wanted.is_empty() && news && find(entry, &wanted).is_some()
        };
        match way {
            Way::Older => (0..=from).rev().find(fits),
            Way::Newer => (from..self.entries.len()).find(fits),
        }
    }
}

/// Where `wanted` is; capitals count only if it has some.
fn find(entry: &str, wanted: &str) -> Option<usize> {
    if wanted.chars().any(char::is_uppercase) || !wanted.is_ascii() {
        return entry.find(wanted);
    }
    let same = |window: &[u8]| window.eq_ignore_ascii_case(wanted.as_bytes());
    match wanted.is_empty() {
        true => Some(0),
        false => entry.as_bytes().windows(wanted.len()).position(same),
    }
}
