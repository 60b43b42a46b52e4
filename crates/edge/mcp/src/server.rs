//! One server, from the outside: ask it something, look at how it is doing.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::content::Tool;
use crate::failure::Failure;
use crate::link::Era;
use crate::operation::Answer;

/// What a call brings along.
#[derive(Clone, Default)]
pub struct CallContext {
    /// Cancelled when nobody wants the answer any more.
    pub cancel: CancellationToken,
    /// Told about the server's progress notifications.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// Answers what the server asks the user while it works on this call. `None` declines.
    pub elicitor: Option<Arc<dyn Elicitor>>,
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext").finish_non_exhaustive()
    }
}

/// How far the server says it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Asks the user on behalf of a server.
pub trait Elicitor: Send + Sync {
    /// `params` of `elicitation/create`; answers its result: `{"action": "accept", "content": …}` or a refusal.
    fn elicit<'a>(&'a self, server: &'a str, params: Value) -> BoxFuture<'a, Value>;
}

/// Thinks on behalf of a server.
pub trait Sampler: Send + Sync {
    /// `params` of `sampling/createMessage`; answers its result, or why not.
    fn sample<'a>(&'a self, server: &'a str, params: Value)
    -> BoxFuture<'a, Result<Value, String>>;
}

/// A success.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub answer: Answer,
    /// How often the request was sent again: 0 or 1.
    pub retries: u32,
    /// The connection that answered, counted from 1.
    pub generation: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct CallError {
    pub cause: Cause,
    pub retries: u32,
    /// The connection that was used last; 0 if there never was one.
    pub generation: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// The call failed, and certainly had no effect or a reported one.
    Failed(Failure),
    /// The call failed, and may have taken effect.
    Ambiguous(Failure),
    TimedOut {
        elapsed: Duration,
        limit: Duration,
        /// It may have taken effect.
        is_ambiguous: bool,
    },
    /// Only a login helps; the scope it must be for, if the server said.
    NeedsAuth {
        reason: String,
        scope: Option<String>,
    },
    /// The breaker is open.
    Unreachable {
        failures: u32,
        retry_in: Duration,
        last: String,
    },
    /// There is no connection, and why; a new attempt is under way.
    Reconnecting {
        reason: String,
    },
    /// There is no connection and there will be none by itself.
    NotConnected {
        reason: String,
    },
    /// The server asked for more patience than a call has.
    Throttled {
        wait: Duration,
    },
    Cancelled,
    /// The caller forgot something; nothing was sent.
    BadArgument(String),
}

/// How a server is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub name: String,
    pub state: State,
    pub generation: u64,
    pub era: Option<Era>,
    pub tools: usize,
    pub last_error: Option<String>,
    /// Until the next attempt, where there is one.
    pub next_attempt: Option<Duration>,
    pub breaker: BreakerState,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The first connect of this process.
    Connecting,
    Ready,
    /// Being rebuilt; every caller joins it.
    Reconnecting,
    /// Waiting before the next attempt.
    Backoff,
    /// Many attempts failed; tried again now and then, and by any call.
    Parked,
    /// The credentials are dead; only a login helps.
    NeedsAuth,
    /// Stopped because nobody used it; the next call starts it.
    Recycled,
    /// The configuration cannot work.
    Failed,
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

/// What the server offers, as of its last listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    pub tools: Vec<Arc<Tool>>,
    pub has_tools: bool,
    pub has_resources: bool,
    pub has_prompts: bool,
    pub instructions: Option<String>,
    /// The name and version the server gave itself.
    pub server: String,
    /// Something was left out of the listing, and what.
    pub warning: Option<String>,
}
