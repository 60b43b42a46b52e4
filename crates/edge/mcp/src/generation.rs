//! One connection that worked: callers hold it while they use it, and know it by its number.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::calls::{Calls, locked};
use crate::desk::Desk;
use crate::failure::{Class, Failure};
use crate::handshake::{FIRST_ID, Hello, Introduction};
use crate::link::{Era, Link, Request};

/// A connection after its handshake.
pub(crate) struct Generation {
    /// Counted from 1. "Reconnected" means that this number changed, and nothing else.
    pub number: u64,
    pub hello: Hello,
    pub link: Arc<dyn Link>,
    pub calls: Arc<Calls>,
    pub desk: Arc<Desk>,
    /// Cancelled when the connection is given up: what is in flight on it is cut.
    pub gone: CancellationToken,
    pub opened: Instant,
    introduction: Introduction,
    next_id: AtomicU64,
    /// When the server last answered something.
    heard: Mutex<Instant>,
    /// When somebody last wanted something.
    used: Mutex<Instant>,
    /// The server does not know `ping`.
    is_pingless: AtomicBool,
    /// Mass events before this connection was last known to work.
    herd_events: AtomicU64,
    /// Something failed on it in a way that may mean its end.
    is_suspect: AtomicBool,
    /// Ends the desk when nobody uses the connection any more.
    _desk: DropGuard,
}

/// What a connection is made of.
pub(crate) struct Parts {
    pub number: u64,
    pub hello: Hello,
    pub desk: Arc<Desk>,
    pub desk_guard: DropGuard,
    pub introduction: Introduction,
    pub herd_events: u64,
}

impl Generation {
    pub(crate) fn new(parts: Parts) -> Self {
        let now = Instant::now();
        Self {
            number: parts.number,
            hello: parts.hello,
            link: Arc::clone(&parts.desk.link),
            calls: Arc::clone(&parts.desk.calls),
            desk: parts.desk,
            gone: CancellationToken::new(),
            opened: now,
            introduction: parts.introduction,
            next_id: AtomicU64::new(FIRST_ID),
            heard: Mutex::new(now),
            used: Mutex::new(now),
            is_pingless: AtomicBool::new(false),
            herd_events: AtomicU64::new(parts.herd_events),
            is_suspect: AtomicBool::new(false),
            _desk: parts.desk_guard,
        }
    }

    /// Whether it must be tried before it is trusted: something failed on it, or a mass event happened since.
    pub(crate) fn is_suspect(&self, herd_events: u64) -> bool {
        self.is_suspect.load(Ordering::Relaxed)
            || self.herd_events.load(Ordering::Relaxed) != herd_events
    }

    pub(crate) fn suspect(&self) {
        self.is_suspect.store(true, Ordering::Relaxed);
    }

    /// It worked, after that many mass events.
    pub(crate) fn trust(&self, herd_events: u64) {
        self.is_suspect.store(false, Ordering::Relaxed);
        self.herd_events.store(herd_events, Ordering::Relaxed);
    }

    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request under `id` and waits for its answer, or for the end of this connection.
    pub(crate) async fn request(
        &self,
        id: u64,
        method: &'static str,
        params: Value,
        mirrored: Vec<(String, String)>,
    ) -> Result<Value, Failure> {
        if self.gone.is_cancelled() {
            return Err(replaced(Class::NotSent));
        }
        let request = Request {
            id,
            method,
            params: self.introduction.dress(params, &self.hello.protocol),
            mirrored,
        };
        let result = tokio::select! {
            biased;
            result = self.link.request(request) => result,
            () = self.gone.cancelled() => Err(replaced(Class::Cut)),
        };
        let answered = result
            .as_ref()
            .err()
            .is_none_or(|failure| failure.class == Class::App);
        if answered {
            *locked(&self.heard) = Instant::now();
        }
        result
    }

    /// Tells the server that nobody waits for request `id` any more.
    pub(crate) async fn give_up(&self, id: u64, limit: Duration) {
        let params = json!({"requestId": id, "reason": "nobody waits for it any more"});
        let notice =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        // Nothing depends on whether the server hears it.
        let _ = timeout(limit, self.link.send(notice)).await;
    }

    /// Whether the server still answers on this connection. An error is an answer.
    pub(crate) async fn probe(&self, limit: Duration) -> Result<(), Failure> {
        let id = self.new_id();
        let asked = timeout(
            limit,
            self.request(id, self.probe_method(), json!({}), Vec::new()),
        )
        .await;
        let Ok(answer) = asked else {
            let message = format!(
                "no answer to a probe within {:.0} s",
                limit.as_secs_f64().ceil()
            );
            return Err(Failure::new(Class::Deadline, "Timeout", message));
        };
        match answer {
            Ok(_) => Ok(()),
            Err(failure) if failure.class == Class::App && failure.code.is_some() => {
                if self.lacks_ping(&failure) {
                    self.is_pingless.store(true, Ordering::Relaxed);
                }
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    /// The cheapest question the server can answer.
    fn probe_method(&self) -> &'static str {
        match self.hello.protocol.era {
            Era::Modern => "server/discover",
            Era::Legacy if !self.is_pingless.load(Ordering::Relaxed) => "ping",
            Era::Legacy if !self.hello.has_tools && self.hello.has_prompts => "prompts/list",
            Era::Legacy if !self.hello.has_tools && self.hello.has_resources => "resources/list",
            Era::Legacy => "tools/list",
        }
    }

    fn lacks_ping(&self, failure: &Failure) -> bool {
        let text = failure.message.to_lowercase();
        failure.code == Some(-32601)
            || text.contains("method not found")
            || text.contains("unknown method")
    }

    /// How long ago the server last answered.
    pub(crate) fn silence(&self) -> Duration {
        locked(&self.heard).elapsed()
    }

    /// Somebody wants something of this connection.
    pub(crate) fn touch(&self) {
        *locked(&self.used) = Instant::now();
    }

    pub(crate) fn last_used(&self) -> Instant {
        *locked(&self.used)
    }
}

fn replaced(class: Class) -> Failure {
    Failure::new(
        class,
        "Connection lost",
        "the connection was replaced during the call",
    )
}
