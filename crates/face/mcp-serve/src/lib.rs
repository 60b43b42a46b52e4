//! Hermes as an MCP server: other programs read its chats, wait for news of them and answer.
//!
//! [`serve`] speaks JSON-RPC, one message a line, in every revision of the protocol from 2024-11-05 on. It keeps
//! nothing: what it tells is in the home, read anew for each call, so it works whether a gateway runs or not.

mod args;
mod channels;
mod events;
mod hello;
mod lines;
mod messages;
mod records;
mod rpc;
mod serve;
mod tools;

pub use serve::serve;
