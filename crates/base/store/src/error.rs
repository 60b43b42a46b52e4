//! What can go wrong, said so that the reader knows what, where and what to do next.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error(
        "{} is in use by another program ({detail}); wait a moment and try again, or stop the other \
         Hermes process", path.display()
    )]
    Busy { path: PathBuf, detail: String },

    #[error(
        "{} is damaged ({detail}); run `hermes sessions repair`, and if that does not help \
         `hermes sessions recover` or restore a backup", path.display()
    )]
    Corrupt { path: PathBuf, detail: String },

    #[error(
        "no space left to write {}; free some disk space and start Hermes again", path.display()
    )]
    Full { path: PathBuf },

    #[error(
        "{} cannot be written ({detail}); check the permissions of the file and its directory",
        path.display()
    )]
    ReadOnly { path: PathBuf, detail: String },

    #[error("reading or writing {} failed ({detail}); check the disk{}", path.display(), hint(.detail))]
    Io { path: PathBuf, detail: String },

    #[error(
        "the session database {} is not available: {detail}{}", path.display(), hint(.detail)
    )]
    Unavailable { path: PathBuf, detail: String },

    #[error("session not found: {what}; `hermes sessions list` shows what there is")]
    NotFound { what: String },

    #[error("session not found: more than one id begins with {prefix}; type more of it")]
    Ambiguous { prefix: String },

    #[error("title '{title}' is already used by session {holder}; choose another one")]
    TitleTaken { title: String, holder: String },

    #[error("the title has {length} characters, at most {max} are allowed; shorten it")]
    TitleTooLong { length: usize, max: usize },

    #[error("{}: {detail}", path.display())]
    Other { path: PathBuf, detail: String },
}

/// The part of an error that decides what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    Busy,
    Corrupt,
    Full,
    ReadOnly,
    Io,
    Unavailable,
    NotFound,
    Ambiguous,
    TitleTaken,
    TitleTooLong,
    Other,
}

impl Error {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy { .. } => ErrorKind::Busy,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Full { .. } => ErrorKind::Full,
            Self::ReadOnly { .. } => ErrorKind::ReadOnly,
            Self::Io { .. } => ErrorKind::Io,
            Self::Unavailable { .. } => ErrorKind::Unavailable,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Ambiguous { .. } => ErrorKind::Ambiguous,
            Self::TitleTaken { .. } => ErrorKind::TitleTaken,
            Self::TitleTooLong { .. } => ErrorKind::TitleTooLong,
            Self::Other { .. } => ErrorKind::Other,
        }
    }

    /// No later write can succeed, so the store stops trying.
    pub(crate) fn ends_writing(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Corrupt | ErrorKind::Full | ErrorKind::ReadOnly | ErrorKind::Io
        )
    }

    pub(crate) fn not_found(what: impl ToString) -> Self {
        Self::NotFound {
            what: what.to_string(),
        }
    }

    pub(crate) fn io(path: &Path, source: &std::io::Error) -> Self {
        let path = path.to_owned();
        let detail = source.to_string();
        match source.kind() {
            std::io::ErrorKind::StorageFull => Self::Full { path },
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { path, detail }
            }
            _ => Self::Io { path, detail },
        }
    }
}

/// How network file systems refuse what write-ahead logging needs.
const NETWORK_MARKERS: [&str; 3] = ["locking protocol", "not authorized", "disk i/o error"];

/// True for the answers of a file system that cannot do write-ahead logging.
pub(crate) fn speaks_of_network(detail: &str) -> bool {
    let detail = detail.to_lowercase();
    NETWORK_MARKERS.iter().any(|marker| detail.contains(marker))
}

fn hint(detail: &str) -> &'static str {
    if speaks_of_network(detail) {
        " (is it on NFS, SMB or FUSE? move it to a local disk, or set database.journal_mode: delete)"
    } else {
        ""
    }
}

