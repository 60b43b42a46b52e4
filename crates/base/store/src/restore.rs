//! Putting a copy back in place of the live file.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, backup::Backup, backup::StepResult};

use crate::{
    backup::copy_database,
    connect::Access,
    error::{ErrorKind, Fault, Result, Sql},
    recover::recover,
    retry::retry_busy,
};

/// Replaces what is in `dest` by what is in `source`. Blocks.
///
/// It goes through SQLite: whoever has `dest` open sees the old content or the new, and the log beside it
/// stays in step. A damaged `dest` is first set aside under a dated name, as [`recover`] does.
pub fn restore_database(source: &Path, dest: &Path) -> Result<()> {
    if !dest.exists() {
        return copy_database(source, dest);
    }
    let overwritten = overwrite(source, dest).map_err(|fault| fault.at(dest));
    match overwritten {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            recover(dest)?;
            overwrite(source, dest).map_err(|fault| fault.at(dest))
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
