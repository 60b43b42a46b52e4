//! MCP over the pipes of a child: one JSON message per line. Three parts share a connection: the [`keeper`] owns
//! the child and writes to it, the [`reader`] hears it, and [`pending`] knows who waits for what.
//!
//! The connection and the child are one: when either ends, so does the other, with all the child started.

mod dial;
mod error_log;
mod keeper;
mod link;
mod pending;
mod reader;
#[cfg(test)]
mod tests;

pub(crate) use dial::StdioDial;
