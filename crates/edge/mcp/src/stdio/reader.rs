//! Hears the child: answers go to those who wait, everything else to the inbox.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::keeper::Outgoing;
use super::link::line;
use super::pending::Pending;
use crate::classify;
use crate::config::ServerConfig;
use crate::link::{Inbound, InboundBody, Inbox};
use crate::message::{self, Message};
use crate::redact::redact;

const CHUNK: usize = 64 * 1024;
/// A line longer than this is read elsewhere, and its room is given back.
const LONG: usize = 256 * 1024;
/// How long answers may be held up by a full inbox. After that, what does not fit is dropped.
const PATIENCE: Duration = Duration::from_millis(500);
const BUSY: i64 = -32000;

pub(super) struct Reader {
    config: Arc<ServerConfig>,
    pending: Arc<Pending>,
    inbox: Inbox,
    /// For refusing questions that find no room.
    lines: mpsc::Sender<Outgoing>,
    /// Lines that were no message.
    junk: u64,
    /// Messages that found no room.
    dropped: u64,
    /// Nobody took anything from the full inbox for a while.
    is_stuck: bool,
}

/// Why nothing more will be heard.
#[derive(Debug)]
pub(super) enum OutputEnd {
    Closed,
    Broken(io::Error),
    /// A line of more bytes than this.
    TooLong(usize),
}

impl Reader {
    pub(super) fn new(
        config: Arc<ServerConfig>,
        pending: Arc<Pending>,
        inbox: Inbox,
        lines: mpsc::Sender<Outgoing>,
    ) -> Self {
        Self {
            config,
            pending,
            inbox,
            lines,
            junk: 0,
            dropped: 0,
            is_stuck: false,
        }
    }

    pub(super) async fn run(mut self, output: impl AsyncRead + Unpin) -> OutputEnd {
        let limit = self.config.max_response_bytes;
        let mut output = BufReader::with_capacity(CHUNK, output);
        let mut line = Vec::new();
        loop {
            line.clear();
            line.shrink_to(LONG);
            let mut bounded = (&mut output).take(limit as u64 + 1);
            match bounded.read_until(b'\n', &mut line).await {
                Ok(0) => return OutputEnd::Closed,
                Ok(_) if line.len() > limit && !line.ends_with(b"\n") => {
                    return OutputEnd::TooLong(limit);
                }
                Ok(_) => self.hear(&mut line).await,
                Err(error) => return OutputEnd::Broken(error),
            }
        }
    }

    async fn hear(&mut self, line: &mut Vec<u8>) {
        match line.trim_ascii_start().first() {
            None => return,
            Some(b'{' | b'[') => {}
            Some(_) => return self.skip(line),
        }
        let parsed = match line.len() < LONG {
            true => parse(line),
            false => {
                let long = std::mem::take(line);
                // A parser that fails for lack of a thread leaves the request to its deadline.
                let parsed = spawn_blocking(move || parse(&long)).await;
                parsed.unwrap_or_default()
            }
        };
        match parsed {
            Some(Value::Array(batch)) => {
                for value in batch {
                    self.receive(value, line).await;
                }
            }
            Some(value) => self.receive(value, line).await,
            None => self.skip(line),
        }
    }

    async fn receive(&mut self, value: Value, line: &[u8]) {
        let is_rpc = value.get("jsonrpc").is_some();
        match message::read(value) {
            Some(Message::Own(body)) => self.hand_over(body).await,
            Some(Message::Answer { id: Some(id), body }) => {
                let outcome = body.map_err(|error| classify::rpc(&error));
                self.pending.answer(&id, outcome);
            }
            Some(Message::Answer {
                id: None,
                body: Err(error),
            }) if is_rpc => self.pending.answer_only(classify::rpc(&error)),
            // Loggers that write JSON with an `error` in it are no servers that answer.
            _ => self.skip(line),
        }
    }

    /// A full inbox slows the child down, but answers behind it get through after a moment.
    async fn hand_over(&mut self, body: InboundBody) {
        let inbound = Inbound { origin: None, body };
        let refused = match self.inbox.try_send(inbound) {
            Ok(()) => {
                self.is_stuck = false;
                return;
            }
            Err(TrySendError::Full(inbound)) => inbound,
            // Without anybody to read it, nobody misses it.
            Err(TrySendError::Closed(_)) => return,
        };
        if !self.is_stuck {
            match timeout(PATIENCE, self.inbox.reserve()).await {
                Ok(Ok(room)) => return room.send(refused),
                Ok(Err(_)) => return,
                Err(_) => self.is_stuck = true,
            }
        }
        self.refuse(refused.body);
    }

    fn refuse(&mut self, body: InboundBody) {
        self.dropped += 1;
        if self.dropped.is_power_of_two() {
            let (server, dropped) = (&self.config.name, self.dropped);
            tracing::debug!(server, dropped, "messages found no room");
        }
        if let InboundBody::Request { id, .. } = body {
            let error = json!({"code": BUSY, "message": "too many messages at a time"});
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
            // A child that neither reads nor waits for us is not owed more.
            let _ = self.lines.try_send(Outgoing {
                line: line(&answer),
                id: None,
            });
        }
    }

    /// Counts a line that is no message, and tells of fewer and fewer of them.
    fn skip(&mut self, line: &[u8]) {
        self.junk += 1;
        if self.junk.is_power_of_two() && tracing::enabled!(tracing::Level::DEBUG) {
            let (server, junk) = (&self.config.name, self.junk);
            let beginning = String::from_utf8_lossy(&line[..line.len().min(1000)]);
            let shown = redact(&classify::excerpt(&beginning), &self.config.secrets());
            tracing::debug!(
                server,
                junk,
                "a line that is no message was skipped: {shown}"
            );
        }
    }
}

/// Text in another encoding than it should be is better than none.
fn parse(line: &[u8]) -> Option<Value> {
    match str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text).ok(),
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(line)).ok(),
    }
}
