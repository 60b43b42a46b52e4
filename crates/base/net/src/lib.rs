//! What every crate that talks to the network shares: one way to build an HTTP client, to read server-sent
//! events, to wait before a retry, to stop in time, to be found by a browser that comes back from a login, and
//! to fetch what somebody else chose without being led into this network.

mod addresses;
pub mod backoff;
pub mod callback;
mod client;
mod deadline;
pub mod guarded;
pub mod sse;
mod tls;
mod trouble;

pub use addresses::Addresses;
pub use client::{Error, Options, Reach, Redirects, Sockets, client};
pub use deadline::{Ended, within};
pub use tls::{Identity, Tls, TlsError, TlsSettings, Trust};
pub use trouble::{trouble_cause, trouble_kind, was_never_sent};
