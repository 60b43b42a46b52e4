//! Asking the owner: a question becomes an event, the first answer to it wins.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::Events;
use hermes_types::{AgentEvent, Answer, Asker, Question, Scope};
use tokio::sync::oneshot;

/// Whether somebody is there to be asked. Set when the session opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// A person watches.
    Interactive,
    /// Nobody is there; questions are answered with that.
    Nobody,
}

/// How long a question without its own limit waits.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct SessionAsker {
    policy: Asking,
    events: Events,
    next: AtomicU64,
    /// Questions without an answer.
    open: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

impl SessionAsker {
    pub fn new(policy: Asking, events: Events) -> Self {
        Self {
            policy,
            events,
            next: AtomicU64::new(1),
            open: Mutex::default(),
        }
    }

    /// Hands an answer to whoever waits for it; false if nobody does.
    pub fn answer(&self, id: u64, answer: Answer) -> bool {
        let waiting = self.open().remove(&id);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Answer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asker for SessionAsker {
    fn ask<'a>(&'a self, question: Question, scope: &'a Scope) -> BoxFuture<'a, Answer> {
        async move {
            if self.policy == Asking::Nobody {
                return Answer::Nobody;
            }
            let limit = match &question {
                Question::Approve { timeout, .. } | Question::Elicit { timeout, .. } => *timeout,
                _ => PATIENCE,
            };
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            let (sender, answer) = oneshot::channel();
            self.open().insert(id, sender);
            self.events.send(AgentEvent::Asked { id, question });
            let given = tokio::select! {
                given = tokio::time::timeout(limit, answer) => match given {
                    Ok(answer) => answer.unwrap_or(Answer::Cancelled),
                    Err(_) => Answer::TimedOut,
                },
                () = scope.cancel.cancelled() => Answer::Cancelled,
            };
            self.open().remove(&id);
            self.events.send(AgentEvent::Answered { id });
            given
        }
        .boxed()
    }
}
