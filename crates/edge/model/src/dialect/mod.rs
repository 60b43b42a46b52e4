//! The languages servers speak: pure functions between a conversation and a vendor's JSON.
//!
//! A dialect is a module with `encode` and a decoder, and a variant here. It knows no network; how requests
//! travel, fail and are sent again is the client's business.

mod anthropic;
mod bedrock;
mod cache;
mod calls;
mod chat;
mod content;
mod gemini;
mod responses;
mod sampling;

use hermes_net::sse::Event;
use hermes_types::{Finish, Message, ModelRequest, Role, SessionId, ToolCall, Usage};
use reqwest::Url;
use serde_json::Value;

use crate::auth::chatgpt_account;
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
    /// The same in Responses, where thinking and messages are items of a list.
    pub reasoning_items: Option<Value>,
    pub message_items: Option<Value>,
}

/// Why an event or a body could not be taken as part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It isn't what this dialect says.
    Malformed(String),
    /// The server reports an error where its reply should be.
    Reported(Value),
}

/// Writes the request for a route. What belongs to one session has its id on it, where a server wants to know.
pub fn encode(route: &Route, request: &ModelRequest, session: &SessionId) -> Wire {
    let mut wire = match route.mode {
        Mode::ChatCompletions => chat::encode(route, request),
        Mode::AnthropicMessages => anthropic::encode(route, request),
        Mode::CodexResponses => responses::encode(route, request, session),
        Mode::Gemini => gemini::encode(route, request),
        Mode::BedrockConverse => bedrock::converse::encode(route, request),
        Mode::BedrockAnthropic => bedrock::claude::encode(route, request),
    };
    wire.headers.extend(headers(route, session));
    wire
}

/// What the route's quirks put beside a dialect's own headers.
fn headers(route: &Route, session: &SessionId) -> Vec<(String, String)> {
    let quirks = &route.quirks;
    let fixed = quirks.headers.iter();
    let fixed = fixed.map(|(name, value)| (name.clone(), value.clone()));
    let of_session = quirks.session_headers.iter();
    let of_session = of_session.map(|name| (name.clone(), session.as_str().to_owned()));
    let of_key = quirks.account_header.iter();
    let of_key =
        of_key.filter_map(|name| Some((name.clone(), chatgpt_account(route.key.expose())?)));
    fixed.chain(of_session).chain(of_key).collect()
}

/// Reads a streamed reply event by event.
#[derive(Debug)]
pub struct Decoder(Kind);

#[derive(Debug)]
enum Kind {
    Chat(chat::Decoder),
    Anthropic(anthropic::Decoder),
    Responses(responses::Decoder),
    Gemini(gemini::Decoder),
    Converse(bedrock::converse::Decoder),
    Claude(bedrock::claude::Decoder),
}

impl Decoder {
    pub fn new(mode: Mode) -> Self {
        Self(match mode {
            Mode::ChatCompletions => Kind::Chat(chat::Decoder::default()),
            Mode::AnthropicMessages => Kind::Anthropic(anthropic::Decoder::default()),
            Mode::CodexResponses => Kind::Responses(responses::Decoder::default()),
            Mode::Gemini => Kind::Gemini(gemini::Decoder::default()),
            Mode::BedrockConverse => Kind::Converse(bedrock::converse::Decoder::default()),
            Mode::BedrockAnthropic => Kind::Claude(bedrock::claude::Decoder::default()),
        })
    }

    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        match &mut self.0 {
            Kind::Chat(decoder) => decoder.push(event),
            Kind::Anthropic(decoder) => decoder.push(event),
            Kind::Responses(decoder) => decoder.push(event),
            Kind::Gemini(decoder) => decoder.push(event),
            Kind::Converse(decoder) => decoder.push(event),
            Kind::Claude(decoder) => decoder.push(event),
        }
    }

    /// The server has said that nothing more will come. Some keep the connection open all the same.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Kind::Chat(decoder) => decoder.is_done,
            Kind::Anthropic(decoder) => decoder.is_done,
            Kind::Responses(decoder) => decoder.is_done,
            // Says so only by closing the connection.
            Kind::Gemini(_) => false,
            Kind::Converse(decoder) => decoder.is_done,
            Kind::Claude(decoder) => decoder.is_done(),
        }
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        match self.0 {
            Kind::Chat(decoder) => decoder.finish(),
            Kind::Anthropic(decoder) => decoder.finish(),
            Kind::Responses(decoder) => decoder.finish(),
            Kind::Gemini(decoder) => decoder.finish(),
            Kind::Converse(decoder) => decoder.finish(),
            Kind::Claude(decoder) => decoder.finish(),
        }
    }
}

/// Reads a reply that came as one body.
pub fn decode_whole(mode: Mode, body: &str) -> Result<(Vec<Delta>, Ending), Fault> {
    match mode {
        Mode::ChatCompletions => chat::decode_whole(body),
        Mode::AnthropicMessages | Mode::BedrockAnthropic => anthropic::decode_whole(body),
        Mode::CodexResponses => responses::decode_whole(body),
        Mode::Gemini => gemini::decode_whole(body),
        Mode::BedrockConverse => bedrock::converse::decode_whole(body),
    }
}

/// The header with the key; none if the server wants none, or a signature instead.
pub fn auth_header(route: &Route) -> Option<(&'static str, String)> {
    let key = route.key.expose();
    match route.quirks.auth {
        _ if key.is_empty() || route.key.as_pair().is_some() => None,
        _ if route.mode == Mode::Gemini => Some(("x-goog-api-key", key.to_owned())),
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

/// A path with a model's name in it; some names have colons and slashes.
fn model_path(before: &str, model: &str, after: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let name: String = model
        .bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect();
    format!("{before}{name}{after}")
}

/// Whether a message holds nothing that other dialects than Responses could send: a step of thinking in items.
fn is_only_items(message: &Message) -> bool {
    let says = |message: &Message| {
        let content = message.content.as_ref();
        content.is_some_and(|content| !content.plain().trim().is_empty())
    };
    message.role == Role::Assistant
        && (message.codex_reasoning_items.is_some() || message.codex_message_items.is_some())
        && message.tool_calls.is_empty()
        && !says(message)
}

/// The arguments of a call as an object. Only old history can hold others, and these vendors take nothing else.
fn arguments(call: &ToolCall) -> Value {
    let mut arguments = serde_json::from_str(&call.function.arguments)
        .ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    arguments.sort_all_objects();
    arguments
}

/// The type and the data of a picture that is written out in its address.
fn inline(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// What stands there, taken out; `null` if nothing does, whatever the server sent instead.
fn take(value: &mut Value, pointer: &str) -> Value {
    value
        .pointer_mut(pointer)
        .map(Value::take)
        .unwrap_or_default()
}

/// A server's text as data of this dialect.
fn parse<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        let beginning: String = text.chars().take(80).collect();
        Fault::Malformed(format!("the reply is unreadable ({error}): {beginning}"))
    })
}
