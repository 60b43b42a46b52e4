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
