//! Hermes on a plain terminal: what it prints, line by line, for people and for scripts.

mod out;
mod show;
mod table;

pub use out::{Out, one_line, printable};
pub use show::{Show, compaction};
pub use table::{Table, cut};
