//! What is learned, as the rest of Hermes uses it: real directories, real files, several processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking and start programs themselves"
)]

mod bad;
mod bundled;
mod crash;
mod curator;
mod curator_faults;
mod finding;
mod journal;
mod managing;
mod memory;
mod processes;
mod slash;
mod support;
mod viewing;
