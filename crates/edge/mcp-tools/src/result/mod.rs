//! What the model reads of an answer: one JSON object, whatever the server sent.

mod cache;

use hermes_mcp::{
    Answer, Content, Prompt, PromptMessages, Resource, ResourceBody, ResourceContents, ToolResult,
};
use hermes_types::ToolOutput;
use serde_json::{Map, Value, json};

pub use cache::Caches;
use cache::{Stored, decoded_len};

use crate::redact::Secrets;

/// What rendering an answer needs to know about its server.
#[derive(Clone, Debug)]
pub struct Shelf {
    pub caches: Caches,
    pub secrets: Secrets,
    /// The advertised name of this server's tool that reads a resource, if it has one.
    pub reader: Option<String>,
}

impl Shelf {
    /// Writes images and documents to disk on the way: call it where blocking is allowed.
    pub fn output(&self, answer: Answer) -> ToolOutput {
        match answer {
            Answer::Tool(result) => self.tool(result),
            Answer::Resources(list) => {
                let list: Vec<_> = list.into_iter().map(resource).collect();
                ToolOutput::json(&json!({ "resources": list }))
            }
            Answer::Contents(list) => ToolOutput::json(&json!({"result": texts(list)})),
            Answer::Prompts(list) => {
                let list: Vec<_> = list.into_iter().map(prompt).collect();
                ToolOutput::json(&json!({ "prompts": list }))
            }
            Answer::Prompt(messages) => ToolOutput::json(&prompt_messages(messages)),
        }
    }

    fn tool(&self, result: ToolResult) -> ToolOutput {
        if result.is_error {
            return ToolOutput::failed(self.secrets.hide(&error_text(result.content)));
        }
        let blocks: Vec<String> = result
            .content
            .into_iter()
            .map(|block| self.block(block))
            .collect();
        let text = blocks.join("\n");
        let document = match result.structured {
            None => json!({ "result": text }),
            Some(structured) if text.is_empty() => json!({ "result": structured }),
            Some(structured) => json!({"result": text, "structuredContent": structured}),
        };
        ToolOutput::json(&document)
    }

    /// One block as text. Nothing a server sends can fail the call.
    fn block(&self, block: Content) -> String {
        match block {
            Content::Text(text) => text,
            Content::Image { data, mime_type } => {
                let stored = self.caches.image(&data, &mime_type);
                media("image", stored, &data, &mime_type)
            }
            Content::Audio { data, mime_type } => {
                let stored = self.caches.audio(&data, &mime_type);
                media("audio", stored, &data, &mime_type)
            }
            Content::Embedded(contents) => self.embedded(contents),
            Content::Link(link) => self.link(&link),
            Content::Other(value) => {
                let kind = value
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or("unknown");
                format!("[content of type {} is not supported]", inline(kind))
            }
        }
    }

    fn embedded(&self, contents: ResourceContents) -> String {
        let data = match contents.body {
            ResourceBody::Text(text) => return text,
            ResourceBody::Blob(data) => data,
        };
        let mime = contents.mime_type.unwrap_or_default();
        let about = about(&mime, decoded_len(&data));
        match self.caches.document(&data, &contents.uri, &mime) {
            Stored::At(path, size) => {
                let about = self::about(&mime, size);
                format!("[resource saved to {}: {about}]", path.display())
            }
            Stored::TooLarge => format!("[resource not saved, too large: {about}]"),
            Stored::Failed(why) => format!("[resource not saved, {why}: {about}]"),
        }
    }

    fn link(&self, link: &Resource) -> String {
        let mut note = format!("[resource {}", inline(&link.uri));
        let facts = [
            ("name", Some(&link.name)),
            ("type", link.mime_type.as_ref()),
        ];
        for (label, fact) in facts {
            if let Some(fact) = fact.filter(|fact| !fact.is_empty()) {
                note.push_str(&format!(", {label} {}", inline(fact)));
            }
        }
        if let Some(reader) = &self.reader {
            note.push_str(&format!("; read it with {reader}"));
        }
        note + "]"
    }
}

