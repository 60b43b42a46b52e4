//! The dialects: pure functions between vendors' JSON and what a script speaks of.
//!
//! A new dialect is one module and one row of [`DIALECTS`].

mod chat;
mod messages;
mod responses;

use bytes::Bytes;
use serde_json::Value;

use crate::answer::Answer;
use crate::prompt::Prompt;

pub(crate) use chat::models as openai_models;
pub(crate) use messages::models as anthropic_models;

/// How one vendor's API looks from outside.
pub(crate) struct Dialect {
    /// How the path of a request ends. What comes before differs from host to host.
    pub path: &'static str,
    /// The response header with the request's id.
    pub request_id: &'static str,
    pub read: fn(&Value) -> Prompt,
    /// An answer as a stream; the request tells what it should hold.
    pub encode: fn(&Answer, request: &Value) -> Vec<Event>,
    /// An answer as one body.
    pub encode_whole: fn(&Answer) -> Value,
    /// The body of an error response.
    pub error: fn(status: u16, message: &str) -> Value,
}

static DIALECTS: [&Dialect; 3] = [&chat::DIALECT, &responses::DIALECT, &messages::DIALECT];

/// The dialect of requests to `path`.
pub(crate) fn at(path: &str) -> Option<&'static Dialect> {
    DIALECTS
        .into_iter()
        .find(|dialect| path.ends_with(dialect.path))
}

/// One server-sent event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    name: Option<String>,
    data: String,
}

impl Event {
    pub fn data(data: impl ToString) -> Self {
        Self {
            name: None,
            data: data.to_string(),
        }
    }

    /// An event named like the `type` of its data.
    pub fn typed(data: &Value) -> Self {
        Self {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
        }
    }

    pub fn bytes(&self) -> Bytes {
        let data = &self.data;
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {data}\n\n").into(),
            None => format!("data: {data}\n\n").into(),
        }
    }
}

/// `part`, with a field only if there is a value for it.
fn with(mut part: Value, key: &str, value: Option<impl Into<Value>>) -> Value {
    if let Some(value) = value {
        part[key] = value.into();
    }
    part
}
