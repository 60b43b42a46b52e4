//! Bounds session recoveries that lead nowhere. Pure: the clock is a parameter.

use std::collections::VecDeque;

use tokio::time::Instant;

use crate::timing::Timing;

/// The recoveries since the last success. A server whose sessions live for seconds is served for ever; one that
/// refuses fresh sessions is not.
#[derive(Debug, Default)]
pub(crate) struct StormGuard {
    fruitless: VecDeque<Instant>,
    /// The connection of the last recovery: all who lost it share one.
    last: u64,
}

impl StormGuard {
    /// Whether a recovery from connection `generation` may be tried; counts it if so.
    pub(crate) fn allows(&mut self, generation: u64, now: Instant, timing: &Timing) -> bool {
        if generation == self.last {
            return true;
        }
        while let Some(first) = self.fruitless.front() {
            if now.duration_since(*first) < timing.storm_window {
                break;
            }
            self.fruitless.pop_front();
        }
        if self.fruitless.len() >= timing.storm_limit {
            return false;
        }
        self.fruitless.push_back(now);
        self.last = generation;
        true
    }

    pub(crate) fn succeeded(&mut self) {
        self.fruitless.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn five_in_a_minute_unless_one_helped() {
        let (timing, start) = (Timing::default(), Instant::now());
        let mut guard = StormGuard::default();
        let mut check = |generation, second, allowed| {
            let now = start + Duration::from_secs(second);
            assert_eq!(
                guard.allows(generation, now, &timing),
                allowed,
                "{generation}"
            );
        };
        for generation in 1..=5 {
            check(generation, generation - 1, true);
            check(generation, generation - 1, true);
        }
        check(6, 59, false);
        check(6, 60, true);
        check(7, 60, false);
        guard.succeeded();
        assert!(guard.allows(7, start + Duration::from_secs(60), &timing));
    }
}
