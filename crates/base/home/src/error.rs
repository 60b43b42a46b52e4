//! What can go wrong in the home, said so that the owner knows what to do next.

use std::io;
use std::path::{Path, PathBuf};

use crate::Manager;
use crate::yaml;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {}", path.display(), explain(cause))]
    Io {
        doing: &'static str,
        path: PathBuf,
        /// Not called `source`: the text above already says it.
        cause: io::Error,
    },

    #[error("{}:{error}", path.display())]
    Yaml { path: PathBuf, error: yaml::Error },

    #[error(
        "this Hermes is managed by {manager}, so its configuration is not changed here; \
         edit it there and run `{}`", manager.command()
    )]
    Managed { manager: Manager },

    #[error("{0}")]
    Edit(#[from] yaml::EditError),

    #[error("no profile named '{name}' in {}; `hermes profile list` shows those there are", root.display())]
    NoProfile { name: String, root: PathBuf },

    /// Input that cannot be used; the text says what and what to do instead.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// For `map_err`: `fs::read(p).map_err(Error::io("read", p))`.
    pub fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |cause| Self::Io { doing, path, cause }
    }

    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full; free some space and try again".to_owned()
        }
        io::ErrorKind::ReadOnlyFilesystem => "the file system is mounted read-only".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "permission denied; check the owner and mode of the path".to_owned()
        }
        _ => error.to_string(),
    }
}