fn media(kind: &str, stored: Stored, data: &str, mime: &str) -> String {
    let about = about(mime, decoded_len(data));
    match stored {
        Stored::At(path, _) => format!("MEDIA:{}", path.display()),
        Stored::TooLarge => format!("[{kind} not saved, too large: {about}]"),
        Stored::Failed(why) => format!("[{kind} not saved, {why}: {about}]"),
    }
}

fn about(mime: &str, size: usize) -> String {
    let mime = match mime {
        "" => "unknown type".to_owned(),
        mime => inline(mime),
    };
    format!("{mime}, {size} bytes")
}

/// What a server wrote, on one line.
fn inline(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(500).collect()
}

fn error_text(blocks: Vec<Content>) -> String {
    let text = |block| match block {
        Content::Text(text) => Some(text),
        Content::Embedded(ResourceContents {
            body: ResourceBody::Text(text),
            ..
        }) => Some(text),
        _ => None,
    };
    let text = blocks
        .into_iter()
        .filter_map(text)
        .collect::<Vec<_>>()
        .join("\n");
    match text.trim().is_empty() {
        true => "The MCP tool returned an error without a message".to_owned(),
        false => text,
    }
}

fn texts(list: Vec<ResourceContents>) -> String {
    let text = |contents: ResourceContents| match contents.body {
        ResourceBody::Text(text) => text,
        ResourceBody::Blob(data) => format!("[binary data, {} bytes]", decoded_len(&data)),
    };
    list.into_iter().map(text).collect::<Vec<_>>().join("\n")
}

fn resource(resource: Resource) -> Value {
    let Resource {
        uri,
        name,
        description,
        mime_type,
    } = resource;
    let mut fields = Map::from_iter([
        ("uri".to_owned(), uri.into()),
        ("name".to_owned(), name.into()),
    ]);
    add(&mut fields, "description", description);
    add(&mut fields, "mimeType", mime_type);
    fields.into()
}

fn prompt(prompt: Prompt) -> Value {
    let mut fields = Map::from_iter([("name".to_owned(), prompt.name.into())]);
    add(&mut fields, "description", prompt.description);
    let arguments = prompt.arguments.map(|list| -> Value {
        let argument = |argument: hermes_mcp::PromptArgument| {
            let mut fields = Map::from_iter([("name".to_owned(), argument.name.into())]);
            add(&mut fields, "description", argument.description);
            add(&mut fields, "required", argument.required);
            Value::Object(fields)
        };
        list.into_iter().map(argument).collect()
    });
    add(&mut fields, "arguments", arguments);
    fields.into()
}

fn prompt_messages(prompt: PromptMessages) -> Value {
    let message = |message: hermes_mcp::PromptMessage| {
        let content = match message.content {
            Content::Text(text) => text,
            other => raw(other).to_string(),
        };
        json!({"role": message.role, "content": content})
    };
    let messages: Value = prompt.messages.into_iter().map(message).collect();
    let mut fields = Map::from_iter([("messages".to_owned(), messages)]);
    add(&mut fields, "description", prompt.description);
    fields.into()
}

/// A block as it came.
fn raw(block: Content) -> Value {
    match block {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => {
            json!({"type": "image", "data": data, "mimeType": mime_type})
        }
        Content::Audio { data, mime_type } => {
            json!({"type": "audio", "data": data, "mimeType": mime_type})
        }
        Content::Embedded(contents) => {
            let mut fields = Map::from_iter([("uri".to_owned(), contents.uri.into())]);
            add(&mut fields, "mimeType", contents.mime_type);
            match contents.body {
                ResourceBody::Text(text) => add(&mut fields, "text", Some(text)),
                ResourceBody::Blob(data) => add(&mut fields, "blob", Some(data)),
            }
            json!({"type": "resource", "resource": fields})
        }
        Content::Link(link) => {
            let mut link = resource(link);
            link["type"] = "resource_link".into();
            link
        }
        Content::Other(value) => value,
    }
}

fn add(fields: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests;
