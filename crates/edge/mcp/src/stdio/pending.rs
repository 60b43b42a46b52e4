//! Requests that wait for their answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::calls::locked;
use crate::failure::{Class, Failure};

pub(super) type Outcome = Result<Value, Failure>;

/// All of them, by id.
#[derive(Default)]
pub(super) struct Pending {
    table: Mutex<Table>,
    /// No answer can come any more.
    ended: CancellationToken,
}

#[derive(Default)]
struct Table {
    waiting: HashMap<u64, Waiting>,
    /// Why no answer can come any more.
    failure: Option<Failure>,
}

struct Waiting {
    answer: oneshot::Sender<Outcome>,
    /// Where in the stream of all bytes for the child it is complete. `None`: it is still in the queue.
    ends_at: Option<u64>,
}

/// One request that waits; forgotten when dropped.
pub(super) struct Slot {
    id: u64,
    pending: Arc<Pending>,
    answer: oneshot::Receiver<Outcome>,
}

/// How it ended for all that still wait.
pub(super) struct End {
    pub failure: Failure,
    /// What it is for requests the child may have seen.
    pub in_flight: Class,
    /// How many bytes the child may have seen. Nobody can act on a part of a message.
    pub delivered: u64,
}

impl Pending {
    pub(super) fn enter(self: &Arc<Self>, id: u64) -> Result<Slot, Failure> {
        let mut table = locked(&self.table);
        if let Some(failure) = &table.failure {
            return Err(with_class(failure, Class::NotSent));
        }
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting {
            answer: sender,
            ends_at: None,
        };
        table.waiting.insert(id, waiting);
        Ok(Slot {
            id,
            pending: Arc::clone(self),
            answer,
        })
    }

    /// A request is about to be written, up to `end`. `false`: nobody wants it any more.
    pub(super) fn begin(&self, id: u64, end: u64) -> bool {
        match locked(&self.table).waiting.get_mut(&id) {
            Some(waiting) => {
                waiting.ends_at = Some(end);
                true
            }
            None => false,
        }
    }

    pub(super) fn answer(&self, id: &Value, outcome: Outcome) {
        let waiting = number(id).and_then(|id| locked(&self.table).waiting.remove(&id));
        match waiting {
            // It may be given up at this very moment.
            Some(waiting) => drop(waiting.answer.send(outcome)),
            None => tracing::debug!(%id, "an answer nobody waits for was ignored"),
        }
    }

    /// An error without an address belongs to the request in flight, if there is exactly one.
    pub(super) fn answer_only(&self, failure: Failure) {
        let mut table = locked(&self.table);
        let begun = table
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.ends_at.is_some());
        let ids: Vec<u64> = begun.map(|(id, _)| *id).collect();
        let only = match ids[..] {
            [id] => table.waiting.remove(&id),
            _ => None,
        };
        match only {
            Some(waiting) => drop(waiting.answer.send(Err(failure))),
            None => tracing::debug!(%failure, "an error without an address was ignored"),
        }
    }

    /// Nobody will be answered any more. Only the first end counts.
    pub(super) fn end(&self, end: End) {
        let mut table = locked(&self.table);
        for (_, waiting) in table.waiting.drain() {
            let is_seen = waiting.ends_at.is_some_and(|at| at <= end.delivered);
            let class = match is_seen {
                true => end.in_flight.clone(),
                false => Class::NotSent,
            };
            let _ = waiting.answer.send(Err(with_class(&end.failure, class)));
        }
        table.failure.get_or_insert(end.failure);
        drop(table);
        self.ended.cancel();
    }

    /// Waits for the end, and says why.
    pub(super) async fn ended(&self) -> Failure {
        self.ended.cancelled().await;
        let failure = locked(&self.table).failure.clone();
        failure.unwrap_or_else(|| Failure::new(Class::Cut, "Connection lost", ""))
    }
}

impl Slot {
    pub(super) async fn answer(&mut self) -> Outcome {
        match (&mut self.answer).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.pending.ended().await),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        locked(&self.pending.table).waiting.remove(&self.id);
    }
}

fn with_class(failure: &Failure, class: Class) -> Failure {
    Failure {
        class,
        ..failure.clone()
    }
}

/// Some servers turn numbers into text.
fn number(id: &Value) -> Option<u64> {
    match id {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}
