//! The tools as the agent calls them, on real files and processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod files;
mod terminal;
mod worktree;
