//! The pieces of the screen as the chat uses them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy excuses tests, but not what they share"
)]

mod input;
mod menu;
