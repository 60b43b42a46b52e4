//! One line of text.

use std::fmt;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Position, Size};
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use super::frame::{Frame, styled, tail};
use super::{Outcome, Step, Widget, clean};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{cut, harmless, width};

/// Nothing longer is typed on one line.
const MAX_CHARS: usize = 4_000;
/// Rows a list would have and a line has not.
const SAVED: u16 = 6;

/// A line to fill in. Enter alone takes the default, if there is one.
#[derive(Clone)]
pub struct Line {
    frame: Frame,
    before: String,
    after: String,
    /// Taken when nothing is typed.
    default: Option<String>,
    /// Nothing may be typed at all: the answer is empty then.
    may_be_empty: bool,
    is_masked: bool,
    check: Option<Check>,
    problem: String,
}

type Check = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

const HELP: &[(&str, &str)] = &[("ENTER", "confirm"), ("ESC", "cancel"), ("^U", "clear")];

impl Line {
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            frame: Frame::new(title, HELP),
            before: String::new(),
            after: String::new(),
            default: None,
            may_be_empty: false,
            is_masked: false,
            check: None,
            problem: String::new(),
        }
    }

    /// What the question is about.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.frame.note = harmless(&note.into());
        self
    }

    /// What Enter alone means.
    pub fn default(mut self, text: impl Into<String>) -> Self {
        self.default = Some(text.into());
        self
    }

    /// Already there, to be changed.
    pub fn text(mut self, text: &str) -> Self {
        self.before = clean(text);
        self
    }

    pub fn optional(mut self) -> Self {
        self.may_be_empty = true;
        self
    }

    /// Nobody looking over a shoulder can read it.
    pub fn masked(mut self) -> Self {
        self.is_masked = true;
        self
    }

    /// What is wrong with an answer; the question stands until nothing is.
    pub fn check(
        mut self,
        check: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    fn done(&mut self) -> Step<String> {
        let typed = clean(&format!("{}{}", self.before, self.after));
        match self.answer(&typed) {
            Ok(answer) => Step::Done(Outcome::Chosen(answer)),
            Err(problem) => {
                self.problem = problem;
                Step::Stay
            }
        }
    }

    fn answer(&self, typed: &str) -> Result<String, String> {
        let typed = typed.trim();
        let answer = match (typed, &self.default) {
            ("", Some(default)) => return Ok(default.clone()),
            ("", None) if self.may_be_empty => return Ok(String::new()),
            ("", None) => return Err("nothing was typed; Esc leaves".to_owned()),
            (typed, _) => typed.to_owned(),
        };
        match &self.check {
            Some(check) => check(&answer).map(|()| answer),
            None => Ok(answer),
        }
    }

    fn insert(&mut self, text: &str) {
        let room =
            MAX_CHARS.saturating_sub(self.before.chars().count() + self.after.chars().count());
        self.before.extend(text.chars().take(room));
        self.problem.clear();
    }

    fn edit(&mut self, key: KeyEvent) {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let (before, after) = (&mut self.before, &mut self.after);
        match key.code {
            KeyCode::Char('u') if is_ctrl => before.clear(),
            KeyCode::Char('k') if is_ctrl => after.clear(),
            KeyCode::Char('w') if is_ctrl => {
                let kept = before.trim_end().rfind(' ').map_or(0, |space| space + 1);
                before.truncate(kept);
            }
            KeyCode::Home => *after = std::mem::take(before) + after,
            KeyCode::Char('a') if is_ctrl => *after = std::mem::take(before) + after,
            KeyCode::End => before.push_str(&std::mem::take(after)),
            KeyCode::Char('e') if is_ctrl => before.push_str(&std::mem::take(after)),
            KeyCode::Left => {
                let last = take_last(before);
                after.insert_str(0, &last);
            }
            KeyCode::Right => {
                let first = take_first(after);
                before.push_str(&first);
            }
            KeyCode::Backspace => drop(take_last(before)),
            KeyCode::Delete => drop(take_first(after)),
            KeyCode::Char(c) if !is_ctrl => self.insert(&c.to_string()),
            _ => {}
        }
    }

    /// Everything above the line, which needs less room than a list does.
    fn head(&self, size: Size, look: &Look) -> Vec<Row> {
        let roomier = Size::new(size.width, size.height.saturating_add(SAVED));
        let mut rows = self.frame.head(roomier, look);
        rows.truncate(usize::from(size.height).saturating_sub(2));
        rows
    }

    fn shown(&self, text: &str) -> String {
        match self.is_masked {
            true => "•".repeat(text.graphemes(true).count()),
            false => text.to_owned(),
        }
    }

    /// What stands before the cursor, as far as it fits, and what after it.
    fn halves(&self, columns: usize) -> (String, String) {
        let before = tail(&self.shown(&self.before), columns.saturating_sub(3));
        let left = columns.saturating_sub(2 + width(&before));
        (before, cut(&self.shown(&self.after), left))
    }
}

