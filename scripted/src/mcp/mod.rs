//! An MCP server that fails on demand, on all three transports, and counts what happens to it.
//!
//! Healthy, it offers a few tools, a resource and a prompt. Armed with a [`Fault`], it does to the next
//! operations what that row of the fault matrix says, byte by byte. Formats are in `README.md`.

mod act;
mod call;
mod child;
mod control;
mod counters;
mod fault;
mod http;
mod legacy;
mod oauth;
mod offer;
mod options;
mod pipe;
mod relay;
mod route;
mod rows;
mod rpc;
mod server;
mod session;
mod spoil;
mod state;
mod streamable;
mod text;

pub use counters::{Counters, Seen};
pub use fault::{Fault, Form, LostEvent, Moment, Page, Realm, Times, UnknownFault, Wrong};
pub use oauth::Tokens;
pub use offer::{PROMPT, RESOURCE};
pub use options::{Auth, Capability, Era, Options};
pub use relay::{grandchild, relay};
pub use server::Flaky;
