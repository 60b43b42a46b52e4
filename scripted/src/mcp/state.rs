//! What all connections share: one lock, held for moments.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use super::counters::{Counters, Seen, count};
use super::fault::{Fault, LostEvent, Realm, Times};
use super::http::Request;
use super::oauth::Grants;
use super::options::Options;
use super::rpc::Rpc;
use super::session::{Lines, Sessions};
use super::text::Text;

const MAX_SEEN: usize = 10_000;
const MAX_BODY_SEEN: usize = 64 << 10;
const MAX_STASHED: usize = 64;

#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Anything in there.
    changed: Condvar,
    /// What the network is like, for all connections to see.
    pub net: watch::Sender<Net>,
    /// Whether the port is open.
    pub open: watch::Sender<bool>,
    /// Work for the server's own thread.
    pub jobs: mpsc::Sender<Job>,
    /// The other origin.
    pub elsewhere: String,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub options: Options,
    pub counters: Counters,
    pub sessions: Sessions,
    pub lines: Lines,
    pub grants: Grants,
    /// How a lost session is told.
    pub lost: Lost,
    /// Whose turn it is, of two instances.
    pub turn: u64,
    /// Whether the port is open, as the accepting task says.
    pub listening: bool,
    armed: Vec<Armed>,
    /// Answers that a stream broke off, by the event to resume after.
    stashed: VecDeque<(String, Text)>,
    seen: VecDeque<Seen>,
    /// Requests of ours that wait for the client.
    asked: HashMap<String, oneshot::Sender<Value>>,
    /// Calls that can be cancelled.
    cancels: HashMap<String, oneshot::Sender<()>>,
    next_id: u64,
}

#[derive(Clone, Debug)]
struct Armed {
    fault: Fault,
    times: Times,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    NotFound,
    BadRequest,
    RpcError,
    Event(LostEvent),
}

/// Connections are numbered from 1 in the order they come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Net {
    pub down: Option<Down>,
    /// Connections up to this one never speak again.
    pub silent_to: u64,
    /// Connections up to this one are closed.
    pub closed_to: u64,
    /// All are silent, those to come included.
    pub silent: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Down {
    Until(tokio::time::Instant),
    Healed,
}

#[derive(Debug)]
pub(crate) enum Job {
    Storm { per_second: u32, seconds: u32 },
}

impl Shared {
    pub fn new(options: Options, jobs: mpsc::Sender<Job>, elsewhere: String) -> Self {
        let inner = Inner {
            grants: Grants::new(&options.auth),
            options,
            counters: Counters::default(),
            sessions: Sessions::default(),
            lines: Lines::default(),
            lost: Lost::NotFound,
            turn: 0,
            listening: true,
            armed: Vec::new(),
            stashed: VecDeque::new(),
            seen: VecDeque::new(),
            asked: HashMap::new(),
            cancels: HashMap::new(),
            next_id: 0,
        };
        Self {
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            net: watch::Sender::default(),
            open: watch::Sender::new(true),
            jobs,
            elsewhere,
        }
    }

    /// The one way to the state. Whoever waits for a change looks again.
    pub fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        let value = act(&mut self.lock());
        self.changed.notify_all();
        value
    }

    /// The port is open now, or closed.
    pub fn set_open(&self, open: bool) {
        self.open.send_replace(open);
        self.with(|inner| inner.listening = open);
    }

    /// Blocks until `done` or `timeout`; whether it came to that.
    pub fn wait(&self, timeout: Duration, mut done: impl FnMut(&Inner) -> bool) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), timeout, |inner| !done(inner));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    pub fn arm(&mut self, fault: Fault, times: Times) {
        self.armed.push(Armed { fault, times });
    }

    pub fn disarm(&mut self) {
        self.armed.clear();
    }

    /// The first armed fault that is `wanted`; this is one of its times.
    pub fn take(&mut self, wanted: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let place = self.armed.iter().position(|armed| wanted(&armed.fault))?;
        let armed = &mut self.armed[place];
        let fault = armed.fault.clone();
        armed.times = match armed.times {
            Times::Always => Times::Always,
            Times::Count(left @ 2..) => Times::Count(left - 1),
            Times::Once | Times::Count(_) => Times::Count(0),
        };
        if armed.times == Times::Count(0) {
            self.armed.remove(place);
        }
        count(&mut self.counters.hits, fault.code());
        Some(fault)
    }

    /// The fault that hits this call on this transport.
    pub fn hit(&mut self, rpc: &Rpc, realm: Realm) -> Option<Fault> {
        self.take(|fault| fault.realms().contains(&realm) && fault.hits(rpc))
    }

    pub fn record(&mut self, seen: Seen) {
        if self.seen.len() == MAX_SEEN {
            self.seen.pop_front();
        }
        self.seen.push_back(seen);
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.iter().cloned().collect()
    }

    pub fn count_call(&mut self, rpc: &Rpc) {
        let counters = &mut self.counters;
        count(&mut counters.requests, &rpc.method);
        match rpc.method.as_str() {
            "initialize" => counters.initialize += 1,
            "server/discover" => counters.discover += 1,
            "tools/list" => counters.tools_list += 1,
            "notifications/cancelled" => counters.cancelled += 1,
            _ => {}
        }
    }

    pub fn stash(&mut self, event: String, answer: Text) {
        if self.stashed.len() == MAX_STASHED {
            self.stashed.pop_front();
        }
        self.stashed.push_back((event, answer));
    }

    pub fn unstash(&mut self, event: &str) -> Option<Text> {
        let place = self.stashed.iter().position(|(id, _)| id == event)?;
        self.stashed.remove(place).map(|(_, text)| text)
    }

    /// A new id, unique here.
    pub fn fresh(&mut self, kind: &str) -> String {
        self.next_id += 1;
        format!("{kind}-{}", self.next_id)
    }

    /// A request of ours: its id, and where the client's answer will be.
    pub fn ask(&mut self) -> (String, oneshot::Receiver<Value>) {
        // Those whose caller is gone.
        self.asked.retain(|_, waiting| !waiting.is_closed());
        let id = self.fresh("ask");
        let (answer, answered) = oneshot::channel();
        self.asked.insert(id.clone(), answer);
        (id, answered)
    }

    pub fn answered(&mut self, id: &str, body: Value) {
        if let Some(waiting) = self.asked.remove(id) {
            // It may have given up.
            let _ = waiting.send(body);
        }
    }

    /// Fires when the client cancels this call.
    pub fn cancellable(&mut self, scope: &str, id: &Value) -> oneshot::Receiver<()> {
        self.cancels.retain(|_, waiting| !waiting.is_closed());
        let (cancel, cancelled) = oneshot::channel();
        self.cancels.insert(format!("{scope} {id}"), cancel);
        cancelled
    }

    pub fn cancel(&mut self, scope: &str, id: &Value) {
        if let Some(cancel) = self.cancels.remove(&format!("{scope} {id}")) {
            // It may have ended meanwhile.
            let _ = cancel.send(());
        }
    }
}

/// A request for the record.
pub(crate) fn seen(place: &'static str, request: &Request) -> Seen {
    let headers: BTreeMap<_, _> = request.headers.iter().cloned().collect();
    Seen {
        place,
        method: request.method.clone(),
        path: request.target.clone(),
        headers,
        body: body_seen(&request.body),
    }
}

pub(crate) fn body_seen(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let short = &bytes[..bytes.len().min(MAX_BODY_SEEN)];
    serde_json::from_slice(bytes)
        .ok()
        .filter(|_| bytes.len() <= MAX_BODY_SEEN)
        .unwrap_or_else(|| String::from_utf8_lossy(short).into())
}
