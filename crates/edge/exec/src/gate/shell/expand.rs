//! What a word is made of: quotes, escapes, variables, substitutions.

use super::words::{CLOSE, COMMA, OPEN, printed};
use super::{Reader, Simple, parse_into};

/// All values of variables together, in bytes.
const MAX_EXPANDED: usize = 1 << 20;

impl Reader<'_> {
    /// A character that belongs to a word, with all it opens.
    pub(super) fn part(&mut self, c: char) {
        match c {
            '\\' => match self.take() {
                Some('\n') => {}
                Some(c) => self.quote().push(c),
                None => self.word().push('\\'),
            },
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            '`' => self.backticks(),
            '$' => self.dollar(),
            '{' => self.word().push(OPEN),
            ',' => self.word().push(COMMA),
            '}' => self.word().push(CLOSE),
            c => self.word().push(c),
        }
    }

    fn single_quoted(&mut self) {
        self.quote();
        loop {
            match self.take() {
                Some('\'') => return,
                Some(c) => self.word().push(c),
                None => return self.script.malformed = true,
            }
        }
    }

    fn double_quoted(&mut self) {
        self.quote();
        loop {
            match self.take() {
                Some('"') => return,
                Some('\\') => match self.take() {
                    Some('\n') | None => {}
                    Some(c) if "$`\"\\".contains(c) => self.word().push(c),
                    Some(c) => self.word().extend(['\\', c]),
                },
                Some('$') => self.dollar(),
                Some('`') => self.backticks(),
                Some(c) => self.word().push(c),
                None => return self.script.malformed = true,
            }
        }
    }

    fn dollar(&mut self) {
        match self.peek() {
            Some('\'') => {
                self.pos += 1;
                self.c_quoted();
            }
            Some('"') => {
                self.pos += 1;
                self.double_quoted();
            }
            Some('(') => {
                self.pos += 1;
                let inner = self.until_close();
                self.substitute(&inner, |inner| format!("$({inner})"));
            }
            Some('{') => {
                self.pos += 1;
                self.parameter();
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                let name = self.name();
                let value = self.value(&name).unwrap_or_else(|| format!("${name}"));
                self.word().push_str(&value);
            }
            _ => self.word().push('$'),
        }
    }

    fn backticks(&mut self) {
        let mut inner = String::new();
        loop {
            match self.take() {
                Some('`') => break,
                Some('\\') if self.peek().is_some_and(|c| "`\\$".contains(c)) => {
                    inner.extend(self.take());
                }
                Some(c) => inner.push(c),
                None => {
                    self.script.malformed = true;
                    break;
                }
            }
        }
        self.substitute(&inner, |inner| format!("`{inner}`"));
    }

    /// `$'…'`: escapes as in C.
    fn c_quoted(&mut self) {
        self.word();
        loop {
            let c = match self.take() {
                Some('\'') => return,
                Some('\\') => self.c_escape(),
                Some(c) => Some(c),
                None => return self.script.malformed = true,
            };
            self.word().extend(c);
        }
    }

    fn c_escape(&mut self) -> Option<char> {
        match self.take()? {
            'n' => Some('\n'),
            't' => Some('\t'),
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
        let mut code = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            code = code * radix + digit;
            self.pos += 1;
        }
        char::from_u32(code)
    }

    /// `${…}`: a default or a replacement is taken as if it were used.
    fn parameter(&mut self) {
        let name = self.name();
        let mut rest = String::new();
        let mut depth = 1;
        while depth > 0 {
            match self.take() {
                Some('{') => depth += 1,
                Some('}') => depth -= 1,
                None => {
                    self.script.malformed = true;
                    break;
                }
                _ => {}
            }
            if depth > 0 {
                rest.extend(self.text.get(self.pos - 1));
            }
        }
        let value = self.value(&name);
        let default = [":-", "-", ":=", "=", ":+", "+"]
            .iter()
            .find_map(|operator| rest.strip_prefix(operator));
        let resolved = match (value, default, rest.strip_prefix('/')) {
            (Some(value), None, None) => value,
            (_, Some(default), _) => default.to_owned(),
            (_, _, Some(change)) => match change.trim_start_matches('/').split_once('/') {
                Some((_, replacement)) => replacement.to_owned(),
                None => String::new(),
            },
            (None, None, None) => format!("${{{name}{rest}}}"),
        };
        self.nested_if_any(&resolved);
        self.word().push_str(&resolved);
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self
            .peek()
            .filter(|c| *c == '_' || c.is_ascii_alphanumeric())
        {
            name.push(c);
            self.pos += 1;
        }
        name
    }

    /// What a variable was set to, as long as variables made of variables don't explode.
    fn value(&mut self, name: &str) -> Option<String> {
        let value = self.vars.get(name)?;
        self.script.expanded += value.len();
        if self.script.expanded > MAX_EXPANDED {
            self.script.malformed = true;
            return None;
        }
        Some(value.clone())
    }

    /// The text up to the parenthesis that closes the one just read.
    pub(super) fn until_close(&mut self) -> String {
        let start = self.pos;
        let mut depth = 1;
        while let Some(c) = self.take() {
            match c {
                '\\' => self.pos += 1,
                '\'' => self.skip_to('\''),
                '"' => self.skip_quoted(),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return self.text[start..self.pos - 1].iter().collect();
            }
        }
        self.script.malformed = true;
        self.text[start.min(self.text.len())..].iter().collect()
    }

    fn skip_to(&mut self, end: char) {
        while self.take().is_some_and(|c| c != end) {}
    }

    fn skip_quoted(&mut self) {
        while let Some(c) = self.take() {
            match c {
                '"' => return,
                '\\' => self.pos += 1,
                _ => {}
            }
        }
    }

    /// What stands in `$(…)` runs. If it only prints a text, the text takes its place.
    fn substitute(&mut self, inner: &str, otherwise: impl Fn(&str) -> String) {
        let pipelines = self.nested(inner);
        let printed = match pipelines.as_slice() {
            [pipeline] => match pipeline.as_slice() {
                [only] => printed(&only.words),
                _ => None,
            },
            _ => None,
        };
        let text = printed.unwrap_or_else(|| otherwise(inner));
        self.word().push_str(&text);
    }

    pub(super) fn nested(&mut self, inner: &str) -> Vec<Vec<Simple>> {
        parse_into(inner, self.vars, self.depth + 1, self.script)
    }

    /// Substitutions inside a text that itself is data.
    pub(super) fn nested_if_any(&mut self, data: &str) {
        if data.contains("$(") || data.contains('`') {
            // As one quoted word, so that only the substitutions run.
            self.nested(&format!(": \"{}\"", data.replace('"', "")));
        }
    }
}
