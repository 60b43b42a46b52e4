//! `${…}`: a variable, and what is done with its value.

use std::mem;

use super::word::Quoting;
use super::words::{SEPARATOR, plain};
use super::{MAX_DEPTH, Reader};

impl Reader<'_, '_> {
    /// Behind `${`. A default or a replacement is taken as if it were used.
    pub(super) fn parameter(&mut self, from: usize, quoting: Quoting) {
        if self.depth >= MAX_DEPTH {
            self.script.cut = true;
            return self.word().push_str("${");
        }
        self.depth += 1;
        self.resolve(from, quoting);
        self.depth -= 1;
    }

    fn resolve(&mut self, from: usize, quoting: Quoting) {
        let indirect = self.take_if('!');
        let length = !indirect && self.take_if('#');
        let name = self.name();
        let index = self.index();
        let operator = self.operation();
        let operand = self.operand(operator, quoting);
        let value = self
            .value(&name)
            .map(|value| element(&value, index.as_deref()));
        let value = match (indirect, length) {
            (true, _) => value.and_then(|value| self.value(&value)),
            (_, true) => value.map(|value| value.chars().count().to_string()),
            _ => value,
        };
        match changed(value, operator, &operand) {
            Some(text) => {
                if self.grows_by(text.len()) {
                    self.insert(&text, quoting);
                }
            }
            None => self.keep_as_written(from, "${_}"),
        }
    }

    fn index(&mut self) -> Option<String> {
        if !self.take_if('[') {
            return None;
        }
        let from = self.pos;
        while self.peek().is_some_and(|c| c != ']' && c != '}') {
            let c = self.take();
            // What stands in the index can run, too.
            if c == Some('$') {
                let before = self.frame.word.take();
                self.dollar(Quoting::Double);
                self.frame.word = before;
            }
        }
        let index = self.written(from);
        self.take_if(']');
        Some(index)
    }

    fn operation(&mut self) -> &'static str {
        let (first, second) = (self.peek(), self.text.get(self.pos + 1).copied());
        let operator = match (first, second) {
            (Some(':'), Some('-' | '=')) => ":-",
            (Some(':'), Some('+')) => ":+",
            (Some(':'), Some('?')) => ":?",
            (Some('-' | '='), _) => "-",
            (Some('+'), _) => "+",
            (Some('?'), _) => "?",
            (Some(':'), _) => ":",
            (Some('#'), Some('#')) => "##",
            (Some('%'), Some('%')) => "%%",
            (Some('/'), Some('/')) => "//",
            (Some('^'), Some('^')) => "^^",
            (Some(','), Some(',')) => ",,",
            (Some('#'), _) => "#",
            (Some('%'), _) => "%",
            (Some('/'), _) => "/",
            (Some('^'), _) => "^",
            (Some(','), _) => ",",
            _ => "",
        };
        self.pos += operator.len();
        operator
    }

    /// Everything up to the brace, in which again anything may stand.
    fn operand(&mut self, operator: &str, quoting: Quoting) -> String {
        let (word, quoted) = (self.frame.word.take(), self.frame.quoted);
        self.word();
        let pattern = matches!(operator, "#" | "##" | "%" | "%%" | "/" | "//");
        let mut open = 0;
        loop {
            match self.take() {
                None => {
                    self.malformed();
                    break;
                }
                Some('}') if open == 0 => break,
                Some('}') => {
                    open -= 1;
                    self.word().push('}');
                }
                Some('{') if quoting == Quoting::Bare => {
                    open += 1;
                    self.word().push('{');
                }
                Some('"') => self.double_quoted(),
                // Between double quotes a single one is only special in a pattern.
                Some('\'') if quoting == Quoting::Bare || pattern => self.single_quoted(),
                Some(c) => self.quoted_part(c),
            }
        }
        self.frame.quoted = quoted;
        let operand = mem::replace(&mut self.frame.word, word);
        plain(&operand.unwrap_or_default())
    }
}

/// `None`: nothing is known, it stays as written.
fn changed(value: Option<String>, operator: &str, operand: &str) -> Option<String> {
    match (operator, value) {
        (":-" | "-" | ":+" | "+", None) => Some(operand.to_owned()),
        (":+" | "+", Some(_)) => Some(operand.to_owned()),
        ("/" | "//", None) => Some(replacement(operand).1.to_owned()),
        (_, None) => None,
        ("#" | "##", Some(value)) => Some(value.strip_prefix(operand).unwrap_or(&value).to_owned()),
        ("%" | "%%", Some(value)) => Some(value.strip_suffix(operand).unwrap_or(&value).to_owned()),
        ("/" | "//", Some(value)) => {
            let (old, new) = replacement(operand);
            Some(match (old.is_empty(), operator) {
                (true, _) => value,
                (_, "/") => value.replacen(old, new, 1),
                _ => value.replace(old, new),
            })
        }
        (":", Some(value)) => Some(slice(&value, operand)),
        ("^^" | "^", Some(value)) => Some(value.to_uppercase()),
        (",," | ",", Some(value)) => Some(value.to_lowercase()),
        (_, Some(value)) => Some(value),
    }
}

fn replacement(operand: &str) -> (&str, &str) {
    operand.split_once('/').unwrap_or((operand, ""))
}

/// `${x:1:2}`
fn slice(value: &str, operand: &str) -> String {
    let mut numbers = operand
        .split(':')
        .map(|number| number.trim().parse::<i64>());
    let count = value.chars().count() as i64;
    let Some(Ok(start)) = numbers.next() else {
        return value.to_owned();
    };
    let start = if start < 0 { count + start } else { start }.max(0);
    let length = match numbers.next() {
        Some(Ok(length)) if length >= 0 => length,
        Some(Ok(from_end)) => count + from_end - start,
        _ => count,
    };
    let (start, length) = (start as usize, length.max(0) as usize);
    value.chars().skip(start).take(length).collect()
}

/// One of an array's elements, or all of them.
fn element(value: &str, index: Option<&str>) -> String {
    match index.map(str::parse::<usize>) {
        Some(Ok(index)) => value
            .split(SEPARATOR)
            .nth(index)
            .unwrap_or_default()
            .to_owned(),
        _ => value.to_owned(),
    }
}
