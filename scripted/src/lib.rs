//! A model server on loopback that says what a JSON script tells it to, faults included, in the
//! dialects of OpenAI, Anthropic, Google and Amazon. `hermes demo` runs on it, and so do the tests.
//!
//! The script format is described in `README.md` next to this crate's manifest.

mod answer;
mod dialect;
mod format;
mod handle;
pub mod mcp;
mod prompt;
mod script;
mod server;
mod state;
mod wire;

pub use format::ScriptError;
pub use script::Script;
pub use server::ScriptedModel;
pub use state::Recorded;
