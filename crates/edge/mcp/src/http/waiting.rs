//! Requests whose answers come on a stream they share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_net::sse::Event;
use serde_json::Value;
use tokio::sync::oneshot;

use super::answer::Outcome;
use super::body;
use super::fate::closed_by_us;
use crate::classify;
use crate::failure::{Class, Failure};
use crate::link::{Inbound, Inbox};
use crate::message::{self, Message};

/// All of them, by id.
#[derive(Clone, Default)]
pub(super) struct Waiting {
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    slots: HashMap<u64, oneshot::Sender<Outcome>>,
    /// Why no answer can come any more.
    ended: Option<Failure>,
}

/// One request that waits; forgotten when dropped.
pub(super) struct Slot {
    id: u64,
    waiting: Waiting,
    answer: oneshot::Receiver<Outcome>,
}

impl Waiting {
    /// Fails if the stream is gone already: then there is no point in sending the request.
    pub(super) fn enter(&self, id: u64) -> Result<Slot, Failure> {
        let mut table = self.lock();
        if let Some(ended) = &table.ended {
            let class = match ended.class {
                Class::SessionLost => Class::SessionLost,
                _ => Class::NotSent,
            };
            return Err(Failure {
                class,
                ..ended.clone()
            });
        }
        let (sender, answer) = oneshot::channel();
        table.slots.insert(id, sender);
        Ok(Slot {
            id,
            waiting: self.clone(),
            answer,
        })
    }

    /// Takes what came on the shared stream. Fails if it says that the session is gone.
    pub(super) async fn deliver(&self, event: Event, inbox: &Inbox) -> Result<(), Failure> {
        let Ok(value) = body::parse(event.data.into_bytes()).await else {
            tracing::debug!("an event that is not JSON was skipped");
            return Ok(());
        };
        let batch = match value {
            Value::Array(batch) => batch,
            one => vec![one],
        };
        for value in batch {
            match message::read(value) {
                Some(Message::Own(body)) => {
                    // Without anybody to read it, nobody misses it.
                    let _ = inbox.send(Inbound { origin: None, body }).await;
                }
                Some(Message::Answer { id, body }) => {
                    self.answer(id.as_ref(), body.map_err(|error| classify::rpc(&error)))?;
                }
                Some(Message::LooseError(text)) => {
                    self.answer(None, Err(classify::loose(&text)))?
                }
                None => tracing::debug!("an event that is no message was skipped"),
            }
        }
        Ok(())
    }

    fn answer(&self, id: Option<&Value>, outcome: Outcome) -> Result<(), Failure> {
        let mut table = self.lock();
        let found = id.and_then(number).and_then(|id| table.slots.remove(&id));
        match (found, outcome) {
            (Some(slot), outcome) => {
                // It may just have been given up.
                let _ = slot.send(outcome);
                Ok(())
            }
            (None, Err(failure)) if failure.class == Class::SessionLost => Err(failure),
            // An error without an address can only be for the one that waits.
            (None, Err(failure)) if id.is_none() && table.slots.len() == 1 => {
                for (_, slot) in table.slots.drain() {
                    let _ = slot.send(Err(failure.clone()));
                }
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    /// The stream is gone: nobody will be answered any more.
    pub(super) fn end(&self, why: &Failure) {
        let mut table = self.lock();
        for (_, slot) in table.slots.drain() {
            let _ = slot.send(Err(why.clone()));
        }
        table.ended.get_or_insert_with(|| why.clone());
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    pub(super) async fn answer(&mut self) -> Outcome {
        match (&mut self.answer).await {
            Ok(outcome) => outcome,
            Err(_) => Err(closed_by_us()),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.waiting.lock().slots.remove(&self.id);
    }
}

/// Some servers turn numbers into text.
fn number(id: &Value) -> Option<u64> {
    match id {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}
