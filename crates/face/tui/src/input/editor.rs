//! The editor: keys change a text of several lines in which long pastes and images are one piece each.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use crossterm::event::KeyEvent;

use super::buffer::{Buffer, clean};
use super::kills::Kills;
use super::motion;
use super::paste::Line;
use super::token::{self, Image, Paste, Token, Tokens};
use super::undo::Step;
use super::vi::Vi;

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// The text is another one now.
    Changed,
    /// Only the cursor (or a selection) is elsewhere.
    Moved,
    /// The owner is done: [`Editor::take`] has it.
    Submit,
    /// The chosen command stands in the editor and is to be run at once.
    Run,
    /// Used up, and nothing looks different.
    Nothing,
    /// Not a key of the editor. Up in the first row and Down in the last come back like this.
    Ignored(KeyEvent),
}

/// What somebody typed, ready to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// All of it, pastes word for word.
    pub text: String,
    /// As it stood in the input.
    pub shown: String,
    /// For the history: pastes by the file that holds them.
    pub record: String,
    /// The images whose badges are in the text.
    pub images: Vec<Image>,
}

/// A text put aside with its cursor. Its tokens come back only to the editor it comes from, and only until
/// that was emptied.
#[derive(Clone, PartialEq, Eq)]
pub struct Stash {
    raw: String,
    cursor: usize,
    generation: usize,
}

/// What is being typed.
#[derive(Clone)]
pub struct Editor {
    pub(super) buffer: Buffer,
    pub(super) tokens: Tokens,
    pub(super) kills: Kills,
    pub(super) form: Form,
    pub(super) last: Last,
    /// The change that [`last`](Self::last) speaks of: after another one, not made by a key, it means nothing.
    pub(super) last_change: usize,
    pub(super) vi: Vi,
    /// The column Up and Down keep to.
    pub(super) goal: Option<usize>,
    /// When a character no keyboard has was typed.
    pub(super) committed: Option<Instant>,
    images: usize,
    /// How often it was emptied: tokens of before are gone.
    generation: usize,
    pub(super) prompt: String,
    pub(super) placeholder: String,
    pub(super) ghost: String,
    /// What was drawn last: columns for text and the first row in view.
    pub(super) columns: usize,
    pub(super) top: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Lines,
    Line,
    Secret,
}

/// What the last key did, where the next one may go on with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Cut,
    Yanked(Range<usize>),
    Other,
}

impl Default for Editor {
    fn default() -> Self {
        Self::new()
    }
}

impl Editor {
    /// For text of any number of lines.
    pub fn new() -> Self {
        Self {
            buffer: Buffer::default(),
            tokens: Tokens::default(),
            kills: Kills::default(),
            form: Form::Lines,
            last: Last::Other,
            last_change: 0,
            vi: Vi::Off,
            goal: None,
            committed: None,
            images: 0,
            generation: 0,
            prompt: "❯ ".to_owned(),
            placeholder: String::new(),
            ghost: String::new(),
            columns: 80,
            top: 0,
        }
    }

    /// For one line.
    pub fn line() -> Self {
        Self {
            form: Form::Line,
            ..Self::new()
        }
    }

    /// For a secret: one line of dots.
    pub fn masked() -> Self {
        Self {
            form: Form::Secret,
            prompt: "🔑 ".to_owned(),
            ..Self::new()
        }
    }

    /// Puts text at the cursor as one step.
    pub fn insert(&mut self, text: &str) {
        let at = self.cursor();
        let text = self.fitting(text);
        self.buffer.replace(at..at, &text, Step::Alone);
        self.ghost.clear();
    }

    /// Replaces everything; the cursor goes to the end. Can be taken back.
    pub fn set(&mut self, text: &str) {
        let all = 0..self.raw().len();
        let text = self.fitting(text);
        self.buffer.replace(all, &text, Step::Alone);
        self.ghost.clear();
    }

    /// Replaces the last `bytes` before the cursor, as completing a word does.
    pub fn complete(&mut self, bytes: usize, text: &str) {
        let at = self.cursor();
        let from = motion::settle(self.raw(), at.saturating_sub(bytes)).min(at);
        let text = self.fitting(text);
        self.buffer.replace(from..at, &text, Step::Alone);
        self.ghost.clear();
    }

    /// Puts a badge for an image at the cursor and says its number.
    pub fn insert_image(&mut self, path: PathBuf) -> usize {
        let number = self.images + 1;
        let image = Token::Image(Image { number, path });
        if let Some(mark) = self.tokens.add(image) {
            self.images = number;
            let at = self.cursor();
            self.buffer.replace(at..at, &mark.to_string(), Step::Alone);
        }
        self.images
    }

    /// Puts a token for a paste at the cursor.
    pub(super) fn insert_paste(&mut self, paste: Paste, line: Line) {
        let at = self.cursor();
        let whole = paste.content.clone();
        let Some(mark) = self.tokens.add(Token::Paste(paste)) else {
            return self.insert(&whole);
        };
        let text = self.raw();
        let gap = |is_there: bool| match line == Line::Same || is_there {
            true => "",
            false => "\n",
        };
        let before = gap(motion::line_start(text, at) == at);
        let after = gap(motion::line_end(text, at) == at);
        self.buffer
            .replace(at..at, &format!("{before}{mark}{after}"), Step::Alone);
        self.ghost.clear();
    }

