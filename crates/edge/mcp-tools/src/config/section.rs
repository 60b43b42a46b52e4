//! Reading one section tolerantly: what is odd is noted and the default holds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

/// Longer waits are meant as "for ever", and arithmetic with them must not overflow.
const LONGEST: f64 = 1e9;

/// What the owner should be told about one server.
#[derive(Debug)]
pub(super) struct Notes {
    server: String,
    warnings: RefCell<Vec<String>>,
}

impl Notes {
    pub fn new(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            warnings: RefCell::default(),
        }
    }

    pub fn warn(&self, text: impl AsRef<str>) {
        let text = format!("MCP server '{}': {}", self.server, text.as_ref());
        self.warnings.borrow_mut().push(text);
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    pub fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }
}

/// One map of a configuration, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    map: Option<&'a Map<String, Value>>,
    path: String,
    notes: &'a Notes,
}

impl<'a> Section<'a> {
    pub fn new(map: &'a Map<String, Value>, notes: &'a Notes) -> Self {
        Self {
            map: Some(map),
            path: String::new(),
            notes,
        }
    }

    pub fn notes(&self) -> &'a Notes {
        self.notes
    }

    /// The value, if there is one; `key:` with nothing behind it counts as not set.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.map?.get(key).filter(|value| !value.is_null())
    }

    /// The section below `key`; empty if there is none.
    pub fn section(&self, key: &str) -> Self {
        let found = self.get(key);
        if found.is_some_and(|value| !value.is_object()) {
            self.odd(key, "a section with keys");
        }
        Self {
            map: found.and_then(Value::as_object),
            path: self.at(key),
            notes: self.notes,
        }
    }

    /// The trimmed text, if there is anything in it.
    pub fn text(&self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let Some(text) = scalar(value) else {
            self.odd(key, "a text");
            return None;
        };
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub fn boolish(&self, key: &str, default: bool) -> bool {
        let Some(value) = self.get(key) else {
            return default;
        };
        boolish(value).unwrap_or_else(|| {
            self.odd(key, "true or false");
            default
        })
    }

    /// A finite number, also when it is written as a text.
    pub fn number(&self, key: &str) -> Option<f64> {
        let value = self.get(key)?;
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number: &f64| number.is_finite());
        if number.is_none() {
            self.odd(key, "a number");
        }
        number
    }

    /// A time above zero.
    pub fn seconds(&self, key: &str, default: Duration) -> Duration {
        match self.number(key) {
            Some(number) if number > 0.0 => duration(number),
            Some(_) => {
                self.odd(key, "a number of seconds above 0");
                default
            }
            None => default,
        }
    }

    /// A time, or none: `0` switches it off.
    pub fn limit(&self, key: &str) -> Option<Duration> {
        match self.number(key)? {
            number if number < 0.0 => {
                self.odd(key, "0 or more seconds");
                None
            }
            number => Some(duration(number)).filter(|limit| !limit.is_zero()),
        }
    }

    /// A whole number from `least` on.
    pub fn count(&self, key: &str, least: u64, default: u64) -> u64 {
        match self.number(key) {
            Some(number) if number >= 0.0 && number.trunc() >= least as f64 => number as u64,
            Some(_) => {
                self.odd(key, &format!("a whole number from {least} on"));
                default
            }
            None => default,
        }
    }

    /// A list of texts; one text alone is a list of one.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        let value = self.get(key)?;
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts: Vec<String> = items.iter().filter_map(scalar).collect();
        if texts.len() < items.len() {
            self.odd(key, "a list of texts");
        }
        Some(texts)
    }

    /// A map of texts. What is neither text nor number nor switch is left out.
    pub fn texts(&self, key: &str) -> BTreeMap<String, String> {
        let section = self.section(key);
        let mut texts = BTreeMap::new();
        for (name, value) in section.map.into_iter().flatten() {
            match scalar(value) {
                Some(text) => drop(texts.insert(name.clone(), text)),
                None if value.is_null() => {}
                None => section.odd(name, "a text"),
            }
        }
        texts
    }

    /// One of some words; anything else is odd.
    pub fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)], default: T) -> T {
        let Some(text) = self.text(key) else {
            return default;
        };
        let found = words
            .iter()
            .find(|(word, _)| text.eq_ignore_ascii_case(word));
        found.map_or_else(
            || {
                let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                self.odd(key, &format!("one of {}", words.join(", ")));
                default
            },
            |(_, value)| *value,
        )
    }

    /// The value itself is not shown: it may be a misplaced secret.
    fn odd(&self, key: &str, expected: &str) {
        let key = self.at(key);
        self.notes
            .warn(format!("'{key}' expects {expected}; using the default"));
    }

    fn at(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }
}

