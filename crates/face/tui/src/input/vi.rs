//! The keys of vi, as far as a few lines of text need them.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::editor::{Editor, Last, Pressed};
use super::keys::{Act, Go, Keys};
use super::motion;
use super::undo::Step;

/// What the letters mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vi {
    /// Never anything but text.
    #[default]
    Off,
    /// Text, until Escape.
    Typing,
    /// Commands; the letter is the first half of one.
    Commanding(Option<char>),
}

impl Editor {
    pub fn set_keys(&mut self, keys: Keys) {
        self.vi = match keys {
            Keys::Emacs => Vi::Off,
            Keys::Vi => Vi::Typing,
        };
    }

    /// Whether letters are commands now: the cursor should be a block then.
    pub fn is_commanding(&self) -> bool {
        matches!(self.vi, Vi::Commanding(_))
    }

    /// What a key does in vi's ways; nothing if it has its ordinary meaning.
    pub(super) fn vi_key(&mut self, key: KeyEvent) -> Option<Pressed> {
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match (self.vi, key.code) {
            (Vi::Typing, KeyCode::Esc) if plain => {
                self.vi = Vi::Commanding(None);
                self.buffer.go(self.left());
                Some(Pressed::Moved)
            }
            (Vi::Commanding(Some(_)), KeyCode::Esc) => {
                self.vi = Vi::Commanding(None);
                Some(Pressed::Nothing)
            }
            (Vi::Commanding(first), KeyCode::Char(c)) if plain => {
                self.vi = Vi::Commanding(None);
                self.last = Last::Other;
                Some(match first {
                    None => self.command(c),
                    Some(first) => self.second(first, c),
                })
            }
            (Vi::Commanding(_), KeyCode::Backspace) => {
                self.vi = Vi::Commanding(None);
                Some(self.command('h'))
            }
            (Vi::Commanding(Some(_)), _) => {
                self.vi = Vi::Commanding(None);
                None
            }
            _ => None,
        }
    }

    fn command(&mut self, c: char) -> Pressed {
        let (text, at) = (self.raw(), self.cursor());
        match c {
            'g' | 'd' | 'c' => {
                self.vi = Vi::Commanding(Some(c));
                Pressed::Nothing
            }
            'i' => self.type_at(at),
            'a' => self.type_at(self.right()),
            'I' => self.type_at(motion::line_start(text, at)),
            'A' => self.type_at(motion::line_end(text, at)),
            'o' => self.open_line(motion::line_end(text, at)),
            'O' => {
                let start = motion::line_start(text, at);
                self.open_line(start);
                self.type_at(start);
                Pressed::Changed
            }
            'x' => self.take_out(at..self.right()),
            'D' => self.take_out(at..motion::line_end(text, at)),
            'C' => self.change(at..motion::line_end(text, at)),
            'p' => self.put(),
            'u' if self.buffer.undo() => Pressed::Changed,
            'j' => self.row(Go::Down, KeyCode::Down),
            'k' => self.row(Go::Up, KeyCode::Up),
            c => match self.place(c) {
                Some(to) if self.buffer.go(to) => {
                    self.rest();
                    Pressed::Moved
                }
                _ => Pressed::Nothing,
            },
        }
    }

    /// The second half of a command.
    fn second(&mut self, first: char, c: char) -> Pressed {
        let (text, at) = (self.raw(), self.cursor());
        let end = motion::line_end(text, at);
        let range = match (first, c) {
            ('g', 'g') => {
                self.buffer.go(0);
                return Pressed::Moved;
            }
            ('g', _) => return Pressed::Nothing,
            ('d', 'd') => return self.delete_line(),
            ('c', 'c') => motion::line_start(text, at)..end,
            (_, 'e') => at..motion::word_right(text, at),
            ('c', 'w') => at..motion::word_right(text, at),
            (_, '$') => at..end,
            (_, 'w') => at..motion::next_word(text, at).min(end),
            (_, c) => match self.place(c) {
                Some(to) => at.min(to)..at.max(to),
                None => return Pressed::Nothing,
            },
        };
        match first {
            'c' => self.change(range),
            _ => self.take_out(range),
        }
    }

