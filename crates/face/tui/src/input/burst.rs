//! Pastes of terminals that don't say so: characters that come faster than anybody types.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::paste::normal;

/// How fast is too fast for fingers, and for how long after that Enter belongs to the paste.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub gap: Duration,
    pub after: Duration,
    /// Characters in a row that make a paste.
    pub least: usize,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            gap: Duration::from_millis(8),
            after: Duration::from_millis(120),
            least: 3,
        }
    }
}

/// What the keys turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fed {
    Key(KeyEvent),
    Paste(String),
}

/// Stands between the terminal and the editor. A key of plain text is held for a few milliseconds, until it
/// is clear whether it is one of many.
#[derive(Debug, Default)]
pub struct Burst {
    timing: Timing,
    held: String,
    /// The keys of what is held, as long as it may not be a paste.
    keys: Vec<KeyEvent>,
    /// Keys of text in a row, those among them that were not held too.
    run: usize,
    last: Option<Instant>,
    /// Until then Enter is a line break of the paste that just ended.
    until: Option<Instant>,
    /// The terminal marks its pastes: nothing needs to be guessed.
    marked: bool,
}

impl Burst {
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            ..Self::default()
        }
    }

    /// A paste came with its marks: from now on keys are keys.
    pub fn bracketed(&mut self, now: Instant) -> Vec<Fed> {
        self.marked = true;
        self.let_go(now)
    }

    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Fed> {
        if self.marked || key.kind == KeyEventKind::Release {
            return vec![Fed::Key(key)];
        }
        let fast = self.is_fast(now);
        let mut fed = if fast { Vec::new() } else { self.let_go(now) };
        match text_of(key) {
            Some(c @ ('\r' | '\n')) => self.enter(key, c, now, fast, &mut fed),
            Some('\t') if !(fast && self.run > 0) => self.other(key, now, &mut fed),
            Some(c) => self.text(key, c, now, fast, &mut fed),
            None => self.other(key, now, &mut fed),
        }
        fed
    }

    /// When [`let_go`](Self::let_go) is due, if no key comes before.
    pub fn next_deadline(&self) -> Option<Instant> {
        let waiting = !self.held.is_empty();
        self.last
            .filter(|_| waiting)
            .map(|last| last + self.timing.gap)
    }

    /// Gives what was held, once its time is over.
    pub fn tick(&mut self, now: Instant) -> Vec<Fed> {
        match self.is_fast(now) {
            true => Vec::new(),
            false => self.let_go(now),
        }
    }

    fn text(&mut self, key: KeyEvent, c: char, now: Instant, fast: bool, fed: &mut Vec<Fed>) {
        self.run = if fast { self.run + 1 } else { 1 };
        self.last = Some(now);
        // What an input method made is shown at once, unless it follows what is held.
        match c.is_ascii() || !self.held.is_empty() {
            true => self.hold(key, c),
            false => fed.push(Fed::Key(key)),
        }
        if self.run >= self.timing.least {
            self.until = Some(now + self.timing.after);
        }
    }

    fn enter(&mut self, key: KeyEvent, c: char, now: Instant, fast: bool, fed: &mut Vec<Fed>) {
        if fast && self.run > 0 {
            // A short line of a paste, or the end of something typed quickly: what follows will tell.
            self.hold(key, c);
            self.run += 1;
            self.last = Some(now);
        } else if self.until.is_some_and(|until| now < until) {
            self.until = Some(now + self.timing.after);
            fed.push(Fed::Paste("\n".to_owned()));
        } else {
            self.other(key, now, fed);
        }
    }

    fn other(&mut self, key: KeyEvent, now: Instant, fed: &mut Vec<Fed>) {
        fed.extend(self.let_go(now));
        self.until = None;
        fed.push(Fed::Key(key));
    }

    /// Ends a run: what was held is a paste, or the keys it came from.
    fn let_go(&mut self, now: Instant) -> Vec<Fed> {
        let held = std::mem::take(&mut self.held);
        let run = std::mem::take(&mut self.run);
        let last = self.last.take().unwrap_or(now);
        let keys = std::mem::take(&mut self.keys);
        if held.is_empty() {
            return Vec::new();
        }
        // An Enter that nothing follows does not make two characters a paste.
        let trailing = usize::from(held.ends_with(['\r', '\n']));
        // The end of a line of a paste that stuttered is no Enter either.
        let goes_on = trailing > 0 && self.until.is_some_and(|until| last < until);
        if run - trailing < self.timing.least && !goes_on {
            return keys.into_iter().map(Fed::Key).collect();
        }
        self.until = Some(last + self.timing.after);
        vec![Fed::Paste(normal(&held))]
    }

    fn hold(&mut self, key: KeyEvent, c: char) {
        self.held.push(c);
        if self.keys.len() <= self.timing.least {
            self.keys.push(key);
        }
    }

    fn is_fast(&self, now: Instant) -> bool {
        let gap = |last: Instant| now.saturating_duration_since(last);
        self.last.is_some_and(|last| gap(last) < self.timing.gap)
    }
}

/// The text a key stands for; none for keys with another meaning.
fn text_of(key: KeyEvent) -> Option<char> {
    let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char(c) if plain => Some(c),
        // A line feed comes as Ctrl+J, and pastes may have those.
        KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Enter if key.modifiers.is_empty() => Some('\r'),
        KeyCode::Tab if key.modifiers.is_empty() => Some('\t'),
        _ => None,
    }
}
