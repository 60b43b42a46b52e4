//! The dialects: pure functions between vendors' JSON and what a script speaks of.
//!
//! A new dialect is one module and one row of [`DIALECTS`].

mod bedrock;
mod chat;
mod gemini;
mod messages;
mod responses;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use bytes::Bytes;
use serde_json::Value;

use crate::answer::Answer;
use crate::prompt::Prompt;

pub(crate) use chat::models as openai_models;
pub(crate) use gemini::models as gemini_models;
pub(crate) use messages::models as anthropic_models;

/// How one vendor's API looks from outside.
pub(crate) struct Dialect {
    /// How the path of a request ends. What comes before differs from host to host.
    pub path: &'static str,
    /// The response header with the request's id.
    pub request_id: &'static str,
    pub streams: Streams,
    pub framing: Framing,
    pub read: fn(&Value) -> Prompt,
    /// An answer as a stream; the request tells what it should hold.
    pub encode: fn(&Answer, request: &Value) -> Vec<Event>,
    /// An answer as one body.
    pub encode_whole: fn(&Answer) -> Value,
    /// The body of an error response.
    pub error: fn(status: u16, message: &str) -> Value,
    /// What the vendor calls an error in a header, if it does.
    pub error_kind: Option<fn(status: u16) -> &'static str>,
}

/// What decides whether an answer is a stream.
#[derive(Clone, Copy)]
pub(crate) enum Streams {
    /// The request's `stream`.
    IfAsked,
    /// The path.
    Always,
    Never,
}

/// What a stream is made of.
#[derive(Clone, Copy)]
pub(crate) enum Framing {
    ServerSentEvents,
    /// Amazon's binary messages.
    Amazon,
}

static DIALECTS: [&Dialect; 9] = [
    &chat::DIALECT,
    &responses::DIALECT,
    &messages::DIALECT,
    &gemini::STREAMED,
    &gemini::WHOLE,
    &bedrock::CONVERSE_STREAM,
    &bedrock::CONVERSE,
    &bedrock::INVOKE_STREAM,
    &bedrock::INVOKE,
];

/// The dialect of requests to `path`.
pub(crate) fn at(path: &str) -> Option<&'static Dialect> {
    DIALECTS
        .into_iter()
        .find(|dialect| path.ends_with(dialect.path))
}

impl Dialect {
    /// What a request to `path` asks.
    pub fn prompt(&self, path: &str, body: &Value) -> Prompt {
        let mut prompt = (self.read)(body);
        prompt.stream = match self.streams {
            Streams::IfAsked => prompt.stream,
            Streams::Always => true,
            Streams::Never => false,
        };
        if prompt.model.is_empty() {
            prompt.model = model_in(path).unwrap_or_default();
        }
        prompt
    }

    pub fn stream_type(&self) -> &'static str {
        match self.framing {
            Framing::ServerSentEvents => "text/event-stream; charset=utf-8",
            Framing::Amazon => "application/vnd.amazon.eventstream",
        }
    }
}

/// The model in `…/models/NAME:method` or `…/model/NAME/method`.
fn model_in(path: &str) -> Option<String> {
    let (_, rest) = path
        .split_once("/models/")
        .or_else(|| path.split_once("/model/"))?;
    let name = rest.rsplit_once([':', '/']).map_or(rest, |(name, _)| name);
    let mut bytes = Vec::new();
    let mut pieces = name.split('%');
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let (code, plain) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(plain.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// One event of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    name: Option<String>,
    data: String,
    /// Amazon has another kind of message for errors.
    is_exception: bool,
}

impl Event {
    pub fn data(data: impl ToString) -> Self {
        Self {
            name: None,
            data: data.to_string(),
            is_exception: false,
        }
    }

    /// An event named like the `type` of its data.
    pub fn typed(data: &Value) -> Self {
        Self {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
            is_exception: false,
        }
    }

    pub fn named(name: &str, data: impl ToString) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..Self::data(data)
        }
    }

    pub fn exception(name: &str, data: impl ToString) -> Self {
        Self {
            is_exception: true,
            ..Self::named(name, data)
        }
    }

    pub fn bytes(&self, framing: Framing) -> Bytes {
        let data = &self.data;
        match (framing, &self.name) {
            (Framing::Amazon, _) => self.message(),
            (_, Some(name)) => format!("event: {name}\ndata: {data}\n\n").into(),
            (_, None) => format!("data: {data}\n\n").into(),
        }
    }

    fn message(&self) -> Bytes {
        let (kind, key) = match self.is_exception {
            true => ("exception", ":exception-type"),
            false => ("event", ":event-type"),
        };
        let name = self.name.clone().unwrap_or_default();
        let header =
            |key: &'static str, value: String| Header::new(key, HeaderValue::String(value.into()));
        let message = Message::new(self.data.clone())
            .add_header(header(key, name))
            .add_header(header(":content-type", "application/json".to_owned()))
            .add_header(header(":message-type", kind.to_owned()));
        let mut bytes = Vec::new();
        // Fails only for sizes no script has.
        let _ = write_message_to(&message, &mut bytes);
        bytes.into()
    }
}

/// `part`, with a field only if there is a value for it.
fn with(mut part: Value, key: &str, value: Option<impl Into<Value>>) -> Value {
    if let Some(value) = value {
        part[key] = value.into();
    }
    part
}
