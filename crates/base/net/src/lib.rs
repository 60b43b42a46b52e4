//! What every crate that talks to the network shares: one way to build an HTTP client, to read server-sent
//! events, to wait before a retry and to stop in time.

pub mod backoff;
mod client;
mod deadline;
pub mod sse;

pub use client::{Error, Options, Reach, client};
pub use deadline::{Ended, within};
