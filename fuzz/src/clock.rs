//! The processor's time, so that neighbours don't count.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// What this thread has used so far.
pub fn spent() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
