//! Opening connections: one that writes, any number that read, also where nothing may be written.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use tracing::warn;

use crate::{
    error::{Error, Fault, Sql},
    journal::{self, Journal, Settled},
    once::first_time,
    repair,
    retry::retry_busy,
    schema,
    shape::Shape,
};

/// How to open a store.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    pub journal: Journal,
    pub mode: Mode,
    /// Makes a request for write-ahead logging fail with this text, as a network file system would.
    #[doc(hidden)]
    pub wal_refusal: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Creates and migrates the file as needed.
    #[default]
    ReadWrite,
    /// Changes nothing, for commands that only look and for other profiles' files.
    ReadOnly,
}

impl OpenOptions {
    pub fn read_only() -> Self {
        Self {
            mode: Mode::ReadOnly,
            ..Self::default()
        }
    }
}

/// A connection together with what its file has to offer.
#[derive(Debug)]
pub(crate) struct Db {
    pub conn: Connection,
    pub shape: std::sync::Arc<Shape>,
}

/// Short, because contention is handled by jittered retries: SQLite's own waiting makes convoys.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens the file for writing, creating and migrating it if needed.
pub(crate) fn open_writer(path: &Path, options: &OpenOptions) -> Sql<Connection> {
    create(path)?;
    repair::refuse_while_repairing(path)?;
    let open = || {
        retry_busy(|| {
            let conn = writer_connection(path, options)?;
            schema::prepare(&conn)?;
            Ok(conn)
        })
    };
    match open() {
        Err(fault) if fault.is_corrupt() && first_time("repair", path) => {
            warn!("{}: {fault}; trying to repair it", path.display());
            repair::repair(path)?;
            open()
        }
        other => other,
    }
}

fn writer_connection(path: &Path, options: &OpenOptions) -> Sql<Connection> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    if conn.is_readonly("main")? {
        return Err(Fault::Plain(Error::ReadOnly {
            path: path.to_owned(),
            detail: "permission denied".to_owned(),
        }));
    }
    let journal = journal::settle(&conn, path, options.journal, options.wal_refusal)?;
    // With the log, NORMAL survives a killed process: what was committed is in the kernel's hands.
    // Only a power cut may take the last commits, never the consistency. A rollback journal is not
    // that forgiving.
    let synchronous = match journal {
        Settled::Wal if !cfg!(target_os = "macos") => "NORMAL",
        _ => "FULL",
    };
    conn.execute_batch(&format!(
        "PRAGMA synchronous={synchronous};
         PRAGMA foreign_keys=ON;
         PRAGMA temp_store=MEMORY;
         PRAGMA cache_size=-16000;
         PRAGMA wal_autocheckpoint={BACKSTOP_PAGES};
         PRAGMA journal_size_limit=67108864;"
    ))?;
    if cfg!(target_os = "macos") {
        conn.execute_batch("PRAGMA checkpoint_fullfsync=1")?;
    }
    Ok(conn)
}

/// Checkpoints run on their own thread, off the path of an append; this is for when it falls behind.
const BACKSTOP_PAGES: u32 = 16_000;

/// Makes an empty file only its owner can read, if there is none.
fn create(path: &Path) -> Sql<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| Error::io(parent, &e))?;
    }
    let mut new = std::fs::OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    match new.open(path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(Error::io(path, &e).into()),
    }
}

/// Where readers get their pages from.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// The file as it changes.
    Live(PathBuf),
    /// The file as it lies there, for a place where SQLite may not even keep its shared memory.
    Frozen(PathBuf),
}

impl Access {
    /// Finds out how `path` can be read, leaving everything as it is.
    pub fn find(path: &Path) -> Sql<Self> {
        let live = Self::Live(path.to_owned());
        let refusal = match live.open() {
            Ok(_) => return Ok(live),
            Err(fault) => fault,
        };
        let log = repair::sidecar(path, "-wal");
        let log_is_empty = std::fs::metadata(log).map_or(true, |m| m.len() == 0);
        if refusal.is_busy() || refusal.is_corrupt() || !path.exists() || !log_is_empty {
            return Err(refusal);
        }
        let frozen = Self::Frozen(path.to_owned());
        match frozen.open() {
            Ok(_) => Ok(frozen),
            Err(_) => Err(refusal),
        }
    }

    pub fn open(&self) -> Sql<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = match self {
            Self::Live(path) => Connection::open_with_flags(path, flags)?,
            Self::Frozen(path) => {
                Connection::open_with_flags(frozen_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)?
            }
        };
        conn.busy_timeout(BUSY_TIMEOUT)?;
        conn.execute_batch("PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8000;")?;
        // Nothing is read until now, and nothing has failed.
        retry_busy(|| {
            conn.query_row("SELECT COUNT(*) FROM sqlite_master", [], |_| Ok(()))
                .map_err(Fault::from)
        })?;
        Ok(conn)
    }
}

fn frozen_uri(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{path}?immutable=1")
}