    /// Where a motion goes.
    fn place(&self, c: char) -> Option<usize> {
        let (text, at) = (self.raw(), self.cursor());
        Some(match c {
            'h' => self.left(),
            'l' => self.right(),
            'w' => motion::next_word(text, at),
            'b' => motion::word_left(text, at),
            'e' => {
                let end = motion::word_right(text, motion::next(text, at));
                motion::previous(text, end)
            }
            '0' => motion::line_start(text, at),
            '^' => {
                let start = motion::line_start(text, at);
                let line = &text[start..motion::line_end(text, at)];
                start + line.len() - line.trim_start().len()
            }
            '$' => motion::line_end(text, at),
            'G' => motion::line_start(text, text.len()),
            _ => return None,
        })
    }

    /// One character left in the line.
    fn left(&self) -> usize {
        let at = self.cursor();
        motion::previous(self.raw(), at).max(motion::line_start(self.raw(), at))
    }

    /// One character right in the line.
    fn right(&self) -> usize {
        let at = self.cursor();
        motion::next(self.raw(), at).min(motion::line_end(self.raw(), at))
    }

    /// A cursor that commands stands on a character, not behind the line.
    fn rest(&mut self) {
        let at = self.cursor();
        if motion::line_end(self.raw(), at) == at {
            self.buffer.go(self.left());
        }
    }

    fn row(&mut self, go: Go, code: KeyCode) -> Pressed {
        let goal = self.goal.take();
        match self.vertical(Act::Go(go), goal) {
            Some(pressed) => pressed,
            None => Pressed::Ignored(KeyEvent::from(code)),
        }
    }

    fn type_at(&mut self, at: usize) -> Pressed {
        self.buffer.go(at);
        self.vi = Vi::Typing;
        Pressed::Moved
    }

    fn open_line(&mut self, at: usize) -> Pressed {
        self.buffer.replace(at..at, "\n", Step::Alone);
        self.vi = Vi::Typing;
        Pressed::Changed
    }

    fn take_out(&mut self, range: Range<usize>) -> Pressed {
        if range.is_empty() {
            return Pressed::Nothing;
        }
        self.change(range);
        self.vi = Vi::Commanding(None);
        self.rest();
        Pressed::Changed
    }

    /// Cuts, keeps what was cut for `p`, and goes on with typing in its place.
    fn change(&mut self, range: Range<usize>) -> Pressed {
        if !range.is_empty() {
            self.kills.push(self.raw()[range.clone()].to_owned());
        }
        self.buffer.replace(range, "", Step::Alone);
        self.ghost.clear();
        self.vi = Vi::Typing;
        Pressed::Changed
    }

    fn delete_line(&mut self) -> Pressed {
        let (text, at) = (self.raw(), self.cursor());
        let (start, end) = (motion::line_start(text, at), motion::line_end(text, at));
        let line = format!("{}\n", &text[start..end]);
        let range = match (start, end == text.len()) {
            (0, true) => 0..end,
            (_, true) => start - 1..end,
            (_, false) => start..end + 1,
        };
        if range.is_empty() {
            return Pressed::Nothing;
        }
        self.kills.push(line);
        self.buffer.replace(range, "", Step::Alone);
        self.buffer
            .go(motion::line_start(self.raw(), self.cursor()));
        Pressed::Changed
    }

    /// Puts back what was cut: behind the cursor, a line below the line.
    fn put(&mut self) -> Pressed {
        let Some(text) = self.kills.newest().map(str::to_owned) else {
            return Pressed::Nothing;
        };
        let Some(line) = text.strip_suffix('\n') else {
            let at = self.right();
            self.buffer.replace(at..at, &text, Step::Alone);
            self.buffer.go(self.left());
            return Pressed::Changed;
        };
        let end = motion::line_end(self.raw(), self.cursor());
        self.buffer
            .replace(end..end, &format!("\n{line}"), Step::Alone);
        self.buffer.go(end + 1);
        Pressed::Changed
    }
}
