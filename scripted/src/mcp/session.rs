//! Sessions, and the lines on which the server can speak unasked.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::pipe::Work;
use super::rpc::META_SUBSCRIPTION;
use super::state::Shared;
use super::text::Text;

/// A client that loses more than these has other problems.
const MAX_SESSIONS: usize = 4096;
const MAX_FORGOTTEN: usize = 64;
/// What may wait on a line.
const BACKLOG: usize = 1024;

#[derive(Debug)]
pub(crate) struct Session {
    /// Which of two instances knows it.
    pub instance: u64,
    pub used: Instant,
    /// Where its calls are answered, if not where they come (HTTP+SSE).
    pub wire: Option<Wire>,
}

#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub calls: mpsc::Sender<Work>,
}

/// What a line carries.
#[derive(Clone, Debug)]
pub(crate) enum Out {
    Say(Text),
    Trickle(Text, Duration),
    /// Half of it, then the line is closed.
    Half(Text),
    Close,
    Reset,
    Order(Order),
}

/// What a child is told to do with itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Kill,
    Stop,
    CloseStdout,
    Spawn(u8),
}

pub(crate) type Outbox = mpsc::Sender<Out>;

pub(crate) fn line() -> (Outbox, mpsc::Receiver<Out>) {
    mpsc::channel(BACKLOG)
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    known: HashMap<String, Session>,
    /// Their streams stay open: a client must find the loss out by itself.
    forgotten: VecDeque<Session>,
    created: u64,
}

impl Sessions {
    pub fn create(&mut self, instance: u64, wire: Option<Wire>) -> String {
        self.created += 1;
        let id = format!("session-{}", self.created);
        if self.known.len() < MAX_SESSIONS {
            let used = Instant::now();
            let session = Session {
                instance,
                used,
                wire,
            };
            self.known.insert(id.clone(), session);
        }
        id
    }

    pub fn get(&mut self, id: &str) -> Option<&mut Session> {
        self.known.get_mut(id)
    }

    pub fn delete(&mut self, id: &str) -> bool {
        self.known.remove(id).is_some()
    }

    pub fn forget(&mut self, id: &str) {
        self.forgotten.extend(self.known.remove(id));
        let extra = self.forgotten.len().saturating_sub(MAX_FORGOTTEN);
        self.forgotten.drain(..extra);
    }

    pub fn forget_all(&mut self) {
        let ids: Vec<_> = self.known.keys().cloned().collect();
        ids.iter().for_each(|id| self.forget(id));
    }
}

/// Those who hear what the server says by itself.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: BTreeMap<u64, Line>,
    next: u64,
}

#[derive(Debug)]
struct Line {
    outbox: Outbox,
    /// The subscription its messages name.
    subscription: Option<Value>,
    is_child: bool,
}

impl Lines {
    pub fn notify(&self, method: &str) {
        for line in self.open.values() {
            let mut message = json!({"jsonrpc": "2.0", "method": method});
            if let Some(id) = &line.subscription {
                message["params"] = json!({"_meta": {META_SUBSCRIPTION: id}});
            }
            // A client that doesn't read misses some.
            let _ = line.outbox.try_send(Out::Say(Text::json(&message)));
        }
    }

    pub fn order(&self, order: Order) {
        for line in self.open.values().filter(|line| line.is_child) {
            let _ = line.outbox.try_send(Out::Order(order));
        }
    }
}

/// Keeps a line open; it is gone with this value.
#[derive(Debug)]
pub(crate) struct Open {
    shared: Arc<Shared>,
    id: u64,
}

/// Whose line it is.
#[derive(Clone, Debug)]
pub(crate) enum Owner {
    Session,
    Subscription(Value),
    Child,
}

impl Open {
    pub fn new(shared: &Arc<Shared>, outbox: Outbox, owner: Owner) -> Self {
        let (subscription, is_child) = match owner {
            Owner::Session => (None, false),
            Owner::Subscription(id) => (Some(id), false),
            Owner::Child => (None, true),
        };
        let line = Line {
            outbox,
            subscription,
            is_child,
        };
        let id = shared.with(|inner| {
            inner.lines.next += 1;
            inner.lines.open.insert(inner.lines.next, line);
            inner.counters.streams_now += u64::from(!is_child);
            inner.counters.children_now += u64::from(is_child);
            inner.lines.next
        });
        let shared = shared.clone();
        Self { shared, id }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.with(|inner| {
            if let Some(line) = inner.lines.open.remove(&self.id) {
                inner.counters.streams_now -= u64::from(!line.is_child);
                inner.counters.children_now -= u64::from(line.is_child);
            }
        });
    }
}
