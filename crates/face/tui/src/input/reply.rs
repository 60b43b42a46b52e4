//! Answers of the terminal that come among the keys. They are read here and never reach what is typed, however late.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::look::Rgb;

/// How an answer about the background begins.
const HEAD: &str = "11;rgb";
/// No answer is longer.
const LONGEST: usize = 40;
/// Between two characters of an answer. Keys that could begin one wait for so long.
const GAP: Duration = Duration::from_millis(250);
/// Between an escape character and what follows it, where they come apart.
const APART: Duration = Duration::from_millis(50);

/// Keys as they come, with the answer to a question that was asked among them.
#[derive(Debug, Default)]
pub struct Replies {
    /// The terminal was asked and has not answered.
    asked: bool,
    /// Keys that are an answer so far.
    held: Vec<KeyEvent>,
    text: String,
    last: Option<Instant>,
    /// An escape character that came alone; what was begun or ended with it may follow.
    escaped: Option<Instant>,
}

/// What keys turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Keys(Vec<KeyEvent>),
    /// The colour behind the text, if it could be read.
    Background(Option<Rgb>),
}

impl Replies {
    /// The terminal was asked for its background.
    pub fn expect(&mut self) {
        self.asked = true;
    }

    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Heard {
        if key.kind == KeyEventKind::Release {
            return Heard::Keys(vec![key]);
        }
        let apart = self
            .escaped
            .take()
            .is_some_and(|at| now.saturating_duration_since(at) < APART);
        let (alone, alt) = (key.modifiers.is_empty(), key.modifiers == KeyModifiers::ALT);
        if !self.asked {
            let ended = apart && alone && key.code == KeyCode::Char('\\');
            return Heard::Keys(if ended { Vec::new() } else { vec![key] });
        }
        if self.last.is_none() {
            let begins = key.code == KeyCode::Char(']') && (alt || alone && apart);
            if key.code == KeyCode::Esc {
                self.escaped = Some(now);
            }
            if !begins {
                return Heard::Keys(vec![key]);
            }
            self.held.push(key);
            self.last = Some(now);
            return Heard::Keys(Vec::new());
        }
        self.inside(key, now)
    }

    /// A key after the beginning of what may be an answer.
    fn inside(&mut self, key: KeyEvent, now: Instant) -> Heard {
        let control = key.modifiers == KeyModifiers::CONTROL;
        let alt = key.modifiers == KeyModifiers::ALT;
        let ends = match key.code {
            KeyCode::Esc => true,
            KeyCode::Char('g') => control,
            KeyCode::Char('\\') => alt,
            _ => false,
        };
        if ends && self.is_answer() {
            if key.code == KeyCode::Esc {
                self.escaped = Some(now);
            }
            let colour = colour(&self.text);
            self.forget();
            self.asked = false;
            return Heard::Background(colour);
        }
        self.held.push(key);
        match key.code {
            KeyCode::Char(c) if !control && !alt && self.goes_on(c) => {
                self.text.push(c);
                self.last = Some(now);
                Heard::Keys(Vec::new())
            }
            // One that goes on for ever is no typing either.
            _ if self.is_answer() => {
                self.forget();
                Heard::Keys(vec![key])
            }
            _ => Heard::Keys(self.forget()),
        }
    }

    /// Whether this is the next character of an answer.
    fn goes_on(&self, c: char) -> bool {
        match HEAD.as_bytes().get(self.text.len()) {
            Some(byte) => c == char::from(*byte),
            None => self.text.len() < LONGEST,
        }
    }

    fn is_answer(&self) -> bool {
        self.text.len() >= HEAD.len()
    }

    fn forget(&mut self) -> Vec<KeyEvent> {
        self.text.clear();
        self.last = None;
        std::mem::take(&mut self.held)
    }

    /// When keys that wait are let go.
    pub fn deadline(&self) -> Option<Instant> {
        self.last.map(|last| last + GAP)
    }

    /// Keys that were none of an answer; one that broke off is nobody's.
    pub fn late(&mut self, now: Instant) -> Vec<KeyEvent> {
        if self.deadline().is_none_or(|at| now < at) {
            return Vec::new();
        }
        let broken = self.is_answer();
        let keys = self.forget();
        if broken { Vec::new() } else { keys }
    }
}

