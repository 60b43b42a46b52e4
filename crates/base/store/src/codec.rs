//! Messages as rows: which field goes into which column, and back.

use hermes_types::{Content, Message, Role, ToolCall};
use jiff::Timestamp;
use rusqlite::{
    Row,
    types::{Value as Cell, ValueRef},
};
use serde_json::{Map, Value};
use tracing::warn;

use crate::time::moment;

/// A message with its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// Ascending in the order of writing; clocks are not that reliable.
    pub id: i64,
    pub at: Timestamp,
    pub message: Message,
}

/// Marks content that is JSON and not text. No text begins with a NUL.
const STRUCTURED: &str = "\0json:";

/// Every column a message may fill, in the order [`decode`] reads them.
pub(crate) const COLUMNS: [&str; 17] = [
    "id",
    "timestamp",
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "finish_reason",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "effect_disposition",
    "platform_message_id",
    "observed",
    "api_content",
];

/// The columns and cells of a message, all but its id, session and time. The last four exist only
/// in newer files; the caller leaves out what its file lacks.
pub(crate) fn encode(message: &Message) -> Vec<(&'static str, Cell)> {
    let extra = |key: &str| text_cell(message.extra.get(key).and_then(Value::as_str));
    let outside_id = match extra("platform_message_id") {
        Cell::Null => extra("message_id"),
        cell => cell,
    };
    let observed = message.extra.get("observed").and_then(Value::as_bool);
    vec![
        ("role", text_cell(Some(message.role.as_str()))),
        ("content", content_cell(message.content.as_ref())),
        ("tool_call_id", text_cell(message.tool_call_id.as_deref())),
        ("tool_calls", calls_cell(&message.tool_calls)),
        ("tool_name", text_cell(message.name.as_deref())),
        ("finish_reason", text_cell(message.finish_reason.as_deref())),
        ("reasoning", text_cell(message.reasoning.as_deref())),
        (
            "reasoning_content",
            text_cell(message.reasoning_content.as_deref()),
        ),
        (
            "reasoning_details",
            json_cell(message.reasoning_details.as_ref()),
        ),
        (
            "codex_reasoning_items",
            json_cell(message.codex_reasoning_items.as_ref()),
        ),
        (
            "codex_message_items",
            json_cell(message.codex_message_items.as_ref()),
        ),
        ("effect_disposition", extra("effect_disposition")),
        ("platform_message_id", outside_id),
        (
            "observed",
            Cell::Integer(i64::from(observed.unwrap_or(false))),
        ),
        ("api_content", extra("api_content")),
    ]
}

/// Reads a row that was selected with [`COLUMNS`].
pub(crate) fn decode(row: &Row<'_>) -> rusqlite::Result<StoredMessage> {
    let text =
        |index: usize| -> rusqlite::Result<Option<String>> { Ok(text_of(row.get_ref(index)?)) };
    let filled = |index: usize| Ok::<_, rusqlite::Error>(text(index)?.filter(|t| !t.is_empty()));
    let json = |index: usize| -> rusqlite::Result<Option<Value>> {
        Ok(filled(index)?.and_then(|t| serde_json::from_str(&t).ok()))
    };
    let mut extra = Map::new();
    for (index, key) in [
        (13, "effect_disposition"),
        (14, "message_id"),
        (16, "api_content"),
    ] {
        if let Some(value) = filled(index)? {
            extra.insert(key.to_owned(), Value::String(value));
        }
    }
    if matches!(row.get_ref(15)?, ValueRef::Integer(n) if n != 0) {
        extra.insert("observed".to_owned(), Value::Bool(true));
    }
    Ok(StoredMessage {
        id: row.get(0)?,
        at: moment(row.get(1)?),
        message: Message {
            role: Role::from(text(2)?.unwrap_or_default().as_str()),
            content: text(3)?.map(|t| decode_content(&t)),
            tool_call_id: filled(4)?,
            tool_calls: filled(5)?.map(|t| decode_calls(&t)).unwrap_or_default(),
            name: filled(6)?,
            finish_reason: filled(7)?,
            reasoning: filled(8)?,
            reasoning_content: text(9)?,
            reasoning_details: json(10)?,
            codex_reasoning_items: json(11)?,
            codex_message_items: json(12)?,
            extra,
        },
    })
}

/// What the content column holds for `content`.
pub(crate) fn encode_content(content: &Content) -> String {
    let value = match content {
        Content::Text(text) if !text.starts_with(STRUCTURED) => return text.clone(),
        Content::Text(text) => Value::from(text.as_str()),
        Content::Other(value) => value.clone(),
        // Parts are plain data: maps with text keys and finite numbers.
        Content::Parts(_) => serde_json::to_value(content).unwrap_or_default(),
    };
    format!("{STRUCTURED}{value}")
}

