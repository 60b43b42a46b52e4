//! A look at a URL before it is used: a web page is no MCP server, and saying so early saves a long wait.

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::json;
use tokio::time::timeout;

use super::body;
use super::channel::{Channel, Outgoing, content_type, is_json};
use super::events::EVENT_STREAM;
use super::site::{VERSION, setup, shown};
use super::streamable::FIRST_VERSION;
use crate::failure::Failure;
use crate::message;

const SESSION: &str = "mcp-session-id";

/// What the look at the URL brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing speaks against it.
    Fine,
    /// Nobody could be asked; another time, perhaps.
    Nothing,
}

/// Fails only if the URL certainly is no MCP server. Any doubt counts for it.
pub(super) async fn check(channel: &Channel) -> Result<Seen, Failure> {
    // Who has a token has talked to the server before, and who needs one would be turned away here.
    if !matches!(channel.site.auth.token().await, Ok(None)) {
        return Ok(Seen::Fine);
    }
    match timeout(channel.site.timing.preflight, look(channel)).await {
        Ok(seen) => seen,
        Err(_) => Ok(Seen::Fine),
    }
}

async fn look(channel: &Channel) -> Result<Seen, Failure> {
    let Ok(head) = channel.look(&asking(channel, Method::HEAD)).await else {
        return Ok(Seen::Nothing);
    };
    let head = match head.status().as_u16() {
        405 | 501 => match channel.look(&asking(channel, Method::GET)).await {
            Ok(head) => head,
            Err(_) => return Ok(Seen::Nothing),
        },
        _ => head,
    };
    let kind = content_type(&head);
    if !head.status().is_success() || kind.is_empty() || may_be_mcp(&kind) {
        return Ok(Seen::Fine);
    }
    drop(head);
    let Ok(answer) = channel.look(&initialize(channel)).await else {
        return Ok(Seen::Fine);
    };
    let session = answer.headers().get(SESSION).cloned();
    if speaks_mcp(answer, channel).await {
        if let Some(session) = session {
            let mut goodbye = asking(channel, Method::DELETE);
            goodbye
                .headers
                .insert(HeaderName::from_static(SESSION), session);
            // It was only a look; a server that keeps the session will drop it in time.
            let _ = channel.look(&goodbye).await;
        }
        return Ok(Seen::Fine);
    }
    let url = shown(&channel.site.url);
    let why = format!("{url} is not an MCP server: it answers with {kind}");
    Err(setup(&channel.site.name, &why))
}

async fn speaks_mcp(answer: Response, channel: &Channel) -> bool {
    let status = answer.status().as_u16();
    let is_plain = matches!(status, 200..300 | 400 | 404..=406 | 410 | 415 | 422);
    let kind = content_type(&answer);
    if !is_plain || kind.is_empty() || may_be_mcp(&kind) {
        return true;
    }
    let text = body::beginning(answer, channel.site.timing.error_body).await;
    let value = serde_json::from_str(&text).ok();
    value.and_then(message::read).is_some()
}

fn may_be_mcp(kind: &str) -> bool {
    is_json(kind) || kind == EVENT_STREAM
}

fn initialize(channel: &Channel) -> Outgoing {
    let client = json!({"name": "hermes", "version": env!("CARGO_PKG_VERSION")});
    let params =
        json!({"protocolVersion": FIRST_VERSION, "capabilities": {}, "clientInfo": client});
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let mut outgoing = asking(channel, Method::POST);
    outgoing.body = Bytes::from(message.to_string());
    outgoing
        .headers
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    outgoing
}

fn asking(channel: &Channel, method: Method) -> Outgoing {
    let mut headers = HeaderMap::new();
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("application/json, text/event-stream"),
    );
    // Some answer even a HEAD with a body: nobody should find it on a connection that is used again.
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if !channel.site.headers.contains_key(VERSION) {
        let version = HeaderValue::from_static(FIRST_VERSION);
        headers.insert(HeaderName::from_static(VERSION), version);
    }
    Outgoing {
        method,
        url: channel.site.url.clone(),
        headers,
        body: Bytes::new(),
        patience: channel.site.timing.preflight,
        has_session: false,
    }
}
