//! What can go wrong with skills, apart from what their authors did.

use std::io;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Home(#[from] hermes_home::Error),
    #[error("cannot {doing} {path}: {cause}")]
    Io {
        doing: &'static str,
        path: String,
        cause: String,
    },
    /// A file of notes that is none.
    #[error("{path} {why}")]
    Notes { path: String, why: String },
    #[error("there is no entry {0}; `hermes journey --all` lists them")]
    NoEntry(u64),
    #[error(
        "{what} was changed again by entry {later}: undo that one first (`hermes journey show {later}`)"
    )]
    ChangedSince { what: String, later: u64 },
    #[error("content {0} is missing from the journal: learning/blobs was changed by hand?")]
    Gone(String),
    #[error("the curator is at work already; `hermes curator status` shows when it was done")]
    Busy,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, cause: &io::Error) -> Self {
        Self::Io {
            doing,
            path: path.display().to_string(),
            cause: cause.to_string(),
        }
    }
}
