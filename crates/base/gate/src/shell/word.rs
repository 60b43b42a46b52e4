//! What a word is made of: quotes, escapes, variables, substitutions.

use super::words::{CLOSE, COMMA, OPEN, SEPARATOR, assignment, printed};
use super::{How, Reader};

/// Whether a word is split where its values have spaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Double,
}

impl Reader<'_, '_> {
    /// A character that belongs to a word, with all it opens.
    pub(super) fn part(&mut self, c: char) {
        match c {
            '\\' => match self.take_raw() {
                Some(c) => self.quote().push(c),
                None => self.word().push('\\'),
            },
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            '`' => self.backticks(Quoting::Bare),
            '$' => self.dollar(Quoting::Bare),
            '{' => self.word().push(OPEN),
            ',' => self.word().push(COMMA),
            '}' => self.word().push(CLOSE),
            c => self.run_of(c, is_ordinary),
        }
    }

    /// This character and those behind it that mean nothing but themselves, all at once.
    fn run_of(&mut self, first: char, ordinary: fn(char) -> bool) {
        let text = self.text;
        let rest = &text[self.pos..];
        let count = rest.iter().position(|c| !ordinary(*c));
        let rest = &rest[..count.unwrap_or(rest.len())];
        let word = self.word();
        word.reserve(rest.len() + 1);
        word.push(first);
        word.extend(rest);
        self.pos += rest.len();
        self.script.steps += rest.len();
    }

    fn quote(&mut self) -> &mut String {
        self.word();
        self.frame.quoted = true;
        self.word()
    }

    pub(super) fn single_quoted(&mut self) {
        self.quote();
        loop {
            match self.take_raw() {
                Some('\'') => return,
                Some(c) => self.run_of(c, |c| c != '\''),
                None => return self.malformed(),
            }
        }
    }

    pub(super) fn double_quoted(&mut self) {
        self.quote();
        loop {
            match self.take() {
                Some('"') => return,
                Some(c) => self.quoted_part(c),
                None => return self.malformed(),
            }
        }
    }

    /// A character between double quotes.
    pub(super) fn quoted_part(&mut self, c: char) {
        match c {
            '\\' => match self.take_raw() {
                None => {}
                Some(c) if "$`\"\\".contains(c) => self.word().push(c),
                Some(c) => self.word().extend(['\\', c]),
            },
            '$' => self.dollar(Quoting::Double),
            '`' => self.backticks(Quoting::Double),
            c => self.run_of(c, |c| c == ' ' || is_ordinary(c)),
        }
    }

    /// A text that is data but for what is substituted in it: a document.
    pub(super) fn as_quoted(&mut self) {
        self.depth += 1;
        while let Some(c) = self.take() {
            self.quoted_part(c);
        }
    }

    pub(super) fn dollar(&mut self, quoting: Quoting) {
        let from = self.pos.saturating_sub(1);
        match self.peek() {
            Some('\'') if quoting == Quoting::Bare => {
                self.pos += 1;
                self.c_quoted();
            }
            Some('"') if quoting == Quoting::Bare => {
                self.pos += 1;
                self.double_quoted();
            }
            Some('(') => {
                self.pos += 1;
                self.begin(from);
                if let Some(pipelines) = self.substitution(How::Dollar) {
                    self.stands_for(pipelines, from, quoting);
                }
            }
            Some('{') => {
                self.pos += 1;
                self.begin(from);
                self.parameter(from, quoting);
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                self.begin(from);
                let name = self.name();
                match self.value(&name) {
                    Some(value) => self.insert(&value, quoting),
                    None => {
                        self.word().push('$');
                        self.word().push_str(&name);
                    }
                }
            }
            // Nothing, where nobody called with arguments; only a way to write a program's name differently.
            Some('@' | '*' | '1'..='9') if self.frame.simple.words.is_empty() => {
                self.pos += 1;
            }
            _ => self.word().push('$'),
        }
    }

    /// A word that is there even if nothing comes of it, such as `"$(…)"`.
    fn begin(&mut self, from: usize) {
        if self.frame.word.is_none() {
            self.frame.start = from;
        }
    }

