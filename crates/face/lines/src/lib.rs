//! Hermes on a plain terminal: what it prints, line by line, for people and for scripts.

mod argv;
pub mod audit;
pub mod browser;
mod hidden;
mod out;
pub mod settings;
mod show;
mod table;

pub use argv::join_names;
pub use hidden::{Hidden, ask_hidden, show_typing};
pub use out::{Out, one_line, printable};
pub use show::{Show, compaction};
pub use table::{Table, cut};
