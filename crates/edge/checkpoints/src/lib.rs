//! How the files of a project were before: snapshots in a git store of our own, and the way back.
//!
//! One bare repository, `<home>/checkpoints/store`, holds the snapshots of all projects: a ref, an index and a
//! small record for each. Its layout is shared with the Python program. Git is always told where the store is and
//! reads no other configuration, so the repository a project may be in itself is never touched, and nothing of it
//! (signing, hooks, filters) ever runs.

mod before;
mod destructive;
mod git;
mod history;
mod limits;
mod project;
mod prune;
mod restore;
mod rollback;
mod status;
mod store;
mod survey;
mod take;

use std::io;
use std::path::{Path, PathBuf};

pub use history::{Checkpoint, Difference};
pub use limits::{Limits, Orphans};
pub use prune::Pruned;
pub use restore::{Restored, Scope};
pub use rollback::RolledBack;
pub use status::{Archive, ProjectStatus, Status};
pub use store::Checkpoints;
pub use take::Taken;

/// Why something about checkpoints could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no git to make checkpoints with; install it, or put it on PATH")]
    NoGit,
    #[error("git {what} failed: {why}")]
    Git { what: String, why: String },
    #[error("git {what} took longer than {seconds} s")]
    Slow { what: String, seconds: u64 },
    #[error("the checkpoints are being worked on by another Hermes; try again")]
    Busy,
    #[error(transparent)]
    Proc(#[from] hermes_proc::Error),
    #[error(transparent)]
    Home(#[from] hermes_home::Error),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A directory of which no checkpoints are made.
    #[error("no checkpoints are made of {}: {why}", dir.display())]
    Unfit { dir: PathBuf, why: String },
    #[error("there are no checkpoints of {}", .0.display())]
    Nothing(PathBuf),
    #[error(
        "'{0}' is no checkpoint: give its number in the list, or 4 to 64 hex digits of its hash"
    )]
    Unspecific(String),
    #[error("there is no checkpoint {0} of this directory")]
    Unknown(String),
    #[error("'{0}' is not a path inside the directory, relative to it")]
    Outside(String),
    #[error("{file} is not in checkpoint {hash}")]
    NotInIt { file: String, hash: String },
    #[error("nothing was changed, because what is there now could not be saved first: {0}")]
    Unsaved(Box<Self>),
}

impl Error {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}

/// What most calls of this crate return.
pub type Result<T> = std::result::Result<T, Error>;
