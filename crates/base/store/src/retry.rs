//! Waiting for other processes: jittered, so that they do not all come back at once.

use std::time::Duration;

use crate::error::Sql;

const ATTEMPTS: u32 = 15;
const SHORTEST_MS: u64 = 20;
const LONGEST_MS: u64 = 150;

/// Runs `work` until it does not find the database locked, at most [`ATTEMPTS`] times. Blocks.
pub(crate) fn retry_busy<T>(mut work: impl FnMut() -> Sql<T>) -> Sql<T> {
    let mut attempt = 1;
    loop {
        match work() {
            Err(fault) if fault.is_busy() && attempt < ATTEMPTS => {
                attempt += 1;
                let pause = fastrand::u64(SHORTEST_MS..=LONGEST_MS);
                std::thread::sleep(Duration::from_millis(pause));
            }
            other => return other,
        }
    }
}
