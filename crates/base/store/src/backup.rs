//! Copies of a database that are whole even while others write to it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, backup::Backup, backup::StepResult};

use crate::{
    Store,
    connect::Access,
    error::{Error, Fault, Result, Sql},
    retry::retry_busy,
    store::spawn_blocking,
};

impl Store {
    /// Copies the database as it is now to `dest`, replacing what is there.
    pub async fn backup_to(&self, dest: impl AsRef<Path>) -> Result<()> {
        let (source, dest) = (self.path().to_owned(), dest.as_ref().to_owned());
        spawn_blocking(self.path(), move || copy_database(&source, &dest)).await
    }
}

/// Copies any SQLite file, consistent even under write load. `dest` appears whole or not at all.
/// Blocks.
pub fn copy_database(source: &Path, dest: &Path) -> Result<()> {
    let partial = with_suffix(dest, ".partial");
    // A left-over of an interrupted copy; that there is none is the usual case.
    let _ = std::fs::remove_file(&partial);
    let copied = copy_pages(source, &partial).map_err(|fault| fault.at(source));
    let finished = copied.and_then(|()| {
        let file = std::fs::File::open(&partial).map_err(|e| Error::io(&partial, &e))?;
        file.sync_all().map_err(|e| Error::io(&partial, &e))?;
        std::fs::rename(&partial, dest).map_err(|e| Error::io(dest, &e))
    });
    if finished.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&partial);
    }
    finished
}

fn copy_pages(source: &Path, dest: &Path) -> Sql<()> {
    create_private(dest)?;
    let from = Access::find(source)?.open()?;
    let mut to = Connection::open(dest)?;
    // Nobody else sees the copy before it is whole, so it needs no journal of its own.
    to.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")?;
    // A read transaction pins one state of the file. Without it every write of another process
    // would make the copy start again.
    from.execute_batch("BEGIN")?;
    retry_busy(|| {
        from.query_row("SELECT COUNT(*) FROM sqlite_master", [], |_| Ok(()))
            .map_err(Fault::from)
    })?;
    let backup = Backup::new(&from, &mut to)?;
    retry_busy(|| match backup.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(Fault::Sql(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
            None,
        ))),
    })
}

/// A copy holds the same secrets as the original.
fn create_private(path: &Path) -> Sql<()> {
    let mut new = std::fs::OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    new.open(path).map_err(|e| Error::io(path, &e))?;
    Ok(())
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
