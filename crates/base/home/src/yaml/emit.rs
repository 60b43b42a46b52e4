//! Writing values so that both programs read them back as what they were.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::node::Layout;
use super::scalar;

/// A whole document, in block layout.
pub fn document(value: &Value) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => join(&entries(map, 0)),
        Value::Array(items) if !items.is_empty() => join(&list(items, 0)),
        other => inline(other, Layout::Block) + "\n",
    }
}

/// The lines of a mapping, `indent` spaces in.
pub fn entries(map: &Map<String, Value>, indent: usize) -> Vec<String> {
    map.iter()
        .flat_map(|(name, value)| entry(name, value, indent))
        .collect()
}

/// The lines of one `key: value`.
pub fn entry(name: &str, value: &Value, indent: usize) -> Vec<String> {
    let head = format!("{:indent$}{}:", "", key(name, Layout::Block));
    let mut lines = vec![head];
    match nested(value, indent + 2) {
        Some(more) => lines.extend(more),
        None => {
            let _ = write!(lines[0], " {}", inline(value, Layout::Block)); // writing to a String cannot fail
        }
    }
    lines
}

/// The lines of one `- value`.
pub fn item(value: &Value, indent: usize) -> Vec<String> {
    let Some(mut lines) = nested(value, indent + 2) else {
        return vec![format!("{:indent$}- {}", "", inline(value, Layout::Block))];
    };
    // The first line of the nested block stands behind the dash.
    if let Some(first) = lines.first_mut() {
        *first = format!("{:indent$}- {}", "", first.trim_start());
    }
    lines
}

/// The lines of a collection that deserves lines of its own.
pub fn nested(value: &Value, indent: usize) -> Option<Vec<String>> {
    match value {
        Value::Object(map) if !map.is_empty() => Some(entries(map, indent)),
        Value::Array(items) if !items.is_empty() => Some(list(items, indent)),
        _ => None,
    }
}

fn list(items: &[Value], indent: usize) -> Vec<String> {
    items.iter().flat_map(|value| item(value, indent)).collect()
}

/// A value on one line.
pub fn inline(value: &Value, layout: Layout) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => self::number(number),
        Value::String(text) if plain_is_safe(text, layout) => text.clone(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| inline(item, Layout::Flow))
                .collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<_> = map
                .iter()
                .map(|(name, value)| flow_entry(name, value))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `key: value` inside braces.
pub fn flow_entry(name: &str, value: &Value) -> String {
    format!(
        "{}: {}",
        key(name, Layout::Flow),
        inline(value, Layout::Flow)
    )
}

fn key(name: &str, layout: Layout) -> String {
    if plain_is_safe(name, layout) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// YAML 1.1 takes a number for a float only with a dot, and an exponent only with its sign.
fn number(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let dot = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) {
        ""
    } else {
        "+"
    };
    format!("{mantissa}{dot}e{sign}{exponent}")
}

/// Whether the text can stand without quotes and still be this text to either program.
fn plain_is_safe(text: &str, layout: Layout) -> bool {
    const INDICATORS: &[char] = &[
        '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@',
        '`', '=', '<',
    ];
    let looks_like_a_date = text.len() >= 8
        && text.as_bytes()[4] == b'-'
        && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    !text.starts_with(INDICATORS)
        && !looks_like_a_date
        && text.trim() == text
        && !text.contains(": ")
        && !text.ends_with(':')
        && !text.contains(" #")
        && !text.chars().any(needs_escape)
        && !(layout == Layout::Flow && text.contains([',', '[', ']', '{', '}', ':']))
        && scalar::plain(text) == text
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => {
                let _ = write!(out, "\\u{:04x}", c as u32); // writing to a String cannot fail
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters the Python reader refuses or treats as a line break.
fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn join(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}
