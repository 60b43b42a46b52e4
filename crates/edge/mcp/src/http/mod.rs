//! MCP over HTTP. Every request is one function call that ends with its own exchange, so no caller can wait for an
//! answer that cannot come any more.

mod answer;
mod body;
mod channel;
mod dial;
mod events;
mod fate;
mod legacy;
mod preflight;
mod probe;
mod resume;
mod site;
mod standing;
mod streamable;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use dial::HttpDial;
