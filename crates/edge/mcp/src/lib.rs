//! Connections to MCP servers that heal themselves.
//!
//! A [`Server`] is a handle on one server. Behind it a task of its own keeps the connection: it opens it, probes it
//! while it is silent, replaces it when it is lost, and never gives up. Whoever [calls](Server::call) gets an answer,
//! or a classified error with words in it, within a bound; a call that failed in a way that can be healed is made
//! once more on the new connection, but never twice if that could do harm.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use hermes_mcp::*;
//!
//! let timing = Timing::default();
//! let around = Surroundings {
//!     client: Client { name: "my-program".into(), version: "1.0".into() },
//!     herd: Herd::new(Arc::new(SystemClock), &timing),
//!     timing,
//!     sampler: None,
//!     permission: None,
//! };
//! let endpoint = Endpoint::Http(HttpEndpoint::new("https://example.com/mcp"));
//! let config = ServerConfig::new("example", endpoint);
//! let server = Server::start(config, Credentials::Configured, &around);
//!
//! let operation = Operation::CallTool { name: "search".into(), arguments: serde_json::Map::new() };
//! match server.call(&operation, &CallContext::default()).await {
//!     Ok(reply) => println!("{:?} from connection {}", reply.answer, reply.generation),
//!     Err(error) => println!("{:?}", error.cause),
//! }
//! # Ok(()) }
//! ```
//!
//! # How it is built
//!
//! - `link` is the seam: a `Dial` opens connections, a `Link` is one. `http` and `stdio` implement it. A request is a
//!   function call that ends with the exchange it travels in, so nobody can wait for an answer that cannot come.
//! - `classify` turns evidence into a [`Class`], in one place; `call` decides by the class alone what happens next.
//! - `phase` is the life of a connection as a pure table; `supervisor` walks through it, `watching` looks after a
//!   connection that works. Callers hold a `generation`: "reconnected" means that its number changed.
//! - `breaker`, `storm` and `herd` bound what a dead, a confused and a woken machine can do to everybody else.
//! - [`Timing`] holds every duration; its [`Clock`] is a parameter.
//! - `oauth` keeps access tokens fresh, once for all processes that share a [`TokenStore`].

mod auth;
mod breaker;
mod call;
mod calls;
mod classify;
mod config;
mod content;
mod desk;
mod exchange;
mod failure;
mod generation;
mod handle;
mod handshake;
mod herd;
mod http;
mod lease;
mod link;
mod listing;
mod message;
mod mirror;
mod oauth;
mod opening;
mod operation;
mod phase;
mod redact;
mod relist;
mod server;
mod shared;
mod stdio;
mod storm;
mod supervisor;
#[cfg(test)]
mod tests;
mod timing;
mod watching;

pub use config::*;
pub use content::*;
pub use failure::{Class, Failure};
pub use handle::{Credentials, Server, Surroundings, stop_all};
pub use handshake::Client;
pub use herd::Herd;
pub use link::Era;
pub use oauth::*;
pub use operation::{Answer, Operation};
pub use redact::{redact, redact_values};
pub use server::*;
pub use supervisor::Permission;
pub use timing::{Clock, SystemClock, Timing};