/// A failure inside the crate, before anybody has said which file it happened to.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Plain(Error),
}

pub(crate) type Sql<T> = std::result::Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Plain(error)
    }
}

impl Fault {
    pub fn at(&self, path: &Path) -> Error {
        match self {
            Self::Plain(error) => error.clone(),
            Self::Sql(error) => classify(error, path),
        }
    }

    pub fn is_busy(&self) -> bool {
        matches!(
            self.code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }

    pub fn is_corrupt(&self) -> bool {
        match self {
            Self::Plain(error) => error.kind() == ErrorKind::Corrupt,
            Self::Sql(error) => says_corrupt(error),
        }
    }

    /// The full-text index is damaged. FTS5 says so through the code for virtual tables, by name,
    /// or, if it holds a message already that is only now being written, as a violated constraint
    /// without further detail; those of ordinary tables name the table.
    pub fn is_search_damage(&self) -> bool {
        const SQLITE_CORRUPT_VTAB: i32 = 267;
        let Self::Sql(rusqlite::Error::SqliteFailure(code, text)) = self else {
            return false;
        };
        let text = text.as_deref().unwrap_or_default();
        code.extended_code == SQLITE_CORRUPT_VTAB
            || text == "constraint failed"
            || (text.contains("fts5") && text.contains("corrupt"))
    }

    pub fn breaks_foreign_key(&self) -> bool {
        const SQLITE_CONSTRAINT_FOREIGNKEY: i32 = 787;
        matches!(self, Self::Sql(rusqlite::Error::SqliteFailure(code, _))
            if code.extended_code == SQLITE_CONSTRAINT_FOREIGNKEY)
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            Self::Plain(_) => None,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::Plain(error) => error.fmt(f),
        }
    }
}

fn says_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) || error.to_string().contains("malformed")
}

fn classify(error: &rusqlite::Error, path: &Path) -> Error {
    let path = path.to_owned();
    let detail = error.to_string();
    if says_corrupt(error) {
        return Error::Corrupt { path, detail };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path, detail },
        Some(ErrorCode::DiskFull) => Error::Full { path },
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { path, detail },
        Some(ErrorCode::SystemIoFailure) => Error::Io { path, detail },
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied
            | ErrorCode::FileLockingProtocolFailed,
        ) => Error::Unavailable { path, detail },
        _ => Error::Other { path, detail },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(extended_code: i32, text: &str, expected: ErrorKind) {
        let error = rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(extended_code),
            Some(text.to_owned()),
        );
        let error = Fault::from(error).at(Path::new("/h/state.db"));
        assert_eq!(error.kind(), expected, "{error}");
        assert!(error.to_string().contains("/h/state.db"), "{error}");
    }

    #[test]
    fn sqlite_codes_become_kinds() {
        check(5, "database is locked", ErrorKind::Busy);
        check(261, "database is locked", ErrorKind::Busy);
        check(6, "database table is locked", ErrorKind::Busy);
        check(11, "database disk image is malformed", ErrorKind::Corrupt);
        check(267, "fts5: corruption found", ErrorKind::Corrupt);
        check(26, "file is not a database", ErrorKind::Corrupt);
        check(1, "malformed database schema (x)", ErrorKind::Corrupt);
        check(13, "database or disk is full", ErrorKind::Full);
        check(
            8,
            "attempt to write a readonly database",
            ErrorKind::ReadOnly,
        );
        check(10, "disk I/O error", ErrorKind::Io);
        check(14, "unable to open database file", ErrorKind::Unavailable);
        check(15, "locking protocol", ErrorKind::Unavailable);
        check(1, "no such column", ErrorKind::Other);
    }

    #[test]
    fn network_answers_carry_a_hint() {
        let error = Error::Unavailable {
            path: "/h/state.db".into(),
            detail: "locking protocol".into(),
        };
        assert!(error.to_string().contains("NFS"), "{error}");
    }
}
