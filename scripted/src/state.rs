//! What the server and its owner share: the script, how far it has been played, and who asked what.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::request::Parts;
use serde::Serialize;
use serde_json::Value;

use crate::prompt::Prompt;
use crate::script::{Script, Step};

/// Enough for any test; a demo left alone must not fill the memory.
const MAX_RECORDED: usize = 10_000;

/// One request as it came.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// Milliseconds since the server started.
    pub at_ms: u64,
    /// Microseconds since 1970, for whoever compares it with a clock of their own.
    pub at_unix_us: u64,
    pub method: String,
    /// With the query, if any.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// A text if it wasn't JSON, `null` if there was none.
    pub body: Value,
    /// It asked for a model's reply, in a dialect we know.
    pub is_call: bool,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub script: Script,
    started: Instant,
    played: Mutex<Played>,
    /// A request has been recorded.
    arrived: Condvar,
}

#[derive(Debug)]
struct Played {
    requests: VecDeque<Recorded>,
    /// Calls so far, those no longer recorded included.
    calls: usize,
    /// How many requests each step has answered.
    used: Vec<u32>,
}

impl Shared {
    pub fn new(script: Script) -> Self {
        let played = Played {
            requests: VecDeque::new(),
            calls: 0,
            used: vec![0; script.steps.len()],
        };
        Self {
            script,
            started: Instant::now(),
            played: Mutex::new(played),
            arrived: Condvar::new(),
        }
    }

    /// Takes a request down and returns how many calls there have been with it.
    pub fn record(&self, head: &Parts, body: Value, is_call: bool) -> usize {
        let headers = head.headers.iter();
        let request = Recorded {
            at_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            at_unix_us: unix_us(),
            method: head.method.to_string(),
            path: head.uri.to_string(),
            headers: headers
                .map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes());
                    (name.to_string(), value.into_owned())
                })
                .collect(),
            body,
            is_call,
        };
        let mut played = self.lock();
        played.calls += usize::from(is_call);
        if played.requests.len() == MAX_RECORDED {
            played.requests.pop_front();
        }
        played.requests.push_back(request);
        self.arrived.notify_all();
        played.calls
    }

    /// The step that answers a request; `None` when the script is over.
    pub fn next_step(&self, prompt: &Prompt) -> Option<&Step> {
        self.script.choose(&mut self.lock().used, prompt)
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.lock().requests.iter().cloned().collect()
    }

    pub fn calls(&self) -> Vec<Recorded> {
        self.lock().calls()
    }

    pub fn wait_for_calls(&self, count: usize, timeout: Duration) -> Vec<Recorded> {
        self.arrived
            .wait_timeout_while(self.lock(), timeout, |played| played.calls < count)
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .calls()
    }

    pub fn unused_steps(&self) -> usize {
        self.lock().used.iter().filter(|used| **used == 0).count()
    }

    fn lock(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Played {
    fn calls(&self) -> Vec<Recorded> {
        let calls = self.requests.iter().filter(|request| request.is_call);
        calls.cloned().collect()
    }
}

fn unix_us() -> u64 {
    // A clock before 1970 is nobody's problem here.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_micros()).ok())
        .unwrap_or_default()
}
