//! Waiting for a connection to use. Nobody polls: the supervisor's view says when something changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use crate::failure::Class;
use crate::generation::Generation;
use crate::server::{Cause, State};
use crate::shared::{Command, Shared, View};

/// How long a look at stored credentials may take.
const GLANCE: Duration = Duration::from_millis(100);

/// One caller's wait.
pub(crate) struct Waiting<'a> {
    shared: &'a Shared,
    /// Only a newer connection than this will do.
    after: u64,
    limit: Instant,
    /// Attempts to connect that had ended before.
    attempts: u64,
    /// When the supervisor may be hurried: at once, but whoever has just asked for a new connection waits a little.
    hurry_at: Instant,
    /// Once is enough.
    has_hurried: bool,
    /// The server could not be reached, and nobody was still trying.
    pub found_it_down: bool,
}

enum Verdict {
    Use(Arc<Generation>),
    Wait,
    Never(Cause),
}

/// What the login must be for, if the server said.
fn scope(now: &View) -> Option<String> {
    match &now.last_error.as_ref()?.class {
        Class::Scope(scope) => scope.clone(),
        _ => None,
    }
}

impl<'a> Waiting<'a> {
    /// For any connection (`after` 0), or for the one that replaces connection `after`.
    pub(crate) fn newer_than(after: u64, shared: &'a Shared) -> Self {
        let now = Instant::now();
        let hurry_at = match after {
            0 => now,
            _ => now + shared.timing.wake_gap,
        };
        Self {
            shared,
            after,
            limit: now + shared.timing.renewal_wait,
            hurry_at,
            attempts: shared.view.borrow().attempts,
            has_hurried: false,
            found_it_down: false,
        }
    }

    /// Waits. Whoever finds the server waiting for its time hurries it.
    pub(crate) async fn run(&mut self) -> Result<Arc<Generation>, Cause> {
        let mut view = self.shared.view.subscribe();
        loop {
            let now = view.borrow_and_update().clone();
            self.found_it_down |= now.attempts > self.attempts && now.last_error.is_some();
            match self.judge(&now).await {
                Verdict::Use(generation) => return Ok(generation),
                Verdict::Never(cause) => return Err(cause),
                Verdict::Wait => {}
            }
            let reason = self.shared.reason(now.last_error.as_ref());
            tokio::select! {
                changed = view.changed() => if changed.is_err() {
                    return Err(Cause::NotConnected { reason });
                },
                () = sleep_until(self.hurry_at), if Instant::now() < self.hurry_at => {}
                () = sleep_until(self.limit) => return Err(Cause::Reconnecting { reason }),
            }
        }
    }

    async fn judge(&mut self, now: &View) -> Verdict {
        let reason = || self.shared.reason(now.last_error.as_ref());
        match now.state {
            State::Ready => match &now.generation {
                Some(live) if live.number > self.after => Verdict::Use(Arc::clone(live)),
                _ => Verdict::Wait,
            },
            State::Connecting | State::Reconnecting => Verdict::Wait,
            State::NeedsAuth => match self.has_new_credentials().await {
                true => Verdict::Wait,
                false => Verdict::Never(Cause::NeedsAuth {
                    reason: self.shared.reason(now.last_error.as_ref()),
                    scope: scope(now),
                }),
            },
            State::Failed | State::Stopped => {
                Verdict::Never(Cause::NotConnected { reason: reason() })
            }
            State::Recycled | State::Backoff | State::Parked => self.hurry(now).await,
        }
    }

    async fn hurry(&mut self, now: &View) -> Verdict {
        if Instant::now() < self.hurry_at {
            return Verdict::Wait;
        }
        let may_hurry =
            !self.has_hurried && (now.state == State::Recycled || self.shared.may_wake());
        if may_hurry {
            self.has_hurried = true;
            self.shared.order(Command::Wake).await;
            return Verdict::Wait;
        }
        if now.until.is_some_and(|until| until > self.limit) {
            self.found_it_down = true;
            let reason = self.shared.reason(now.last_error.as_ref());
            return Verdict::Never(Cause::Reconnecting { reason });
        }
        Verdict::Wait
    }

    /// Whether somebody logged in since the credentials died. If so, the supervisor is told.
    async fn has_new_credentials(&self) -> bool {
        let is_new = timeout(GLANCE, self.shared.auth.changed()).await.is_ok();
        if is_new {
            self.shared.order(Command::Login).await;
        }
        is_new
    }
}
