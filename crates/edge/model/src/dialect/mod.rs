//! The languages servers speak: pure functions between a conversation and a vendor's JSON.
//!
//! A dialect is a module with `encode` and a decoder, and a variant here. It knows no network; how requests
//! travel, fail and are sent again is the client's business.

mod anthropic;
mod cache;
mod calls;
mod chat;
mod content;

use hermes_net::sse::Event;
use hermes_types::{Finish, ModelRequest, ToolCall, Usage};
use reqwest::Url;
use serde_json::Value;

use crate::route::{Auth, Mode, Route};

/// A request, ready to be posted.
#[derive(Clone, Debug)]
pub struct Wire {
    pub url: Url,
    /// The key's header isn't among them: what is logged or compared holds no secret.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// May still hold think tags.
    Text(String),
    Reasoning(String),
    /// A call of this tool has begun.
    Call(String),
}

/// What is known when a reply is over, beside the deltas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ending {
    pub calls: Vec<ToolCall>,
    /// `None`: it broke off before the server said it was finished.
    pub finish: Option<Finish>,
    pub usage: Usage,
    /// Opaque blocks to send back, as they came.
    pub reasoning_details: Option<Value>,
}

/// Why an event or a body could not be taken as part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It isn't what this dialect says.
    Malformed(String),
    /// The server reports an error where its reply should be.
    Reported(Value),
}

/// Writes the request for a route.
pub fn encode(route: &Route, request: &ModelRequest) -> Wire {
    match route.mode {
        Mode::ChatCompletions => chat::encode(route, request),
        Mode::AnthropicMessages => anthropic::encode(route, request),
    }
}

/// Reads a streamed reply event by event.
#[derive(Debug)]
pub struct Decoder(Kind);

#[derive(Debug)]
enum Kind {
    Chat(chat::Decoder),
    Anthropic(anthropic::Decoder),
}

impl Decoder {
    pub fn new(mode: Mode) -> Self {
        Self(match mode {
            Mode::ChatCompletions => Kind::Chat(chat::Decoder::default()),
            Mode::AnthropicMessages => Kind::Anthropic(anthropic::Decoder::default()),
        })
    }

    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        match &mut self.0 {
            Kind::Chat(decoder) => decoder.push(event),
            Kind::Anthropic(decoder) => decoder.push(event),
        }
    }

    /// The server has said that nothing more will come. Some keep the connection open all the same.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Kind::Chat(decoder) => decoder.is_done,
            Kind::Anthropic(decoder) => decoder.is_done,
        }
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        match self.0 {
            Kind::Chat(decoder) => decoder.finish(),
            Kind::Anthropic(decoder) => decoder.finish(),
        }
    }
}

/// Reads a reply that came as one body.
pub fn decode_whole(mode: Mode, body: &str) -> Result<(Vec<Delta>, Ending), Fault> {
    match mode {
        Mode::ChatCompletions => chat::decode_whole(body),
        Mode::AnthropicMessages => anthropic::decode_whole(body),
    }
}

/// The header with the key; none if the server wants none.
pub fn auth_header(route: &Route) -> Option<(&'static str, String)> {
    let key = route.key.expose();
    match route.quirks.auth {
        _ if key.is_empty() => None,
        Auth::ApiKeyHeader if !is_login_token(key) => Some(("x-api-key", key.to_owned())),
        Auth::Bearer | Auth::ApiKeyHeader => Some(("authorization", format!("Bearer {key}"))),
    }
}

/// Tokens from a login look different from keys, and are shown differently.
fn is_login_token(key: &str) -> bool {
    let is_token = key.starts_with("sk-ant-") && !key.starts_with("sk-ant-api");
    is_token || key.starts_with("eyJ") || key.starts_with("cc-")
}

/// `base` with `path` added; the query stays where it is.
fn join(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let joined = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&joined);
    url
}

/// A server's text as data of this dialect.
fn parse<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        let beginning: String = text.chars().take(80).collect();
        Fault::Malformed(format!("the reply is unreadable ({error}): {beginning}"))
    })
}
