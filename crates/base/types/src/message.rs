//! A conversation's messages, in the OpenAI chat shape that is also what lies on disk.
//!
//! Whatever fields a provider or another program added are kept in `extra`, so reading and writing a
//! message never loses anything.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// One entry of a conversation. The system prompt is stored with the session, not here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    #[serde(default)]
    pub content: Option<Content>,
    /// The tool a `tool` message answers for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The model's thinking, for display only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Thinking that must be sent back; an empty text is not the same as none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Opaque provider blocks, replayed as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_reasoning_items: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_message_items: Option<Value>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Who speaks. A role we don't know is kept by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
    Other(String),
}

/// Plain text, or a list of parts when there is more than text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
    /// Any other JSON a server or an older program left there.
    Other(Value),
}

/// One piece of structured content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    Known(KnownPart),
    Other(Value),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KnownPart {
    Text {
        text: String,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    ImageUrl {
        image_url: ImageUrl,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageUrl {
    pub url: String,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What an image is by its first bytes, as in `image/png`; `None` if no model takes such images.
pub fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("gif"),
        bytes if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => Some("webp"),
        _ => None,
    }
}

/// A model's wish to run a tool. `arguments` is the text the model wrote, valid JSON or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    #[serde(default)]
    pub id: String,
    #[serde(rename = "type", default = "function")]
    pub kind: String,
    pub function: FunctionCall,
    /// `call_id`, `response_item_id`, `extra_content` and whatever else must come back unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    pub name: String,
    #[serde(default)]
    pub arguments: String,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn function() -> String {
    "function".to_owned()
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Message {
    /// A message of `role` that says `text` and nothing else.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: Some(Content::Text(text.into())),
            name: None,
            tool_call_id: None,
            tool_calls: Vec::new(),
            finish_reason: None,
            reasoning: None,
            reasoning_content: None,
            reasoning_details: None,
            codex_reasoning_items: None,
            codex_message_items: None,
            extra: Map::new(),
        }
    }

    pub fn user(text: impl Into<String>) -> Self {
        Self::text(Role::User, text)
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text(Role::Assistant, text)
    }

    /// The answer to the call `id` of tool `name`.
    pub fn tool(id: impl Into<String>, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            name: Some(name.into()),
            ..Self::text(Role::Tool, text)
        }
    }
}

impl Content {
    /// What a person would read of it: texts joined by newlines, a placeholder for each image.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .filter_map(Part::plain)
                .collect::<Vec<_>>()
                .join("\n"),
            Self::Other(Value::Null) => String::new(),
            Self::Other(value) => value.to_string(),
        }
    }
}

impl Part {
    fn plain(&self) -> Option<&str> {
        match self {
            Self::Known(KnownPart::Text { text, .. }) => Some(text),
            Self::Known(KnownPart::ImageUrl { .. }) => Some("[image]"),
            Self::Other(value) => value.get("text").and_then(Value::as_str),
        }
    }
}

impl Role {
    pub fn as_str(&self) -> &str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for Role {
    fn from(name: &str) -> Self {
        match name {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Reading and writing gives back every field that was there.
    fn check_round_trip(value: &Value) {
        let message: Message = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(&serde_json::to_value(&message).unwrap(), value);
    }

    #[test]
    fn messages_keep_what_they_do_not_know() {
        check_round_trip(&json!({"role": "user", "content": "hi"}));
        check_round_trip(&json!({"role": "user", "content": [
            {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "data:x", "detail": "high"}, "note": 1},
            {"type": "input_audio", "input_audio": {"data": "…"}},
            "bare text",
        ]}));
        check_round_trip(
            &json!({"role": "assistant", "content": null, "reasoning_content": "",
            "reasoning_details": [{"type": "x", "sig": "abc"}], "provider_field": {"a": [1, 2]},
            "tool_calls": [{"id": "call_1", "type": "function", "call_id": "call_1",
                "response_item_id": "fc_1", "extra_content": {"google": {"thought_signature": "s"}},
                "function": {"name": "f", "arguments": "{\"a\":", "strict": true}}]}),
        );
        check_round_trip(&json!({"role": "session_meta", "content": {"odd": true}}));
    }

    #[test]
    fn plain_text_of_content() {
        let check = |content: Value, expected: &str| {
            let content: Content = serde_json::from_value(content).unwrap();
            assert_eq!(content.plain(), expected);
        };
        check(json!("a"), "a");
        check(
            json!([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]),
            "a\n[image]",
        );
        check(json!([{"type": "output_text", "text": "b"}]), "b");
        check(json!({"k": 1}), "{\"k\":1}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_content_survives(content in any_json(), note in any_json()) {
            check_round_trip(&json!({"role": "tool", "content": content, "x_note": note}));
        }
    }
}
