//! What each key does to the editor.

use std::ops::Range;
use std::time::{Duration, Instant};

use crossterm::event::{KeyEvent, KeyEventKind};

use super::buffer::clean;
use super::editor::{Editor, Form, Last, Pressed};
use super::keys::{Act, Cut, Go, act};
use super::kills::Side;
use super::undo::Step;
use super::{motion, rows};

/// An Enter this soon after a character no keyboard has belongs to the input method that made it.
const COMMITTING: Duration = Duration::from_millis(15);

impl Editor {
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Pressed {
        if key.kind == KeyEventKind::Release {
            return Pressed::Nothing;
        }
        if let Some(pressed) = self.vi_key(key) {
            return pressed;
        }
        let Some(act) = act(key) else {
            return Pressed::Ignored(key);
        };
        let last = self.take_last();
        let goal = self.goal.take();
        match act {
            Act::Insert(c) => {
                self.committed = (!c.is_ascii()).then_some(now);
                self.type_char(c)
            }
            Act::Newline if self.form == Form::Lines => self.type_char('\n'),
            Act::Newline => Pressed::Ignored(key),
            Act::Enter => self.enter(now),
            Act::Go(Go::Up | Go::Down) => self.vertical(act, goal).unwrap_or(Pressed::Ignored(key)),
            Act::Go(go) => self.go(go),
            Act::Cut(cut) => self.cut(cut, last),
            Act::DeleteBack => {
                let at = self.cursor();
                self.erase(motion::previous(self.raw(), at)..at)
            }
            Act::DeleteForward if self.is_empty() => Pressed::Ignored(key),
            Act::DeleteForward => {
                let at = self.cursor();
                self.erase(at..motion::next(self.raw(), at))
            }
            Act::Yank => self.yank(),
            Act::YankOlder => self.yank_older(last),
            Act::Undo => changed(self.buffer.undo()),
            Act::Redo => changed(self.buffer.redo()),
        }
    }

    fn keep_last(&mut self, last: Last) {
        (self.last, self.last_change) = (last, self.buffer.changes());
    }

    fn take_last(&mut self) -> Last {
        let last = std::mem::replace(&mut self.last, Last::Other);
        match self.last_change == self.buffer.changes() {
            true => last,
            false => Last::Other,
        }
    }

    fn type_char(&mut self, c: char) -> Pressed {
        let text = clean(c.encode_utf8(&mut [0; 4]));
        let at = self.cursor();
        self.buffer.replace(at..at, &text, Step::Typing);
        self.ghost.clear();
        changed(!text.is_empty())
    }

    fn enter(&mut self, now: Instant) -> Pressed {
        let committing = |at: Instant| now.saturating_duration_since(at) < COMMITTING;
        if self.committed.take().is_some_and(committing) {
            return Pressed::Nothing;
        }
        let at = self.cursor();
        if self.form == Form::Lines && self.at_end() && self.raw().ends_with('\\') {
            self.buffer.replace(at - 1..at, "\n", Step::Alone);
            return Pressed::Changed;
        }
        Pressed::Submit
    }

    fn erase(&mut self, range: Range<usize>) -> Pressed {
        if range.is_empty() {
            return Pressed::Nothing;
        }
        self.ghost.clear();
        self.buffer.replace(range, "", Step::Erasing);
        Pressed::Changed
    }

    fn go(&mut self, go: Go) -> Pressed {
        let (text, at) = (self.raw(), self.cursor());
        let to = match go {
            Go::Right | Go::LineEnd if !self.ghost.is_empty() && self.at_end() => {
                return self.accept_ghost();
            }
            Go::Left => motion::previous(text, at),
            Go::Right => motion::next(text, at),
            Go::WordLeft => motion::word_left(text, at),
            Go::WordRight => motion::word_right(text, at),
            Go::LineStart => motion::line_start(text, at),
            Go::LineEnd => motion::line_end(text, at),
            Go::Start => 0,
            Go::End => text.len(),
            Go::Up | Go::Down => at,
        };
        moved(self.buffer.go(to))
    }

    /// One row up or down; nothing where there is none.
    pub(super) fn vertical(&mut self, act: Act, goal: Option<usize>) -> Option<Pressed> {
        let view = self.view();
        let rows: Vec<Range<usize>> = view.rows();
        let current = rows::row_of(&rows, self.cursor());
        let target = match act {
            Act::Go(Go::Up) => current.checked_sub(1)?,
            _ => current + 1,
        };
        let row = rows.get(target)?.clone();
        let goal = goal.unwrap_or_else(|| view.width(rows[current].start..self.cursor()));
        let to = view.at_column(row, goal);
        self.buffer.go(to);
        self.goal = Some(goal);
        Some(Pressed::Moved)
    }

    fn cut(&mut self, cut: Cut, last: Last) -> Pressed {
        let (text, at) = (self.raw(), self.cursor());
        let (range, side) = match cut {
            Cut::LineStart => (line_cut_back(text, at)..at, Side::Before),
            Cut::WordLeft => (motion::word_left(text, at)..at, Side::Before),
            Cut::BlankLeft => (motion::blank_left(text, at)..at, Side::Before),
            Cut::LineEnd => (at..line_cut_on(text, at), Side::After),
            Cut::WordRight => (at..motion::word_right(text, at), Side::After),
        };
        if range.is_empty() {
            return Pressed::Nothing;
        }
        let gone = text[range.clone()].to_owned();
        match last {
            Last::Cut => self.kills.grow(&gone, side),
            _ => self.kills.push(gone),
        }
        self.ghost.clear();
        self.buffer.replace(range, "", Step::Alone);
        self.keep_last(Last::Cut);
        Pressed::Changed
    }

    fn yank(&mut self) -> Pressed {
        let at = self.cursor();
        self.put_back(at..at)
    }

    fn yank_older(&mut self, last: Last) -> Pressed {
        let Last::Yanked(range) = last else {
            return Pressed::Nothing;
        };
        self.kills.turn();
        self.put_back(range)
    }

    fn put_back(&mut self, range: Range<usize>) -> Pressed {
        let Some(text) = self.kills.newest().map(str::to_owned) else {
            return Pressed::Nothing;
        };
        let start = range.start;
        self.buffer.replace(range, &text, Step::Alone);
        self.keep_last(Last::Yanked(start..start + text.len()));
        self.ghost.clear();
        Pressed::Changed
    }
}

/// At the beginning of a line the line break before it goes.
fn line_cut_back(text: &str, at: usize) -> usize {
    match motion::line_start(text, at) {
        start if start == at => motion::previous(text, at),
        start => start,
    }
}

/// At the end of a line the line break goes.
fn line_cut_on(text: &str, at: usize) -> usize {
    match motion::line_end(text, at) {
        end if end == at => motion::next(text, at),
        end => end,
    }
}

fn changed(really: bool) -> Pressed {
    if really {
        Pressed::Changed
    } else {
        Pressed::Nothing
    }
}

fn moved(really: bool) -> Pressed {
    if really {
        Pressed::Moved
    } else {
        Pressed::Nothing
    }
}
