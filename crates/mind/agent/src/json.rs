//! Reading the JSON that models write, which is almost JSON.

use serde_json::{Map, Value};

/// What an argument string turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    Object(Map<String, Value>),
    /// It breaks off in the middle; what is missing cannot be known, so it must not run.
    Truncated,
    /// It is whole but not an object; the parser's reason.
    Invalid(String),
}

/// Surplus closing brackets to forgive.
const MAX_SURPLUS: usize = 50;

/// Reads a call's arguments, forgiving what has only one possible meaning.
pub fn arguments(text: &str) -> Parsed {
    let text = text.trim();
    if matches!(text, "" | "None" | "null") {
        return Parsed::Object(Map::new());
    }
    let reason = match serde_json::from_str(text) {
        Ok(value) => return object(value),
        Err(error) => error.to_string(),
    };
    let shape = Shape::of(text);
    if shape.in_string || !text.ends_with(['}', ']']) || !shape.open.is_empty() {
        return Parsed::Truncated;
    }
    repairs(text, &shape)
        .find_map(|repaired| serde_json::from_str(&repaired).ok())
        .map_or(Parsed::Invalid(reason), object)
}

fn object(value: Value) -> Parsed {
    match value {
        Value::Object(map) => Parsed::Object(map),
        // Some models encode twice.
        Value::String(inner) if inner.trim_start().starts_with('{') => arguments(&inner),
        other => Parsed::Invalid(format!("expected an object, found {other}")),
    }
}

/// Gentler repairs first; each builds on the one before.
fn repairs(text: &str, shape: &Shape) -> impl Iterator<Item = String> {
    let escaped = escape_controls(text);
    let commas = without_trailing_commas(&escaped);
    let surplus =
        (shape.surplus > 0 && shape.surplus <= MAX_SURPLUS).then(|| without_surplus(&commas));
    [Some(escaped), Some(commas), surplus].into_iter().flatten()
}

/// The brackets of a text, strings aside.
struct Shape {
    open: Vec<char>,
    surplus: usize,
    in_string: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let mut shape = Self {
            open: Vec::new(),
            surplus: 0,
            in_string: false,
        };
        let mut escaped = false;
        for c in text.chars() {
            if shape.in_string {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '"' => shape.in_string = false,
                    _ => {}
                }
                continue;
            }
            match c {
                '"' => shape.in_string = true,
                '{' | '[' => shape.open.push(c),
                '}' | ']' if shape.open.pop().is_none() => shape.surplus += 1,
                _ => {}
            }
        }
        shape
    }
}

/// Walks a text; `outside` sees what stands between strings, `inside` what stands in them.
fn map_chars(text: &str, mut each: impl FnMut(char, bool, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let was_inside = in_string;
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else if c == '"' {
            in_string = true;
        }
        match each(c, was_inside && in_string, rest) {
            Some(instead) => out.push_str(&instead),
            None => out.push(c),
        }
    }
    out
}

/// Raw line breaks and tabs inside strings.
fn escape_controls(text: &str) -> String {
    map_chars(text, |c, inside, _| {
        (inside && c.is_control()).then(|| format!("\\u{:04x}", c as u32))
    })
}

fn without_trailing_commas(text: &str) -> String {
    map_chars(text, |c, inside, rest| {
        (!inside && c == ',' && rest.trim_start().starts_with(['}', ']'])).then(String::new)
    })
}

fn without_surplus(text: &str) -> String {
    let mut depth = 0_usize;
    map_chars(text, |c, inside, _| {
        if inside {
            return None;
        }
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 0 => return Some(String::new()),
            '}' | ']' => depth -= 1,
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Parsed {
        match value {
            Value::Object(map) => Parsed::Object(map),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn almost_json_is_read_and_cut_json_is_not() {
        let check = |text: &str, expected: Parsed| assert_eq!(arguments(text), expected, "{text}");
        check("", object(json!({})));
        check(" None ", object(json!({})));
        check("null", object(json!({})));
        check(r#"{"a": 1}"#, object(json!({"a": 1})));
        check(
            r#"{"command": "echo a",}"#,
            object(json!({"command": "echo a"})),
        );
        check(r#"{"a": [1, 2,], }"#, object(json!({"a": [1, 2]})));
        check(
            "{\"a\": \"line\none\ttab\"}",
            object(json!({"a": "line\none\ttab"})),
        );
        check(r#"{"a": 1}}}"#, object(json!({"a": 1})));
        check(r#""{\"a\": 1}""#, object(json!({"a": 1})));
        check(r#"{"a": "x,}"}"#, object(json!({"a": "x,}"})));
        for cut in [
            r#"{"path":"x","content":"abc"#,
            r#"{"a": [1"#,
            r#"{"a": {"b": 1}"#,
            "{",
            r#"{"a": "b\"}"#,
            r#"{"a": tru"#,
        ] {
            check(cut, Parsed::Truncated);
        }
        for wrong in ["[1]", "7}", r#"{"a": nope}"#, r#"{a: 1}"#] {
            assert!(
                matches!(arguments(wrong), Parsed::Invalid(_)),
                "{wrong}: {:?}",
                arguments(wrong)
            );
        }
    }

    proptest! {
        /// A prefix of an object is never run as if it were whole.
        #[test]
        fn no_cut_object_is_ever_an_object(text in "[a-z \"\\\\{}\\[\\],:]{0,20}", cut in 0.05f64..0.95) {
            let whole = json!({"path": "x", "content": text}).to_string();
            let end = (1..whole.len()).rev().find(|at| whole.is_char_boundary(*at) && (*at as f64) <= whole.len() as f64 * cut);
            if let Some(end) = end {
                prop_assert_eq!(arguments(&whole[..end]), Parsed::Truncated);
            }
        }

        #[test]
        fn anything_goes_without_panic(text in "\\PC{0,60}") {
            let _ = arguments(&text);
        }
    }
}
