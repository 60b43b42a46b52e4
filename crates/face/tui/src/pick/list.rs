//! One of many.

use std::fmt;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::layout::{Position, Size};

use super::body::{Body, Pressed, Search};
use super::frame::{Frame, styled};
use super::item::Item;
use super::numbers::place;
use super::{Outcome, Step, Widget};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{cut, harmless, wrap};

/// With fewer rows on the screen there is no preview.
const PREVIEW_FROM: u16 = 16;

/// A list to pick one row of.
#[derive(Clone)]
pub struct List<T> {
    body: Body<T>,
    frame: Frame,
    marks: Marks,
    /// Ctrl with these does something else to a row.
    extras: Vec<char>,
    preview: Option<Preview<T>>,
}

type Preview<T> = Arc<dyn Fn(&T) -> String + Send + Sync>;

/// How the current row is told from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    None,
    Dot,
    Radio,
}

const HELP: &[(&str, &str)] = &[("↑↓", "navigate"), ("ENTER", "confirm"), ("ESC", "cancel")];

impl<T: Clone> List<T> {
    /// The row that is current is marked with a dot.
    pub fn new(title: impl Into<String>, items: Vec<Item<T>>) -> Self {
        let marks = match items.iter().any(|item| item.is_current) {
            true => Marks::Dot,
            false => Marks::None,
        };
        Self {
            body: Body::new(items),
            frame: Frame::new(title, HELP),
            marks,
            extras: Vec::new(),
            preview: None,
        }
    }

    /// `(●)` for the current row, `(○)` for all others.
    pub fn radio(title: impl Into<String>, items: Vec<Item<T>>) -> Self {
        Self {
            marks: Marks::Radio,
            ..Self::new(title, items)
        }
    }

    /// What the question is about.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.frame.note = harmless(&note.into());
        self
    }

    pub fn search(mut self, search: Search) -> Self {
        self.body.search = search;
        self
    }

    /// Names of the columns; the first is the label's.
    pub fn header(mut self, names: &[&str]) -> Self {
        self.frame.header = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// What is counted in the last row.
    pub fn unit(mut self, name: &str) -> Self {
        self.frame.unit = name.to_owned();
        self
    }

    /// Where the cursor begins: at this row, or at the last one.
    pub fn begin_at(mut self, place: usize) -> Self {
        self.body.begin_at(place);
        self
    }

    /// Ctrl with `letter` ends the list as [`Outcome::Key`].
    pub fn extra(mut self, letter: char, what: &str) -> Self {
        self.extras.push(letter);
        let key = format!("^{}", letter.to_uppercase());
        self.frame.help.push((key, what.to_owned()));
        self
    }

    /// Shown below the rows for the one under the cursor.
    pub fn preview(mut self, preview: impl Fn(&T) -> String + Send + Sync + 'static) -> Self {
        self.preview = Some(Arc::new(preview));
        self
    }

    fn mark(&self, place: usize) -> &'static str {
        match (self.marks, self.body.items[place].is_current) {
            (Marks::None, _) => "",
            (Marks::Dot, true) => "● ",
            (Marks::Dot, false) => "  ",
            (Marks::Radio, true) => "(●) ",
            (Marks::Radio, false) => "(○) ",
        }
    }

    fn chosen(&self) -> Step<T> {
        match self.body.current() {
            Some(item) => Step::Done(Outcome::Chosen(item.value.clone())),
            None => Step::Stay,
        }
    }

    fn preview_rows(&self, size: Size, look: &Look) -> Vec<Row> {
        let Some(preview) = self
            .preview
            .as_ref()
            .filter(|_| size.height >= PREVIEW_FROM)
        else {
            return Vec::new();
        };
        let columns = usize::from(size.width);
        let room = usize::from(size.height / 3);
        let rule = "─".repeat(columns);
        let mut rows = vec![styled(rule, look.style(Role::Border))];
        if let Some(item) = self.body.current() {
            for line in harmless(&preview(&item.value)).lines() {
                rows.extend(wrap(Row::raw(line.to_owned()), columns, 0));
            }
        }
        rows.truncate(room);
        rows.resize(room, Row::default());
        rows
    }

    fn list_size(&self, size: Size) -> Size {
        let below = match self.preview.is_some() && size.height >= PREVIEW_FROM {
            true => size.height / 3,
            false => 0,
        };
        Size::new(size.width, size.height - below)
    }
}

