//! Where commands run and files are: the terminal, its processes, and the file tools.

pub mod backend;
pub mod files;
pub mod process;
pub mod sandbox;
pub mod terminal;
pub mod worktree;
