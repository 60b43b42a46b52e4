//! What servers offer and answer, read tolerantly: a block we don't know is kept as it is.

use serde_json::{Map, Value};

/// A tool as the server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    /// As the server sent it; `Null` if it sent none.
    pub input_schema: Value,
    pub reads_only: bool,
    pub is_idempotent: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    pub uri: String,
    pub name: String,
    pub description: Option<String>,
    pub mime_type: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub name: String,
    pub description: Option<String>,
    /// `None` if the server said nothing about arguments.
    pub arguments: Option<Vec<PromptArgument>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PromptArgument {
    pub name: String,
    pub description: Option<String>,
    pub required: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessages {
    pub description: Option<String>,
    pub messages: Vec<PromptMessage>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    pub role: String,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub content: Vec<Content>,
    /// `Some(Null)` if the server sent an explicit null.
    pub structured: Option<Value>,
    pub is_error: bool,
}

/// One block of content.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    /// Still in base64.
    Image {
        data: String,
        mime_type: String,
    },
    Audio {
        data: String,
        mime_type: String,
    },
    Embedded(ResourceContents),
    Link(Resource),
    Other(Value),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContents {
    pub uri: String,
    pub mime_type: Option<String>,
    pub body: ResourceBody,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ResourceBody {
    Text(String),
    /// Still in base64.
    Blob(String),
}

impl Tool {
    /// `None` for what has no name: such a tool cannot be called.
    pub(crate) fn read(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        let hint = |fields: &Map<String, Value>, name| {
            fields
                .get("annotations")
                .and_then(|hints| hints.get(name))
                .and_then(Value::as_bool)
        };
        Some(Self {
            reads_only: hint(fields, "readOnlyHint").unwrap_or(false),
            is_idempotent: hint(fields, "idempotentHint").unwrap_or(false),
            name: text(fields, "name")?,
            title: text(fields, "title"),
            description: text(fields, "description").unwrap_or_default(),
            input_schema: fields.remove("inputSchema").unwrap_or(Value::Null),
        })
    }
}

impl Resource {
    pub(crate) fn read(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        Some(Self {
            uri: text(fields, "uri")?,
            name: text(fields, "name").unwrap_or_default(),
            description: text(fields, "description"),
            mime_type: text(fields, "mimeType"),
        })
    }
}

impl Prompt {
    pub(crate) fn read(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        let arguments = match fields.remove("arguments") {
            Some(Value::Array(list)) => {
                Some(list.into_iter().filter_map(PromptArgument::read).collect())
            }
            _ => None,
        };
        Some(Self {
            name: text(fields, "name")?,
            description: text(fields, "description"),
            arguments,
        })
    }
}

impl PromptArgument {
    fn read(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        Some(Self {
            name: text(fields, "name")?,
            description: text(fields, "description"),
            required: fields.get("required").and_then(Value::as_bool),
        })
    }
}

impl PromptMessages {
    pub(crate) fn read(mut value: Value) -> Self {
        let messages = list(&mut value, "messages")
            .into_iter()
            .filter_map(PromptMessage::read);
        let messages = messages.collect();
        let description = value
            .as_object_mut()
            .and_then(|fields| text(fields, "description"));
        Self {
            description,
            messages,
        }
    }
}

impl PromptMessage {
    fn read(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        Some(Self {
            role: text(fields, "role").unwrap_or_default(),
            content: Content::read(fields.remove("content")?),
        })
    }
}

impl ToolResult {
    pub(crate) fn read(mut value: Value) -> Self {
        let content = list(&mut value, "content")
            .into_iter()
            .map(Content::read)
            .collect();
        let fields = value.as_object_mut();
        let structured = fields.and_then(|fields| fields.remove("structuredContent"));
        let is_error = value
            .get("isError")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        Self {
            content,
            structured,
            is_error,
        }
    }
}

impl Content {
    pub(crate) fn read(mut value: Value) -> Self {
        Self::known(&mut value).unwrap_or(Self::Other(value))
    }

    /// Takes the block apart only when everything it needs is there.
    fn known(value: &mut Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        let kind = fields.get("type")?.as_str()?.to_owned();
        let media = |fields: &mut Map<String, Value>| {
            let mime_type = fields
                .get("mimeType")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            Some((text(fields, "data")?, mime_type))
        };
        match kind.as_str() {
            "text" => text(fields, "text").map(Self::Text),
            "image" => media(fields).map(|(data, mime_type)| Self::Image { data, mime_type }),
            "audio" => media(fields).map(|(data, mime_type)| Self::Audio { data, mime_type }),
            "resource" => {
                let resource = fields.get_mut("resource")?;
                ResourceContents::take(resource).map(Self::Embedded)
            }
            "resource_link" => Resource::read(value.clone()).map(Self::Link),
            _ => None,
        }
    }
}

impl ResourceContents {
    pub(crate) fn read(mut value: Value) -> Option<Self> {
        Self::take(&mut value)
    }

    fn take(value: &mut Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        let body = match text(fields, "text") {
            Some(text) => ResourceBody::Text(text),
            None => ResourceBody::Blob(text(fields, "blob")?),
        };
        Some(Self {
            uri: text(fields, "uri").unwrap_or_default(),
            mime_type: text(fields, "mimeType"),
            body,
        })
    }
}

/// Takes a text out, without copying it: results can be large.
fn text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.get_mut(name)?.take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Takes the list of that name out.
pub(crate) fn list(value: &mut Value, name: &str) -> Vec<Value> {
    match value.get_mut(name).map(Value::take) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_are_read_and_odd_ones_kept() {
        let check = |value: Value, expected: Content| assert_eq!(Content::read(value), expected);
        check(
            json!({"type": "text", "text": "a"}),
            Content::Text("a".to_owned()),
        );
        check(
            json!({"type": "image", "data": "aGk=", "mimeType": "image/png"}),
            Content::Image {
                data: "aGk=".to_owned(),
                mime_type: "image/png".to_owned(),
            },
        );
        check(
            json!({"type": "resource", "resource": {"uri": "x:y", "blob": "aGk="}}),
            Content::Embedded(ResourceContents {
                uri: "x:y".to_owned(),
                mime_type: None,
                body: ResourceBody::Blob("aGk=".to_owned()),
            }),
        );
        for odd in [
            json!({"type": "hologram", "data": 1}),
            json!(7),
            json!({"type": "resource"}),
        ] {
            check(odd.clone(), Content::Other(odd));
        }
    }

    #[test]
    fn an_explicit_null_is_an_answer() {
        let result = ToolResult::read(json!({"structuredContent": null}));
        assert_eq!(result.structured, Some(Value::Null));
        assert_eq!(ToolResult::read(json!({})).structured, None);
        assert!(ToolResult::read(json!({"isError": true})).is_error);
    }

    #[test]
    fn hints_of_a_tool() {
        let tool = Tool::read(json!({"name": "a", "annotations": {"readOnlyHint": true}})).unwrap();
        assert!(tool.reads_only && !tool.is_idempotent);
        assert_eq!(tool.input_schema, Value::Null);
        assert_eq!(Tool::read(json!({"description": "nameless"})), None);
    }
}
