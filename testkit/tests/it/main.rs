//! The test kit, tested with the programs every machine has.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cmd;
mod proxy;
mod pty;
