//! Scripts as the agent runs them, with a real Python.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod calls;
mod ends;
mod hostile;
mod results;
mod world;
