//! Whose work this is, and when it must end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::{Purse, SessionId};

/// Handed down from process to session to turn to call. A child ends with its parent, not the other way round.
#[derive(Clone, Debug)]
pub struct Scope {
    pub session: SessionId,
    pub cancel: CancellationToken,
    /// `None`: only cancellation ends it.
    pub deadline: Option<Instant>,
    /// What it may cost, and what it has cost.
    pub purse: Purse,
    pub round: Round,
}

/// Which reply of the model work belongs to: all calls of one reply share it, and no other does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round(u64);

impl Round {
    /// One that nothing else belongs to yet.
    pub fn begin() -> Self {
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        Self(BEGUN.fetch_add(1, Ordering::Relaxed))
    }
}

impl Scope {
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            cancel: CancellationToken::new(),
            deadline: None,
            purse: Purse::default(),
            round: Round::begin(),
        }
    }

    /// Work that can be cancelled on its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            cancel: self.cancel.child_token(),
            ..self.clone()
        }
    }

    /// The same work with at most this much time; never more than the parent has left.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        let ends = Instant::now().checked_add(time);
        let deadline = match (self.deadline, ends) {
            (Some(own), Some(ends)) => Some(own.min(ends)),
            (own, ends) => own.or(ends),
        };
        Self {
            deadline,
            ..self.child()
        }
    }

    /// What is left of the time; `None` if there is no limit.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_with_its_parent_only() {
        let parent = Scope::new("s".into());
        let (one, two) = (parent.child(), parent.child());
        one.cancel.cancel();
        assert!(one.is_cancelled() && !two.is_cancelled() && !parent.is_cancelled());
        parent.cancel.cancel();
        assert!(two.is_cancelled());
    }

    #[test]
    fn time_only_gets_shorter() {
        let scope = Scope::new("s".into()).within(Duration::from_secs(5));
        assert!(
            scope.within(Duration::from_secs(60)).remaining().unwrap() <= Duration::from_secs(5)
        );
        assert!(
            scope.within(Duration::from_millis(1)).remaining().unwrap() <= Duration::from_millis(1)
        );
        assert_eq!(Scope::new("s".into()).remaining(), None);
    }
}
