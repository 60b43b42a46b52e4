//! The scripted model and the flaky MCP server as a raw client sees them. What the vendors' own clients see is checked by
//! `cargo xtask real clients`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod binary;
mod dialects;
mod faults;
mod mcp;
mod raw;
mod steps;
