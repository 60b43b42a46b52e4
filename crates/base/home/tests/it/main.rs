//! What needs files and several writers: logs and redaction as the other crates use them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod audit;
mod log;
mod redact;
