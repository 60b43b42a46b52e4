//! Finds the answer to a request in what its exchange brings, and hands on everything else.

use hermes_net::sse::Event;
use serde_json::Value;

use super::body;
use crate::classify;
use crate::failure::{Class, Failure};
use crate::link::{Inbound, Inbox};
use crate::message::{self, Message};

/// A request that waits for its answer in its own exchange.
pub(super) struct Expected<'a> {
    pub id: Value,
    /// What messages beside the answer are about.
    pub origin: Option<u64>,
    pub inbox: &'a Inbox,
}

pub(super) type Outcome = Result<Value, Failure>;

impl Expected<'_> {
    /// Takes a whole body. Nothing can follow it, so if there is no answer in it, there is none.
    pub(super) async fn in_body(&self, text: Vec<u8>) -> Outcome {
        if text.is_empty() {
            return Err(unanswered());
        }
        let beginning = String::from_utf8_lossy(&text[..text.len().min(1000)]).into_owned();
        match body::parse(text).await {
            Ok(value) => self.take(value).await.unwrap_or_else(|| Err(unanswered())),
            Err(error) => Err(garbage(&error, &beginning)),
        }
    }

    /// Takes an event. `None`: it wasn't the answer.
    pub(super) async fn in_event(&self, event: Event) -> Option<Outcome> {
        // Servers keep a stream open with events of other names, and sometimes report errors with them.
        let is_message = matches!(&*event.name, "" | "message");
        if event.data.is_empty() {
            return None;
        }
        let beginning: String = event.data.chars().take(300).collect();
        match body::parse(event.data.into_bytes()).await {
            Ok(value) => self.take(value).await,
            Err(error) => is_message.then(|| Err(garbage(&error, &beginning))),
        }
    }

    async fn take(&self, value: Value) -> Option<Outcome> {
        let batch = match value {
            Value::Array(batch) => batch,
            one => vec![one],
        };
        let mut outcome = None;
        for value in batch {
            let found = self.take_one(value).await;
            outcome = outcome.or(found);
        }
        outcome
    }

    async fn take_one(&self, value: Value) -> Option<Outcome> {
        match message::read(value)? {
            Message::Answer {
                id,
                body: Ok(result),
            } if is_same(id.as_ref(), &self.id) => Some(Ok(result)),
            Message::Answer { body: Ok(_), .. } => Some(Err(foreign())),
            // An error belongs to the exchange it came in, whether or not it says so.
            Message::Answer {
                body: Err(error), ..
            } => Some(Err(classify::rpc(&error))),
            Message::LooseError(text) => Some(Err(classify::loose(&text))),
            Message::Own(body) => {
                let origin = self.origin;
                // Without anybody to read it, nobody misses it.
                let _ = self.inbox.send(Inbound { origin, body }).await;
                None
            }
        }
    }
}

/// Whether an id is ours; some servers turn numbers into text.
fn is_same(id: Option<&Value>, ours: &Value) -> bool {
    match id {
        Some(Value::String(text)) if ours.is_number() => {
            text.parse().is_ok_and(|number: u64| *ours == number)
        }
        Some(id) => id == ours,
        None => false,
    }
}

pub(super) fn protocol(message: impl Into<String>) -> Failure {
    Failure::new(Class::Protocol, "Protocol error", message)
}

/// The exchange is over.
pub(super) fn unanswered() -> Failure {
    protocol("the exchange ended without an answer")
}

fn foreign() -> Failure {
    protocol("the answer is for another request")
}

fn garbage(error: &str, beginning: &str) -> Failure {
    let excerpt = classify::excerpt(beginning);
    protocol(format!("the answer is not JSON ({error}): {excerpt}"))
}