    pub(super) fn backticks(&mut self, quoting: Quoting) {
        let from = self.pos.saturating_sub(1);
        let special: &str = match quoting {
            Quoting::Bare => "`\\$",
            Quoting::Double => "`\\$\"",
        };
        self.begin(from);
        let mut inner = Vec::new();
        loop {
            match self.take() {
                Some('`') => break,
                Some('\\') => match self.take_raw() {
                    Some(c) if special.contains(c) => inner.push(c),
                    other => inner.extend(['\\'].into_iter().chain(other)),
                },
                Some(c) => inner.push(c),
                None => {
                    self.malformed();
                    break;
                }
            }
        }
        let pipelines = self.inside(&inner, |reader| {
            reader.run();
        });
        let how = How::Backticks;
        let made = super::Substitution {
            how,
            pipelines: pipelines.clone(),
        };
        self.frame.simple.substitutions.push(made);
        self.stands_for(pipelines, from, quoting);
    }

    /// What a substitution prints takes its place, if that is clear; else it stays as written.
    fn stands_for(&mut self, pipelines: std::ops::Range<usize>, from: usize, quoting: Quoting) {
        let all = &self.script.pipelines;
        let printed = match &all[pipelines] {
            [pipeline] => match pipeline.as_slice() {
                [only] if only.redirects.is_empty() => printed(&only.words),
                _ => None,
            },
            _ => None,
        };
        match printed {
            Some(text) => {
                if self.grows_by(text.len()) {
                    self.insert(text.trim_end_matches('\n'), quoting);
                }
            }
            None => {
                let backticks = self.text.get(from) == Some(&'`');
                self.keep_as_written(from, if backticks { "``" } else { "$()" });
            }
        }
    }

    /// Puts a value into the word, splitting where a shell would.
    pub(super) fn insert(&mut self, value: &str, quoting: Quoting) {
        let whole = quoting == Quoting::Double || self.is_assignment();
        if whole && !value.contains(SEPARATOR) {
            return self.word().push_str(value);
        }
        for c in value.chars() {
            if SEPARATOR.contains(c) || (c.is_whitespace() && !whole) {
                self.end_word();
            } else {
                self.word().push(c);
            }
        }
    }

    fn is_assignment(&self) -> bool {
        let word = self.frame.word.as_deref().unwrap_or_default();
        assignment(word).is_some()
    }

    /// `$'…'`: escapes as in C.
    fn c_quoted(&mut self) {
        self.quote();
        loop {
            let c = match self.take_raw() {
                Some('\'') => return,
                Some('\\') => self.c_escape(),
                Some(c) => Some(c),
                None => return self.malformed(),
            };
            self.word().extend(c);
        }
    }

    fn c_escape(&mut self) -> Option<char> {
        match self.take_raw()? {
            'n' => Some('\n'),
            't' => Some('\t'),
            'a' | 'b' | 'e' | 'E' | 'f' | 'r' | 'v' => Some(' '),
            'c' => self.take_raw(),
            'x' => self.code(16, 2),
            'u' => self.code(16, 4),
            'U' => self.code(16, 8),
            c if c.is_digit(8) => {
                self.pos -= 1;
                self.code(8, 3)
            }
            c => Some(c),
        }
    }

    fn code(&mut self, radix: u32, digits: usize) -> Option<char> {
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(digit) = self.text.get(self.pos).and_then(|c| c.to_digit(radix)) else {
                break;
            };
            code = code.wrapping_mul(radix).wrapping_add(digit);
            self.pos += 1;
        }
        char::from_u32(code)
    }

    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self
            .peek()
            .filter(|c| *c == '_' || c.is_ascii_alphanumeric())
        {
            name.push(c);
            self.pos += 1;
        }
        self.script.steps += name.len();
        name
    }

    /// What a variable was set to, as long as variables made of variables don't explode.
    pub(super) fn value(&mut self, name: &str) -> Option<String> {
        if name == "IFS" {
            return Some(" ".to_owned());
        }
        let value = self.script.vars.get(name)?.clone();
        self.grows_by(value.len()).then_some(value)
    }
}

/// Whether a character is itself wherever it stands, in quotes and outside.
fn is_ordinary(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '=' | '%' | '@')
}
