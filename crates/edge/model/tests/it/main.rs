//! The crate against a scripted server: every way in which a model answers, and fails to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod answers;
mod anthropic;
mod bedrock;
mod chain;
mod choice;
mod fallback;
mod faults;
mod fixtures;
mod gemini;
mod moa;
mod models;
mod pool;
mod resolve;
mod responses;
mod rows;
mod side;
mod support;
mod timing;
mod trust;
