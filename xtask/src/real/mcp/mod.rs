//! `real mcp`: our MCP client against the protocol's conformance suites, and against servers that are killed under it.

mod conformance;
mod endurance;
pub mod node;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;

use super::Checks;

/// Most of the time everybody waits for somebody else's start.
const AT_A_TIME: usize = 3;

pub fn run(checks: &mut Checks) -> Result<()> {
    conformance::run(checks)?;
    endurance::run(checks)
}

/// Does `work` for every item, a few at a time. The results are in the order of the items.
fn each<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let queue = Mutex::new(items.into_iter().enumerate().collect::<VecDeque<_>>());
    let next = || {
        queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            while let Some((index, item)) = next() {
                mine.push((index, work(item)));
            }
            mine
        };
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().filter_map(|worker| worker.join().ok());
        joined.flatten().collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
