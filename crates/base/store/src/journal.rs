//! Which journal a database file uses: write-ahead logging where the file system can do it.

use std::path::Path;

use rusqlite::Connection;
use tracing::warn;

use crate::{
    error::{Fault, Sql, speaks_of_network},
    once::first_time,
};

/// The owner's wish, `database.journal_mode` in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Journal {
    /// Write-ahead logging for a new file; an existing file keeps what it has.
    #[default]
    Auto,
    Wal,
    /// A rollback journal, for network file systems.
    Delete,
}

/// What a file ended up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Wal,
    Rollback,
}

/// Brings `conn` to the wished journal mode, or to the best one the file system allows.
///
/// `refusal` stands in for a file system that refuses, in tests.
pub(crate) fn settle(
    conn: &Connection,
    path: &Path,
    wish: Journal,
    refusal: Option<&str>,
) -> Sql<Settled> {
    let populated = conn.query_row("SELECT COUNT(*) FROM sqlite_master", [], |row| {
        row.get::<_, i64>(0)
    })? > 0;
    let ask = |mode: Option<&str>| match (mode, refusal) {
        (Some("wal"), Some(text)) => Err(refused(text)),
        (Some(mode), _) => conn.query_row(&format!("PRAGMA journal_mode={mode}"), [], |r| r.get(0)),
        (None, _) => conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)),
    };
    let (settled, reason) = negotiate(wish, populated, ask)?;
    if let Some(reason) = reason
        && first_time("journal", path)
    {
        warn!(
            "{}: this file system cannot do write-ahead logging ({reason}); using a rollback journal, \
             which is slower but works on NFS, SMB and FUSE. To silence this set \
             database.journal_mode: delete",
            path.display()
        );
    }
    Ok(settled)
}

fn refused(text: &str) -> rusqlite::Error {
    let protocol = rusqlite::ffi::Error::new(15);
    rusqlite::Error::SqliteFailure(protocol, Some(text.to_owned()))
}

/// The rule itself. `ask(None)` reads the mode, `ask(Some(mode))` requests one; both give the mode
/// then in force. The second result says why a wish for write-ahead logging came to nothing.
fn negotiate(
    wish: Journal,
    populated: bool,
    mut ask: impl FnMut(Option<&str>) -> rusqlite::Result<String>,
) -> Sql<(Settled, Option<String>)> {
    if ask(None)? == "wal" {
        if wish == Journal::Delete {
            // SQLite refuses while others have the file open, and then it stays as it is: taking
            // the log away under a live writer is how databases get lost.
            return match ask(Some("delete")) {
                Ok(mode) if mode != "wal" => Ok((Settled::Rollback, None)),
                _ => Ok((Settled::Wal, None)),
            };
        }
        return Ok((Settled::Wal, None));
    }
    // A populated file without the log was made that way on purpose.
    if wish == Journal::Delete || (wish == Journal::Auto && populated) {
        return Ok((Settled::Rollback, None));
    }
    let reason = match ask(Some("wal")) {
        Ok(mode) if mode == "wal" => return Ok((Settled::Wal, None)),
        Ok(mode) => format!("it offers {mode}"),
        Err(error) if speaks_of_network(&error.to_string()) => error.to_string(),
        Err(error) => return Err(Fault::Sql(error)),
    };
    if ask(None)? == "wal" {
        return Ok((Settled::Wal, None)); // somebody else got it there in the meantime
    }
    ask(Some("delete"))?;
    Ok((Settled::Rollback, Some(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system that starts in `mode` and answers a request for WAL with `answer`.
    fn check(
        wish: Journal,
        (mode, populated): (&str, bool),
        answer: Result<&str, &str>,
        expected: Result<(Settled, bool), &str>,
    ) {
        let mut mode = mode.to_owned();
        let result = negotiate(wish, populated, |request| {
            match request {
                None => {}
                Some("wal") => answer.map_err(refused)?.clone_into(&mut mode),
                Some(other) => other.clone_into(&mut mode),
            }
            Ok(mode.clone())
        });
        let result = result.map(|(settled, reason)| (settled, reason.is_some()));
        match (result, expected) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
            (Err(found), Err(wanted)) => assert!(found.to_string().contains(wanted), "{found}"),
            (found, wanted) => panic!("{found:?} instead of {wanted:?}"),
        }
    }

    #[test]
    fn the_wish_the_file_and_the_file_system_decide() {
        use Settled::{Rollback, Wal};
        let new = ("delete", false);
        let old = ("delete", true);
        let logged = ("wal", true);
        check(Journal::Auto, new, Ok("wal"), Ok((Wal, false)));
        check(Journal::Auto, old, Ok("wal"), Ok((Rollback, false)));
        check(Journal::Wal, old, Ok("wal"), Ok((Wal, false)));
        check(Journal::Delete, new, Ok("wal"), Ok((Rollback, false)));
        check(Journal::Delete, logged, Ok("wal"), Ok((Rollback, false)));
        check(
            Journal::Auto,
            logged,
            Err("locking protocol"),
            Ok((Wal, false)),
        );
        for marker in ["locking protocol", "not authorized", "disk I/O error"] {
            check(Journal::Auto, new, Err(marker), Ok((Rollback, true)));
        }
        check(Journal::Auto, new, Ok("delete"), Ok((Rollback, true)));
        check(Journal::Auto, new, Err("database is locked"), Err("locked"));
    }
}