fn take_last(text: &mut String) -> String {
    let last = text.grapheme_indices(true).next_back();
    let start = last.map_or(0, |(start, _)| start);
    text.split_off(start)
}

fn take_first(text: &mut String) -> String {
    let first = text.graphemes(true).next().unwrap_or_default().len();
    text.drain(..first).collect()
}

impl Widget for Line {
    type Answer = String;

    fn key(&mut self, key: KeyEvent) -> Step<String> {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_ctrl => return Step::Done(Outcome::Interrupted),
            KeyCode::Esc => return Step::Done(Outcome::Cancelled),
            KeyCode::Enter => return self.done(),
            _ => self.edit(key),
        }
        Step::Stay
    }

    fn rows(&self, size: Size, look: &Look) -> Vec<Row> {
        let columns = usize::from(size.width);
        let mut rows = self.head(size, look);
        let (before, after) = self.halves(columns);
        let prompt = Span::styled("> ", look.style(Role::Prompt));
        let text = match (before.is_empty() && after.is_empty(), &self.default) {
            (true, Some(default)) if !default.is_empty() && !self.is_masked => {
                let hint = cut(
                    &format!("{default}  (Enter keeps it)"),
                    columns.saturating_sub(2),
                );
                Span::styled(hint, look.style(Role::Faint))
            }
            _ => Span::raw(format!("{before}{after}")),
        };
        rows.push(Row::from(vec![prompt, text]));
        if !self.problem.is_empty() {
            let problem = cut(&self.problem, columns);
            rows.push(styled(problem, look.style(Role::Bad)));
        }
        rows
    }

    fn paste(&mut self, text: &str) {
        self.insert(clean(text).trim());
    }

    fn cursor(&self, size: Size) -> Option<Position> {
        let above = self.head(size, &Look::plain()).len();
        let (before, _) = self.halves(usize::from(size.width));
        let x = u16::try_from(2 + width(&before)).ok()?;
        Some(Position::new(x, u16::try_from(above).ok()?))
    }

    fn lines(&self) -> Vec<String> {
        let note = self.frame.note.lines().map(str::to_owned);
        let mut lines: Vec<String> = note.collect();
        let title = &self.frame.title;
        lines.push(match &self.default {
            Some(default) if !default.is_empty() && !self.is_masked => {
                format!("{title} [{default}]:")
            }
            _ => format!("{title}:"),
        });
        lines
    }

    fn said(&mut self, line: &str) -> Result<Outcome<String>, String> {
        let typed = clean(line);
        let is_missing = typed.trim().is_empty() && self.default.is_none() && !self.may_be_empty;
        match is_missing {
            true => Err("nothing was typed; Ctrl+D leaves".to_owned()),
            false => self.answer(&typed).map(Outcome::Chosen),
        }
    }

    fn is_secret(&self) -> bool {
        self.is_masked
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is typed may be a secret.
        f.debug_struct("Line")
            .field("frame", &self.frame)
            .finish_non_exhaustive()
    }
}
