//! Stops asking a server that does not answer. Pure: the clock is a parameter.

use std::time::Duration;

use tokio::time::Instant;

use crate::server::BreakerState;
use crate::timing::Timing;

/// Counts failures in a row; beyond the limit nobody asks until a cooldown is over, and then one caller first.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    opened: Option<Instant>,
    /// A caller is finding out whether the server is back.
    is_probing: bool,
    /// The last failure, for those who are turned away.
    last: String,
}

/// What a caller may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Go,
    /// Go, and everybody else waits for what comes of it.
    Probe,
    Refused {
        failures: u32,
        retry_in: Duration,
        last: String,
    },
}

impl Breaker {
    pub(crate) fn admit(&mut self, now: Instant, timing: &Timing) -> Admission {
        let Some(opened) = self.opened else {
            return Admission::Go;
        };
        let until = opened + timing.breaker_cooldown;
        if now < until || self.is_probing {
            return Admission::Refused {
                failures: self.failures,
                retry_in: until.saturating_duration_since(now),
                last: self.last.clone(),
            };
        }
        self.is_probing = true;
        Admission::Probe
    }

    /// The server answered, in whatever way: it is reachable.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn failed(&mut self, now: Instant, timing: &Timing, why: &str) {
        self.failures = self.failures.saturating_add(1);
        self.is_probing = false;
        self.last = why.to_owned();
        if self.failures >= timing.breaker_failures {
            self.opened = Some(now);
        }
    }

    /// A probe ended without telling anything: the next caller may try.
    pub(crate) fn undecided(&mut self) {
        self.is_probing = false;
    }

    pub(crate) fn state(&self, now: Instant, timing: &Timing) -> BreakerState {
        match self.opened {
            None => BreakerState::Closed,
            Some(opened) if now < opened + timing.breaker_cooldown => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_cools_down_and_lets_one_through() {
        let (timing, start) = (Timing::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            assert_eq!(breaker.admit(start, &timing), Admission::Go);
            breaker.failed(start, &timing, "refused");
        }
        let refused = breaker.admit(at(20), &timing);
        assert!(
            matches!(&refused, Admission::Refused { failures: 3, retry_in, last }
                if *retry_in == Duration::from_secs(40) && last == "refused"),
            "{refused:?}"
        );
        assert_eq!(breaker.admit(at(60), &timing), Admission::Probe);
        for _ in 0..4 {
            assert!(matches!(
                breaker.admit(at(60), &timing),
                Admission::Refused { .. }
            ));
        }
        breaker.failed(at(61), &timing, "refused");
        assert!(matches!(
            breaker.admit(at(100), &timing),
            Admission::Refused { .. }
        ));
        assert_eq!(breaker.admit(at(121), &timing), Admission::Probe);
        breaker.undecided();
        assert_eq!(breaker.admit(at(121), &timing), Admission::Probe);
        breaker.succeeded();
        assert_eq!(breaker.admit(at(121), &timing), Admission::Go);
    }

    #[test]
    fn only_failures_in_a_row_count() {
        let (timing, now) = (Timing::default(), Instant::now());
        let mut breaker = Breaker::default();
        for _ in 0..5 {
            breaker.failed(now, &timing, "x");
            breaker.failed(now, &timing, "x");
            breaker.succeeded();
        }
        assert_eq!(breaker.state(now, &timing), BreakerState::Closed);
    }
}
