//! Mending a damaged file where nothing can be lost: search tables, indexes, the list of tables.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};
use tracing::{info, warn};

use crate::{
    backup::with_suffix,
    damage::{Damage, diagnose},
    error::{Error, Fault, Result, Sql},
    schema,
    time::stamp,
    writer::in_transaction,
};

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub outcome: Repaired,
    /// The damaged file as it was, if anything was changed.
    pub backup: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// Nothing was wrong.
    Healthy,
    SearchRebuilt,
    IndexesRebuilt,
    DuplicatesRemoved,
    SearchReplaced,
}

/// Mends `path` if that can be done without touching sessions and messages. Blocks, and takes a
/// while: the whole file is read.
///
/// Fails with [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if sessions or messages themselves
/// are damaged; [`recover`](crate::recover) is for those.
pub fn repair(path: &Path) -> Result<Repair> {
    let _lock = lock(path)?;
    match diagnose(path).map_err(|fault| fault.at(path))? {
        Damage::None => Ok(Repair {
            outcome: Repaired::Healthy,
            backup: None,
        }),
        Damage::Data(detail) | Damage::NotADatabase(detail) => Err(Error::Corrupt {
            path: path.to_owned(),
            detail: format!("this is not only the search index: {detail}"),
        }),
        Damage::Search(detail) | Damage::Index(detail) | Damage::Schema(detail) => {
            let backup = copy_aside(path)?;
            info!(
                "{}: {detail}; copied to {}",
                path.display(),
                backup.display()
            );
            mend(path, backup)
        }
    }
}

/// Builds the search tables again from the messages. Safe while others use the file. Blocks.
pub fn rebuild_search(path: &Path) -> Result<()> {
    let _lock = lock(path)?;
    rebuild(path).map_err(|fault| fault.at(path))
}

type Step = fn(&Path) -> Sql<()>;

/// The gentlest step first; after each the file is examined again.
const STEPS: [(Repaired, Step); 4] = [
    (Repaired::SearchRebuilt, rebuild),
    (Repaired::IndexesRebuilt, reindex),
    (Repaired::DuplicatesRemoved, remove_duplicates),
    (Repaired::SearchReplaced, replace_search),
];

fn mend(path: &Path, backup: PathBuf) -> Result<Repair> {
    let mut detail = String::new();
    for (outcome, step) in STEPS {
        if let Err(fault) = step(path) {
            if fault.is_busy() {
                return Err(fault.at(path));
            }
            detail = fault.to_string();
            continue;
        }
        match diagnose(path).map_err(|fault| fault.at(path))? {
            Damage::None => {
                warn!("{}: repaired ({outcome:?})", path.display());
                return Ok(Repair {
                    outcome,
                    backup: Some(backup),
                });
            }
            Damage::Search(text)
            | Damage::Index(text)
            | Damage::Schema(text)
            | Damage::Data(text)
            | Damage::NotADatabase(text) => detail = text,
        }
    }
    Err(Error::Corrupt {
        path: path.to_owned(),
        detail: format!("{detail}; a copy is at {}", backup.display()),
    })
}

fn rebuild(path: &Path) -> Sql<()> {
    let conn = connect(path)?;
    in_transaction(&conn, || schema::rebuild_search(&conn))
}

fn reindex(path: &Path) -> Sql<()> {
    let conn = connect(path)?;
    let done = conn.execute_batch("REINDEX").map_err(Fault::from);
    drop(conn);
    match done {
        Err(fault) if fault.is_corrupt() => replace_indexes(path),
        other => other,
    }
}

/// An index too damaged even to be emptied is forgotten and made anew.
fn replace_indexes(path: &Path) -> Sql<()> {
    let indexes: Vec<String> = {
        let conn = connect(path)?;
        let mut stmt =
            conn.prepare("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")?;
        let found = stmt.query_map([], |row| row.get(0))?;
        found.collect::<rusqlite::Result<_>>()?
    };
    edit_schema(
        path,
        "DELETE FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    )?;
    let conn = connect(path)?;
    conn.execute_batch("VACUUM")?;
    in_transaction(&conn, || {
        for sql in indexes {
            conn.execute_batch(&sql)?;
        }
        Ok(())
    })
}

/// A table listed twice makes the whole list unreadable; the first entry stays.
fn remove_duplicates(path: &Path) -> Sql<()> {
    edit_schema(
        path,
        "DELETE FROM sqlite_master WHERE rowid NOT IN
             (SELECT MIN(rowid) FROM sqlite_master GROUP BY type, name)",
    )
}

/// The last resort: forget the search tables without reading them, and build new ones.
fn replace_search(path: &Path) -> Sql<()> {
    edit_schema(
        path,
        "DELETE FROM sqlite_master WHERE name LIKE 'messages_fts%'",
    )?;
    let conn = connect(path)?;
    conn.execute_batch("VACUUM")?;
    schema::prepare(&conn)
}

/// Other connections would go on with the list of tables they know, so there must not be any.
fn edit_schema(path: &Path, sql: &str) -> Sql<()> {
    let conn = connect(path)?;
    conn.execute_batch("PRAGMA locking_mode=EXCLUSIVE; PRAGMA writable_schema=ON;")?;
    conn.execute_batch("BEGIN EXCLUSIVE")?;
    conn.execute_batch(sql)?;
    conn.execute_batch("COMMIT")?;
    Ok(())
}

fn connect(path: &Path) -> Sql<Connection> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(std::time::Duration::from_secs(1))?;
    Ok(conn)
}

/// A name for a damaged file that says what it is and when it was found.
pub(crate) fn quarantine_name(path: &Path) -> PathBuf {
    let name = with_suffix(path, &format!(".malformed-backup-{}", stamp()));
    let taken = |name: &PathBuf| name.exists();
    // Two within a second: the earlier one is never overwritten.
    let numbered = (2..).map(|n| with_suffix(&name, &format!("-{n}")));
    let free = std::iter::once(name.clone()).chain(numbered);
    free.into_iter().find(|n| !taken(n)).unwrap_or(name)
}

/// Copies the file and what belongs to it, byte by byte: SQLite may not be able to read it.
fn copy_aside(path: &Path) -> Result<PathBuf> {
    let backup = quarantine_name(path);
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (sidecar(path, suffix), sidecar(&backup, suffix));
        match std::fs::copy(&from, &to) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !suffix.is_empty() => {}
            Err(e) => return Err(Error::io(&to, &e)),
        }
    }
    Ok(backup)
}

pub(crate) fn sidecar(path: &Path, suffix: &str) -> PathBuf {
    with_suffix(path, suffix)
}

/// Held while a file is repaired. The file stays when it is over: removing a lock others may be
/// about to take would let two of them in.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let name = lock_name(path);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(|e| Error::io(&name, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(repairing(path)),
        Err(TryLockError::Error(e)) => Err(Error::io(&name, &e)),
    }
}

/// An opener that comes in the middle of a repair would see half of it.
pub(crate) fn refuse_while_repairing(path: &Path) -> Sql<()> {
    // No lock file, no repair. One that cannot be opened cannot have been locked by us either.
    let Ok(file) = File::open(lock_name(path)) else {
        return Ok(());
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(Fault::Plain(repairing(path))),
        _ => Ok(()),
    }
}

fn lock_name(path: &Path) -> PathBuf {
    with_suffix(path, ".repair.lock")
}

fn repairing(path: &Path) -> Error {
    Error::Busy {
        path: path.to_owned(),
        detail: "it is being repaired".to_owned(),
    }
}