/// `11;rgb:ffff/ffff/ffff`, with one to four digits each; there may be a fourth number.
fn colour(answer: &str) -> Option<Rgb> {
    let (_, numbers) = answer.split_once(':')?;
    let mut numbers = numbers.split('/').map(|digits| {
        let value = u32::from_str_radix(digits, 16).ok()?;
        let most = 16u32.checked_pow(digits.len() as u32)? - 1;
        u8::try_from(value * 255 / most).ok()
    });
    let mut next = || numbers.next().flatten();
    Some(Rgb(next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn key(c: char, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), modifiers)
    }

    /// Keys as the terminal's answer looks to us.
    fn answer(body: &str, end: KeyEvent) -> Vec<KeyEvent> {
        let plain = |c: char| match c.is_ascii_uppercase() {
            true => key(c, KeyModifiers::SHIFT),
            false => key(c, KeyModifiers::NONE),
        };
        let begin = key(']', KeyModifiers::ALT);
        let body = body.chars().map(plain);
        [begin].into_iter().chain(body).chain([end]).collect()
    }

    fn st() -> KeyEvent {
        key('\\', KeyModifiers::ALT)
    }

    /// What comes out: keys, and the colour.
    fn heard(
        replies: &mut Replies,
        keys: &[KeyEvent],
        now: Instant,
    ) -> (Vec<KeyEvent>, Option<Rgb>) {
        let (mut out, mut colour) = (Vec::new(), None);
        for key in keys {
            match replies.key(*key, now) {
                Heard::Keys(keys) => out.extend(keys),
                Heard::Background(background) => colour = background,
            }
        }
        (out, colour)
    }

    #[test]
    fn answers_are_taken_out_of_what_is_typed() {
        let check = |body: &str, end: KeyEvent, expected: Option<Rgb>| {
            let mut replies = Replies::default();
            replies.expect();
            let a = key('a', KeyModifiers::NONE);
            let keys = [vec![a], answer(body, end), vec![a]].concat();
            let heard = heard(&mut replies, &keys, Instant::now());
            assert_eq!(heard, (vec![a, a], expected), "{body}");
        };
        let bell = key('g', KeyModifiers::CONTROL);
        let white = Some(Rgb(255, 255, 255));
        check("11;rgb:ffff/ffff/ffff", st(), white);
        check("11;rgb:FFFF/FFFF/FFFF", bell, white);
        check("11;rgb:ff/ff/ff", st(), white);
        check("11;rgb:1e1e/1e1e/2e2e", bell, Some(Rgb(30, 30, 46)));
        check("11;rgba:0000/0000/0000/ffff", st(), Some(Rgb(0, 0, 0)));
        check("11;rgb:zz", st(), None);
    }

    #[test]
    fn an_answer_in_pieces_is_one_too() {
        let mut replies = Replies::default();
        replies.expect();
        let now = Instant::now();
        let esc = KeyEvent::from(KeyCode::Esc);
        let mut keys = vec![esc];
        keys.extend("]11;rgb:0/0/0".chars().map(|c| key(c, KeyModifiers::NONE)));
        keys.extend([esc, key('\\', KeyModifiers::NONE)]);
        assert_eq!(
            heard(&mut replies, &keys, now),
            (vec![esc], Some(Rgb(0, 0, 0)))
        );
    }

    #[test]
    fn keys_that_only_look_like_it_are_let_go() {
        let now = Instant::now();
        let [bracket, one, x] = [
            key(']', KeyModifiers::ALT),
            key('1', KeyModifiers::NONE),
            key('x', KeyModifiers::NONE),
        ];
        let keys = [bracket, one, x, x];
        let mut replies = Replies::default();
        // Nobody was asked.
        assert_eq!(heard(&mut replies, &keys, now).0, keys);
        replies.expect();
        assert_eq!(heard(&mut replies, &keys, now).0, keys);
        assert_eq!(heard(&mut replies, &[bracket, one], now).0, []);
        assert_eq!(replies.late(now), []);
        let later = replies.deadline().unwrap();
        assert_eq!(replies.late(later), [bracket, one]);
        assert_eq!(replies.deadline(), None);
        // What broke off was no typing.
        heard(&mut replies, &answer("11;rgb:ff", one)[..9], now);
        assert_eq!(replies.late(later), []);
        // The answer may still come, once.
        let keys = answer("11;rgb:0/0/0", st());
        assert_eq!(heard(&mut replies, &keys, later).0, []);
        assert_eq!(heard(&mut replies, &[bracket], later).0, [bracket]);
    }
}
