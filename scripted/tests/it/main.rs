//! The scripted model as a raw HTTP client sees it. What the vendors' own clients see is checked by
//! `cargo xtask real clients`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod binary;
mod dialects;
mod faults;
mod raw;
mod steps;
