//! Checkpoints of real directories, with the real git.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod before;
mod bench;
mod faults;
mod keeping;
mod odd;
mod pruning;
mod restoring;
