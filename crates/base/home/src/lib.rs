//! `~/.hermes`: where everything lives that Hermes remembers between processes, and the rules for touching it.
//!
//! The directory is shared with the Python program, so file names, formats and locks are a contract
//! (`docs/spec/state.md`); how we keep it is ours.

mod attend;
pub mod audit;
pub mod backup;
pub mod clock;
pub mod config;
pub mod doctor;
pub mod dotenv;
mod env;
pub mod envvars;
mod error;
mod layout;
mod lock;
pub mod log;
mod modes;
pub mod paths;
pub mod profile;
pub mod redact;
mod resolve;
pub mod secrets;
mod write;
pub mod yaml;

pub use attend::Attendance;
pub use env::Env;
pub use error::Error;
pub use layout::Home;
pub use lock::FileLock;
pub use modes::{Manager, Modes};
pub use resolve::{Argv, Resolved};
pub use write::{replace_cache, replace_file, replace_secret};

/// What most calls of this crate return.
pub type Result<T> = std::result::Result<T, Error>;
