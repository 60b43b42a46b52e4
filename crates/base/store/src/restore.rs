//! Putting a copy back in place of the live file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, backup::Backup, backup::StepResult};
use tracing::warn;

use crate::{
    backup::copy_database,
    connect::Access,
    error::{Error, ErrorKind, Fault, Result, Sql},
    repair::{lock, quarantine_name, sidecar},
    retry::retry_busy,
};

/// Replaces what is in `dest` by what is in `source`. Blocks.
///
/// It goes through SQLite: whoever has `dest` open sees the old content or the new, and the log beside it
/// stays in step. A `dest` that is no database any more is moved aside under a dated name first.
pub fn restore_database(source: &Path, dest: &Path) -> Result<()> {
    if !dest.exists() {
        return copy_database(source, dest);
    }
    let _lock = lock(dest)?;
    match overwrite(source, dest).map_err(|fault| fault.at(dest)) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let aside = move_aside(dest)?;
            warn!("{error}; moved to {}", aside.display());
            copy_database(source, dest)
        }
        other => other,
    }
}

fn overwrite(source: &Path, dest: &Path) -> Sql<()> {
    let from = Access::find(source)?.open()?;
    let mut to = Connection::open(dest)?;
    to.busy_timeout(Duration::from_secs(1))?;
    // Reading tells a damaged file from one that can be written over.
    to.query_row("SELECT COUNT(*) FROM sqlite_master", [], |_| Ok(()))?;
    let backup = Backup::new(&from, &mut to)?;
    retry_busy(|| match backup.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(Fault::Sql(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
            None,
        ))),
    })
}

fn move_aside(path: &Path) -> Result<PathBuf> {
    let aside = quarantine_name(path);
    for suffix in ["", "-wal", "-shm"] {
        let from = sidecar(path, suffix);
        match std::fs::rename(&from, sidecar(&aside, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(&from, &error));
            }
            _ => {}
        }
    }
    Ok(aside)
}
