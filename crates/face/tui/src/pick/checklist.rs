//! Any number of many.

use std::fmt;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::layout::{Position, Size};

use super::body::{Body, Pressed, Search};
use super::frame::Frame;
use super::item::Item;
use super::numbers::places;
use super::{Outcome, Step, Widget};
use crate::Row;
use crate::look::Look;
use crate::text::harmless;

/// A list with a box before each row; the answer are the places of those that are on.
#[derive(Clone)]
pub struct Checklist {
    body: Body<()>,
    frame: Frame,
    on: Vec<bool>,
    footer: Option<Footer>,
}

type Footer = Arc<dyn Fn(&[usize]) -> String + Send + Sync>;

const HELP: &[(&str, &str)] = &[
    ("↑↓", "navigate"),
    ("SPACE", "toggle"),
    ("ENTER", "confirm"),
    ("ESC", "cancel"),
];

impl Checklist {
    /// `on` are the places that are on to begin with.
    pub fn new(title: impl Into<String>, items: Vec<Item<()>>, on: &[usize]) -> Self {
        Self {
            on: (0..items.len()).map(|place| on.contains(&place)).collect(),
            body: Body {
                space_toggles: true,
                ..Body::new(items)
            },
            frame: Frame::new(title, HELP),
            footer: None,
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

    /// What the last row says about the rows that are on.
    pub fn footer(mut self, footer: impl Fn(&[usize]) -> String + Send + Sync + 'static) -> Self {
        self.footer = Some(Arc::new(footer));
        self
    }

    fn chosen(&self) -> Vec<usize> {
        (0..self.on.len()).filter(|place| self.on[*place]).collect()
    }

    /// All that are shown, or none of them if they all are on.
    fn toggle_all(&mut self) {
        let shown = self.body.shown();
        let can = |place: &usize| self.body.items[*place].off.is_none();
        let shown: Vec<usize> = shown.into_iter().filter(can).collect();
        let on = !shown.iter().all(|place| self.on[*place]);
        for place in shown {
            self.on[place] = on;
        }
    }
}

impl Widget for Checklist {
    type Answer = Vec<usize>;

    fn key(&mut self, key: KeyEvent) -> Step<Vec<usize>> {
        match self.body.press(key) {
            Pressed::Space if self.body.current().is_some() => {
                self.on[self.body.at] = !self.on[self.body.at];
                Step::Stay
            }
            Pressed::Letter('a') | Pressed::Extra('a') => {
                self.toggle_all();
                Step::Stay
            }
            Pressed::Enter => Step::Done(Outcome::Chosen(self.chosen())),
            Pressed::Leave => Step::Done(Outcome::Cancelled),
            Pressed::Interrupt => Step::Done(Outcome::Interrupted),
            Pressed::Moved | Pressed::Space | Pressed::Letter(_) | Pressed::Extra(_) => Step::Stay,
        }
    }

    fn rows(&self, size: Size, look: &Look) -> Vec<Row> {
        let chosen = self.chosen();
        let about = self.footer.as_ref().map(|footer| footer(&chosen));
        let footer = format!("{} on  {}", chosen.len(), about.unwrap_or_default());
        let frame = Frame {
            footer: footer.trim_end().to_owned(),
            ..self.frame.clone()
        };
        let mark = |place: usize| if self.on[place] { "[✓] " } else { "[ ] " };
        frame.list(&self.body, &mark, size, look)
    }

    fn paste(&mut self, text: &str) {
        self.body.add(text);
    }

    fn cursor(&self, size: Size) -> Option<Position> {
        self.frame.cursor(&self.body, size)
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.frame.title.clone()];
        lines.extend(self.frame.note.lines().map(str::to_owned));
        for (place, item) in self.body.items.iter().enumerate() {
            let mark = if self.on[place] { "x" } else { " " };
            let about = item.off.as_deref().unwrap_or(&item.about);
            let line = format!("{:>4} [{mark}] {}  {about}", place + 1, item.label);
            lines.push(line.trim_end().to_owned());
        }
        let question =
            "Which should be on? (such as 1 3-5; a: all, n: none, Enter: as marked, q: leave)";
        lines.push(question.to_owned());
        lines
    }

    fn said(&mut self, line: &str) -> Result<Outcome<Vec<usize>>, String> {
        let count = self.on.len();
        let chosen = match line.trim().to_lowercase().as_str() {
            "" => self.chosen(),
            "q" => return Ok(Outcome::Cancelled),
            "a" | "all" => (0..count).collect(),
            "n" | "none" => Vec::new(),
            typed => places(typed, count)?,
        };
        let can = |place: &usize| self.body.items[*place].off.is_none() || self.on[*place];
        Ok(Outcome::Chosen(chosen.into_iter().filter(can).collect()))
    }
}

impl fmt::Debug for Checklist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Checklist");
        debug.field("body", &self.body).field("on", &self.on);
        debug.finish_non_exhaustive()
    }
}
