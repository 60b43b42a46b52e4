//! The flaky MCP server on the wire: each fault does what its row says.

mod auth;
mod child;
mod healthy;
mod link;
mod network;
mod sessions;
mod spoiled;
mod sse;
