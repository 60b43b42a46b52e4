//! Asking the owner. One mechanism for approvals, questions, secrets and confirmations.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::Scope;

/// The time of a question stands still for so long after somebody was at it.
const PAUSE: Duration = Duration::from_secs(5);
/// All pauses of one question together.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Waits for the owner's answer, or says why there is none.
pub trait Asker: Send + Sync {
    fn ask<'a>(&'a self, question: Question, scope: &'a Scope) -> BoxFuture<'a, Answer>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// May this command run? The warnings say why one asks.
    Approve {
        command: String,
        warnings: Vec<String>,
        /// A longer answer counts as this one.
        longest: Consent,
        timeout: Duration,
    },
    /// Something only the owner can decide; no choices: an open question.
    Clarify {
        question: String,
        choices: Vec<String>,
    },
    /// A value that must not be shown or stored, such as a password.
    Secret { prompt: String },
    Confirm {
        question: String,
        /// `Always` can be answered, too, where that is it: the owner is not asked again.
        longest: Consent,
    },
    /// A server wants something of the owner while it works on a call: may it have these fields?
    Elicit {
        server: String,
        message: String,
        /// Each in one line.
        fields: Vec<String>,
        timeout: Duration,
    },
}

/// How long consent lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consent {
    Once,
    /// For the rest of the session.
    Session,
    /// In future sessions, too.
    Always,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Once,
    /// Also for the rest of the session.
    Session,
    /// Also in future sessions.
    Always,
    Deny,
    Text(String),
    /// Nobody is there to ask.
    Nobody,
    TimedOut,
    Cancelled,
}

/// The time a question has. It stands still while somebody is at it: who reads or types is not denied.
#[derive(Clone, Copy, Debug)]
pub struct Countdown {
    until: Instant,
    /// It stands still until then.
    goes_on: Instant,
    paused: Duration,
}

impl Countdown {
    pub fn new(limit: Duration, now: Instant) -> Self {
        Self {
            until: now + limit,
            goes_on: now,
            paused: Duration::ZERO,
        }
    }

    /// Somebody is at it.
    pub fn attend(&mut self, now: Instant) {
        let from = self.goes_on.max(now);
        let more = (now + PAUSE).saturating_duration_since(from);
        let more = more.min(LONGEST_PAUSE.saturating_sub(self.paused));
        if more.is_zero() {
            return;
        }
        self.goes_on = from + more;
        self.until += more;
        self.paused += more;
    }

    /// When it is over, if nobody is at it from now on.
    pub fn until(&self) -> Instant {
        self.until
    }

    pub fn is_paused(&self, now: Instant) -> bool {
        now < self.goes_on
    }

    /// What is left of it.
    pub fn left(&self, now: Instant) -> Duration {
        self.until.saturating_duration_since(self.goes_on.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_while_somebody_is_at_it() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut countdown = Countdown::new(Duration::from_secs(60), begun);
        let left = |countdown: &Countdown, seconds| countdown.left(at(seconds)).as_secs();
        assert_eq!(left(&countdown, 10), 50);
        countdown.attend(at(10));
        assert!(countdown.is_paused(at(12)));
        assert_eq!((left(&countdown, 10), left(&countdown, 15)), (50, 50));
        // Another key within the pause makes it longer, not twice as long.
        countdown.attend(at(13));
        assert_eq!((left(&countdown, 18), left(&countdown, 20)), (50, 48));
        assert!(!countdown.is_paused(at(18)));
        assert_eq!(countdown.until(), at(68));
    }

    #[test]
    fn a_key_that_is_stuck_holds_it_for_a_while_only() {
        let begun = Instant::now();
        let limit = Duration::from_secs(60);
        let mut countdown = Countdown::new(limit, begun);
        for second in 0..3000 {
            countdown.attend(begun + Duration::from_secs(second));
        }
        assert_eq!(countdown.until(), begun + limit + LONGEST_PAUSE);
        assert!(!countdown.is_paused(begun + Duration::from_secs(1000)));
    }
}