pub(crate) fn decode_content(stored: &str) -> Content {
    let structured = stored
        .strip_prefix(STRUCTURED)
        .and_then(|json| serde_json::from_str(json).ok());
    structured.unwrap_or_else(|| Content::Text(stored.to_owned()))
}

/// The content column as JSON, for export.
pub(crate) fn content_json(stored: &str) -> Value {
    stored
        .strip_prefix(STRUCTURED)
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_else(|| Value::from(stored))
}

/// Whatever is in the cell, as text: other programs and older versions were less strict.
pub(crate) fn text_of(cell: ValueRef<'_>) -> Option<String> {
    match cell {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

fn decode_calls(stored: &str) -> Vec<ToolCall> {
    let calls = match serde_json::from_str(stored) {
        Ok(Value::Array(calls)) => calls,
        Ok(call @ Value::Object(_)) => vec![call],
        Ok(_) => Vec::new(),
        Err(error) => {
            warn!("unreadable tool calls in state.db: {error}");
            Vec::new()
        }
    };
    calls.into_iter().filter_map(decode_call).collect()
}

/// Arguments are text in our types; some writers stored them as the object itself.
fn decode_call(mut call: Value) -> Option<ToolCall> {
    if let Some(arguments) = call.pointer_mut("/function/arguments")
        && !arguments.is_string()
    {
        *arguments = Value::String(arguments.to_string());
    }
    match serde_json::from_value(call) {
        Ok(call) => Some(call),
        Err(error) => {
            warn!("unreadable tool call in state.db: {error}");
            None
        }
    }
}

fn text_cell(text: Option<&str>) -> Cell {
    text.map_or(Cell::Null, |t| Cell::Text(t.to_owned()))
}

fn content_cell(content: Option<&Content>) -> Cell {
    match content {
        None | Some(Content::Other(Value::Null)) => Cell::Null,
        Some(content) => Cell::Text(encode_content(content)),
    }
}

fn calls_cell(calls: &[ToolCall]) -> Cell {
    if calls.is_empty() {
        return Cell::Null;
    }
    json_cell(serde_json::to_value(calls).ok().as_ref())
}

fn json_cell(value: Option<&Value>) -> Cell {
    match value {
        None | Some(Value::Null) => Cell::Null,
        Some(value) => Cell::Text(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(content: Content, stored: &str) {
        assert_eq!(encode_content(&content), stored);
        assert_eq!(decode_content(stored), content);
    }

    #[test]
    fn content_is_text_or_marked_json() {
        check(Content::Text("plain".into()), "plain");
        check(Content::Text(String::new()), "");
        check(Content::Text("[1]".into()), "[1]");
        check(
            serde_json::from_value(json!([{"type": "text", "text": "图"}])).unwrap(),
            "\0json:[{\"type\":\"text\",\"text\":\"图\"}]",
        );
        check(Content::Other(json!({"a": 1})), "\0json:{\"a\":1}");
        check(Content::Text("\0json:x".into()), "\0json:\"\\u0000json:x\"");
    }

    #[test]
    fn escaped_and_broken_json_can_be_read() {
        let escaped = "\0json:[{\"type\": \"text\", \"text\": \"\\u56fe\"}]";
        assert_eq!(decode_content(escaped).plain(), "图");
        let broken = "\0json:[{";
        assert_eq!(decode_content(broken), Content::Text(broken.into()));
    }

    #[test]
    fn calls_are_read_leniently() {
        let names = |stored: &str| -> Vec<(String, String)> {
            let calls = decode_calls(stored).into_iter();
            calls
                .map(|c| (c.function.name, c.function.arguments))
                .collect()
        };
        let check = |stored: &str, expected: &[(&str, &str)]| {
            let expected: Vec<_> = expected
                .iter()
                .map(|(n, a)| ((*n).to_owned(), (*a).to_owned()))
                .collect();
            assert_eq!(names(stored), expected);
        };
        check(
            r#"[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]"#,
            &[("f", "{}")],
        );
        check(
            r#"{"id":"1","function":{"name":"f","arguments":{"a":1}}}"#,
            &[("f", "{\"a\":1}")],
        );
        check(r#"[{"id":"1"},{"function":{"name":"g"}}]"#, &[("g", "")]);
        check("not json", &[]);
    }

    proptest! {
        #[test]
        fn any_text_survives(text in any::<String>(), marked in any::<bool>()) {
            let text = if marked { format!("{STRUCTURED}{text}") } else { text };
            let content = Content::Text(text);
            prop_assert_eq!(decode_content(&encode_content(&content)), content);
        }

        #[test]
        fn any_parts_survive(texts in prop::collection::vec(any::<String>(), 0..4)) {
            let parts: Vec<Value> = texts.iter().map(|t| json!({"type": "text", "text": t})).collect();
            let content: Content = serde_json::from_value(Value::Array(parts)).unwrap();
            prop_assert_eq!(decode_content(&encode_content(&content)), content);
        }
    }
}
