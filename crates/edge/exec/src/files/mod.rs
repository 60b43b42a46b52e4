//! The file tools `read_file`, `write_file`, `patch` and `search_files`, and the workspace of this machine.
//!
//! What decides anything is pure and tested as data: the guard, the pager, the nine ways to find a text, the
//! patch format, the diff. The tools only fetch, ask these, and write.

mod args;
mod atomic;
mod cwd;
mod diff;
mod echo;
mod guard;
mod gutter;
mod kind;
mod lint;
mod local;
mod outcome;
mod page;
mod patch;
mod place;
mod read;
mod recent;
mod save;
mod search;
mod similar;
mod state;
mod text;
mod write;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_home::redact::Redactor;
use hermes_types::Tool;

pub use cwd::Cwd;
pub use guard::{Access, PathGuard, Refusal, Territory};
pub use local::LocalWorkspace;
pub use patch::Patch;
pub use place::real_path;
pub use read::ReadFile;
pub use search::SearchFiles;
pub use state::{FileState, Watch};
pub use write::WriteFile;

/// What the file tools share; given to them when they are built.
pub struct FileServices {
    pub limits: Limits,
    pub redactor: Redactor,
    /// One for the whole process, so that agents see each other's writes.
    pub state: Arc<FileState>,
    pub guard: PathGuard,
    /// What `~` means; a profile may have its own.
    pub user_home: PathBuf,
    /// What programs that check syntax run with, filtered like a command's; empty: none is run.
    pub checker_env: Vec<(String, String)>,
}

impl fmt::Debug for FileServices {
    /// Without the environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileServices")
            .field("limits", &self.limits)
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

/// How much of a file one call shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `tool_output.max_lines`
    pub max_lines: usize,
    /// `tool_output.max_line_length`, in characters.
    pub max_line_length: usize,
    /// `file_read_max_chars`
    pub max_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_lines: 2000,
            max_line_length: 2000,
            max_chars: 100_000,
        }
    }
}

/// The toolset `file`.
pub fn file_tools(services: &Arc<FileServices>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile::new(services.clone())),
        Arc::new(WriteFile::new(services.clone())),
        Arc::new(Patch::new(services.clone())),
        Arc::new(SearchFiles::new(services.clone())),
    ]
}