    /// Replaces a stretch of what [`raw`](Self::raw) gives by a token, where it stands.
    pub(super) fn replace_with_paste(&mut self, range: Range<usize>, paste: Paste) {
        if let Some(mark) = self.tokens.add(Token::Paste(paste)) {
            self.buffer.replace(range, &mark.to_string(), Step::Alone);
        }
    }

    /// Everything typed, with the pastes in it.
    pub fn text(&self) -> String {
        self.tokens.expand(self.raw(), Token::text)
    }

    /// Everything typed as it is shown.
    pub fn shown(&self) -> String {
        self.tokens.expand(self.raw(), Token::shown)
    }

    /// Empties the editor and gives what was in it.
    pub fn take(&mut self) -> Draft {
        let raw = self.raw();
        let images = raw.chars().filter_map(|c| match self.tokens.get(c) {
            Some(Token::Image(image)) => Some(image.clone()),
            _ => None,
        });
        let draft = Draft {
            text: self.text(),
            shown: self.shown(),
            record: self.tokens.expand(raw, Token::record),
            images: images.collect(),
        };
        self.clear();
        draft
    }

    /// Puts a draft back that was taken out and not sent: all of its text, and its images behind it.
    pub fn take_back(&mut self, draft: &Draft) {
        let mut text = draft.text.clone();
        for image in &draft.images {
            text = text.replace(&image.label(), "");
        }
        self.set(text.trim_end());
        for image in &draft.images {
            self.insert_image(image.path.clone());
        }
    }

    /// Empties the editor for good. What was cut stays, except for tokens.
    pub fn clear(&mut self) {
        self.buffer = Buffer::default();
        self.kills.forget(|text| text.contains(token::is_mark));
        self.tokens.clear();
        self.generation += 1;
        self.images = 0;
        self.ghost.clear();
        self.top = 0;
        (self.last, self.goal) = (Last::Other, None);
        if self.is_commanding() {
            self.vi = Vi::Typing;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.raw().is_empty()
    }

    /// Whether the cursor is behind everything.
    pub fn at_end(&self) -> bool {
        self.cursor() == self.raw().len()
    }

    /// What stands before the cursor; a token is one character of a private range.
    pub fn before_cursor(&self) -> &str {
        &self.raw()[..self.cursor()]
    }

    /// What stands behind the cursor.
    pub fn after_cursor(&self) -> &str {
        &self.raw()[self.cursor()..]
    }

    /// The sign in front of the first row.
    pub fn set_prompt(&mut self, prompt: &str) {
        prompt.clone_into(&mut self.prompt);
    }

    /// What an empty editor shows.
    pub fn set_placeholder(&mut self, text: &str) {
        text.clone_into(&mut self.placeholder);
    }

    /// How the text could go on; Right and End at its end take it.
    pub fn set_ghost(&mut self, text: &str) {
        text.clone_into(&mut self.ghost);
    }

    /// Takes what the ghost text offers, if the cursor is where it begins.
    pub fn accept_ghost(&mut self) -> Pressed {
        if self.ghost.is_empty() || !self.at_end() || self.is_empty() {
            return Pressed::Nothing;
        }
        let ghost = std::mem::take(&mut self.ghost);
        self.insert(&ghost);
        Pressed::Changed
    }

    /// What is there now, to be brought back by [`restore`](Self::restore).
    pub fn stash(&self) -> Stash {
        Stash {
            raw: self.raw().to_owned(),
            cursor: self.cursor(),
            generation: self.generation,
        }
    }

    pub fn restore(&mut self, stash: &Stash) {
        let all = 0..self.raw().len();
        let text = match stash.generation == self.generation {
            true => stash.raw.clone(),
            false => stash.raw.replace(token::is_mark, ""),
        };
        self.buffer.replace(all, &text, Step::Alone);
        self.buffer.go(stash.cursor);
        self.ghost.clear();
    }

    pub(super) fn raw(&self) -> &str {
        self.buffer.text()
    }

    pub(super) fn cursor(&self) -> usize {
        self.buffer.cursor()
    }

    /// Whether a long paste may become a token here; what goes to a command stays in sight.
    pub(super) fn takes_tokens(&self) -> bool {
        self.form == Form::Lines && !self.raw().starts_with('/')
    }

    pub(super) fn is_masked(&self) -> bool {
        self.form == Form::Secret
    }

    /// What may be put into this editor.
    pub(super) fn fitting(&self, text: &str) -> String {
        let clean = clean(text);
        match self.form {
            Form::Lines => clean,
            Form::Line => clean.trim_end_matches('\n').replace('\n', " "),
            Form::Secret => clean.replace('\n', ""),
        }
    }
}

impl fmt::Debug for Stash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stash({} bytes)", self.raw.len())
    }
}

/// Says how much is typed, never what: it may be a secret.
impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor")
            .field("form", &self.form)
            .field("bytes", &self.raw().len())
            .finish_non_exhaustive()
    }
}