impl<T: Clone> Widget for List<T> {
    type Answer = T;

    fn key(&mut self, key: KeyEvent) -> Step<T> {
        match self.body.press(key) {
            Pressed::Enter => self.chosen(),
            Pressed::Space if self.body.search == Search::None => self.chosen(),
            Pressed::Moved | Pressed::Space => Step::Stay,
            Pressed::Letter(letter) => {
                let items = self.body.items.iter();
                let mut items = items.filter(|item| item.off.is_none());
                let item = items.find(|item| item.letter == Some(letter.to_ascii_lowercase()));
                item.map_or(Step::Stay, |item| {
                    Step::Done(Outcome::Chosen(item.value.clone()))
                })
            }
            Pressed::Extra(letter) if self.extras.contains(&letter) => match self.body.current() {
                Some(item) => Step::Done(Outcome::Key(letter, item.value.clone())),
                None => Step::Stay,
            },
            Pressed::Extra(_) => Step::Stay,
            Pressed::Leave => Step::Done(Outcome::Cancelled),
            Pressed::Interrupt => Step::Done(Outcome::Interrupted),
        }
    }

    fn rows(&self, size: Size, look: &Look) -> Vec<Row> {
        let own = self.list_size(size);
        let mark = |place| self.mark(place);
        let mut rows = self.frame.list(&self.body, &mark, own, look);
        if own != size {
            rows.resize(usize::from(own.height), Row::default());
        }
        rows.extend(self.preview_rows(size, look));
        rows
    }

    fn paste(&mut self, text: &str) {
        self.body.add(text);
    }

    fn cursor(&self, size: Size) -> Option<Position> {
        self.frame.cursor(&self.body, self.list_size(size))
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.frame.title.clone()];
        lines.extend(self.frame.note.lines().map(str::to_owned));
        for (place, item) in self.body.items.iter().enumerate() {
            let about = match &item.off {
                Some(why) => format!("({why})"),
                None => [&item.about, &item.cells.join("  ")]
                    .map(String::as_str)
                    .join(" "),
            };
            let line = format!(
                "{:>4}  {}{}  {about}",
                place + 1,
                self.mark(place),
                item.label
            );
            lines.push(cut(line.trim_end(), 200));
        }
        let now = self.body.at + 1;
        lines.push(format!(
            "A number or a part of a name (Enter: {now}, q: leave):"
        ));
        lines
    }

    fn said(&mut self, line: &str) -> Result<Outcome<T>, String> {
        let line = line.trim();
        if line.eq_ignore_ascii_case("q") {
            return Ok(Outcome::Cancelled);
        }
        let named = |item: &Item<T>| item.label.to_lowercase().contains(&line.to_lowercase());
        let items = &self.body.items;
        let found: Vec<usize> = (0..items.len()).filter(|at| named(&items[*at])).collect();
        let at = match (line, place(line, items.len()), found.as_slice()) {
            ("", ..) => self.body.at,
            (_, Ok(place), _) => place,
            (_, Err(_), [only]) => *only,
            (_, Err(why), []) => return Err(why),
            (_, Err(_), many) => return Err(format!("{} rows have '{line}' in them", many.len())),
        };
        let item = items.get(at).ok_or("there is nothing to choose")?;
        match &item.off {
            Some(why) => Err(why.clone()),
            None => Ok(Outcome::Chosen(item.value.clone())),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
