//! Reading many rows: scrolling through them and finding words in them.

mod needle;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use self::needle::Needle;
use super::Size;
use crate::Row;
use crate::text::{cut, width};

const HELP: &str = "q close · / find · n N next, previous";

/// What is shown of a list of rows. It draws nothing itself: [`rows`](Self::rows) are for an
/// [`Overlay`](super::Overlay).
#[derive(Debug, Default)]
pub struct Pager {
    rows: Vec<Row>,
    /// The first row shown; beyond the end until the next time they are shown, if the end is wanted.
    top: usize,
    /// As many rows were shown last time.
    page: usize,
    /// What is being typed after `/`.
    typed: Option<String>,
    needle: Option<Needle>,
    /// The row that was found last.
    found: Option<usize>,
    /// It is nowhere.
    missing: bool,
}

/// What came of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    Handled,
    /// It means nothing here.
    Ignored,
    /// The reader has read enough.
    Closed,
}

impl Pager {
    /// Shows the beginning first.
    pub fn new(rows: Vec<Row>) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// Shows the end first, and stays there when rows are added.
    pub fn from_end(rows: Vec<Row>) -> Self {
        Self {
            rows,
            top: usize::MAX,
            ..Self::default()
        }
    }

    /// There are more rows now. At the end, the new ones are shown.
    pub fn replace(&mut self, rows: Vec<Row>) {
        if self.top >= self.last_top() {
            self.top = usize::MAX;
        }
        self.rows = rows;
        self.found = self.found.filter(|row| *row < self.rows.len());
    }

    /// The same rows, made for another width: about the same part of them is shown.
    pub fn rewrap(&mut self, rows: Vec<Row>) {
        let before = self.rows.len().max(1);
        let top = self.top.min(before) * rows.len() / before;
        self.replace(rows);
        if self.top != usize::MAX {
            self.top = top;
        }
        self.found = None;
    }

    pub fn key(&mut self, key: KeyEvent) -> Pressed {
        if key.kind == KeyEventKind::Release {
            return Pressed::Ignored;
        }
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        if self.typed.is_some() {
            return self.type_key(key.code, ctrl);
        }
        let page = self.page.max(1);
        match (key.code, ctrl) {
            (KeyCode::Char('q') | KeyCode::Esc, false) | (KeyCode::Char('c'), true) => {
                return Pressed::Closed;
            }
            (KeyCode::Up | KeyCode::Char('k'), false) => self.up(1),
            (KeyCode::Down | KeyCode::Enter | KeyCode::Char('j'), false) => self.down(1),
            (KeyCode::PageUp, _) | (KeyCode::Char('b'), _) => self.up(page),
            (KeyCode::PageDown, _) | (KeyCode::Char(' '), false) | (KeyCode::Char('f'), true) => {
                self.down(page);
            }
            (KeyCode::Char('u'), true) => self.up(page.div_ceil(2)),
            (KeyCode::Char('d'), true) => self.down(page.div_ceil(2)),
            (KeyCode::Home | KeyCode::Char('g'), false) => self.top = 0,
            (KeyCode::End | KeyCode::Char('G'), false) => self.top = usize::MAX,
            (KeyCode::Char('/'), false) => self.typed = Some(String::new()),
            (KeyCode::Char('n'), false) => self.find(Way::Forward),
            (KeyCode::Char('N'), false) => self.find(Way::Back),
            _ => return Pressed::Ignored,
        }
        Pressed::Handled
    }

    /// As many rows as the screen is high: what is read, and one that tells where that is.
    pub fn rows(&mut self, size: Size) -> Vec<Row> {
        self.page = usize::from(size.height.saturating_sub(1));
        self.top = self.top.min(self.last_top());
        let shown = self.rows.iter().skip(self.top).take(self.page);
        let mut rows: Vec<_> = match &self.needle {
            Some(needle) => shown.map(|row| needle.mark(row)).collect(),
            None => shown.cloned().collect(),
        };
        rows.resize(self.page, Row::default());
        rows.push(self.foot(size.width.into()));
        rows
    }

    fn last_top(&self) -> usize {
        self.rows.len().saturating_sub(self.page)
    }

    fn up(&mut self, rows: usize) {
        self.top = self.top.min(self.last_top()).saturating_sub(rows);
    }

    fn down(&mut self, rows: usize) {
        self.top = self.top.saturating_add(rows).min(self.last_top());
    }

    fn type_key(&mut self, code: KeyCode, ctrl: bool) -> Pressed {
        let Some(typed) = &mut self.typed else {
            return Pressed::Ignored;
        };
        match code {
            KeyCode::Esc => self.typed = None,
            KeyCode::Char('c') if ctrl => self.typed = None,
            KeyCode::Char('u') if ctrl => typed.clear(),
            KeyCode::Char(c) if !ctrl && !c.is_control() => typed.push(c),
            // One more than there is to take away leaves the search.
            KeyCode::Backspace if typed.pop().is_none() => self.typed = None,
            KeyCode::Backspace => {}
            KeyCode::Enter => {
                self.needle = Needle::new(typed);
                self.typed = None;
                self.found = None;
                self.find(Way::Forward);
            }
            _ => return Pressed::Ignored,
        }
        Pressed::Handled
    }

    /// The next row with what is looked for, around the end if need be.
    fn find(&mut self, way: Way) {
        let Some(needle) = &self.needle else {
            self.missing = false;
            return;
        };
        let top = self.top.min(self.last_top());
        let count = self.rows.len();
        // What was found and is out of sight is forgotten: the reader has moved on.
        let seen = top..top + self.page.max(1);
        let begin = match (self.found.filter(|row| seen.contains(row)), way) {
            (None, Way::Forward) => top,
            (None, Way::Back) => top + count,
            (Some(row), Way::Forward) => row + 1,
            (Some(row), Way::Back) => row + count,
        };
        let mut order = (0..count).map(|step| match way {
            Way::Forward => (begin + step) % count,
            Way::Back => (begin - 1 - step) % count,
        });
        self.found = order.find(|row| needle.is_in(&self.rows[*row]));
        self.missing = self.found.is_none();
        if let Some(row) = self.found.filter(|row| !seen.contains(row)) {
            self.top = row.min(self.last_top());
        }
    }

    fn foot(&self, columns: usize) -> Row {
        let style = Style::new().add_modifier(Modifier::DIM);
        if let Some(typed) = &self.typed {
            // The end is where one types.
            let mut typed = typed.as_str();
            while width(typed) + 2 > columns && !typed.is_empty() {
                let mut rest = typed.chars();
                rest.next();
                typed = rest.as_str();
            }
            let cursor = Span::styled(" ", Style::new().add_modifier(Modifier::REVERSED));
            return Row::from(vec![Span::raw(format!("/{typed}")), cursor]);
        }
        let end = (self.top + self.page).min(self.rows.len());
        let place = match self.rows.len() {
            0 => "nothing to show".to_owned(),
            count => format!("{}–{end} of {count}", self.top + 1),
        };
        let found = match &self.needle {
            Some(needle) if self.missing => format!(" · {} is not here", needle.text()),
            _ => String::new(),
        };
        Row::styled(cut(&format!(" {place}{found} · {HELP}"), columns), style)
    }
}

#[derive(Clone, Copy)]
enum Way {
    Forward,
    Back,
}

#[cfg(test)]
mod tests;