/// `true`/1/yes/on and their opposites, in any case.
pub(super) fn boolish(value: &Value) -> Option<bool> {
    let text = scalar(value)?;
    match text.trim().to_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    /// What `read` makes of the value of `k`, and how many warnings that took.
    fn read<T>(value: Value, read: impl Fn(&Section<'_>) -> T) -> (T, usize) {
        let map = Map::from_iter([("k".to_owned(), value)]);
        let notes = Notes::new("s");
        let got = read(&Section::new(&map, &notes));
        (got, notes.into_warnings().len())
    }

    #[test]
    fn switches() {
        // The default is the other one, so that only the value can make it this one.
        let check = |value: Value, expected: bool| {
            let got = read(value.clone(), |section| section.boolish("k", !expected));
            assert_eq!(got, (expected, 0), "{value}");
        };
        for on in [
            json!(true),
            json!(1),
            json!(" YES "),
            json!("On"),
            json!("1"),
        ] {
            check(on, true);
        }
        for off in [
            json!(false),
            json!(0),
            json!("no"),
            json!("OFF"),
            json!("False"),
        ] {
            check(off, false);
        }
        for odd in [json!("maybe"), json!([]), json!(2)] {
            assert_eq!(read(odd, |section| section.boolish("k", true)), (true, 1));
        }
        assert_eq!(
            read(Value::Null, |section| section.boolish("k", true)),
            (true, 0)
        );
    }

    #[test]
    fn numbers() {
        let default = Duration::from_secs(7);
        let check = |value: Value, expected: f64, warnings: usize| {
            let got = read(value.clone(), |section| section.seconds("k", default));
            assert_eq!(
                got,
                (Duration::from_secs_f64(expected), warnings),
                "{value}"
            );
        };
        check(json!(3), 3.0, 0);
        check(json!("2.5"), 2.5, 0);
        check(json!("1e99"), LONGEST, 0);
        check(json!("inf"), 7.0, 1);
        check(json!("nan"), 7.0, 1);
        check(json!("soon"), 7.0, 1);
        check(json!(-1), 7.0, 1);
        check(json!(0), 7.0, 1);
        check(json!(true), 7.0, 1);
        let limit = |value| read(value, |section| section.limit("k"));
        assert_eq!(limit(json!(0)), (None, 0));
        assert_eq!(limit(json!(-5)), (None, 1));
        assert_eq!(limit(json!("60")), (Some(Duration::from_secs(60)), 0));
        let count = |value| read(value, |section| section.count("k", 1, 9));
        assert_eq!(count(json!("5")), (5, 0));
        assert_eq!(count(json!(0)), (9, 1));
        assert_eq!(count(json!(-3)), (9, 1));
    }

    #[test]
    fn lists_and_maps() {
        let list = |value| read(value, |section| section.list("k"));
        let of = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(list(json!("a")), (of(&["a"]), 0));
        assert_eq!(list(json!(["a", 1, true])), (of(&["a", "1", "true"]), 0));
        assert_eq!(list(json!(["a", {}])), (of(&["a"]), 1));
        assert_eq!(list(Value::Null), (None, 0));
        let texts = |value| read(value, |section| section.texts("k"));
        let map = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        assert_eq!(texts(json!({"a": 1, "b": null})), (map.clone(), 0));
        assert_eq!(texts(json!({"a": "1", "b": []})), (map, 1));
        assert_eq!(texts(json!("odd")), (BTreeMap::new(), 1));
    }
}
