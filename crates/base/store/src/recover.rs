//! Saving what can still be read from a file SQLite cannot mend.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, config::DbConfig, params_from_iter, types::Value as Cell};
use tracing::warn;

use crate::{
    backup::with_suffix,
    error::{Error, Fault, Result, Sql},
    repair::{lock, quarantine_name, sidecar},
    schema,
};

/// What was saved, and where the damaged file is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    pub sessions: usize,
    pub messages: usize,
    /// What could not be read, in words.
    pub losses: Vec<String>,
    pub quarantined: PathBuf,
}

/// Builds a new database from everything that can be read from the one at `path`, and puts it in its
/// place. The old file is kept under a dated name beside it. Blocks.
///
/// Fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy) while anybody else has the file open.
pub fn recover(path: &Path) -> Result<Recovery> {
    let _lock = lock(path)?;
    let fresh = with_suffix(path, ".recovering");
    // Left over from an attempt that was interrupted; it held nothing but a part of the old file.
    discard(&fresh);
    let mut recovery = salvage(path, &fresh).map_err(|fault| {
        discard(&fresh);
        fault.at(path)
    })?;
    let quarantined = quarantine_name(path);
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (sidecar(path, suffix), sidecar(&quarantined, suffix));
        match std::fs::rename(&from, &to) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !suffix.is_empty() => {}
            Err(e) => return Err(Error::io(&from, &e)),
        }
    }
    std::fs::rename(&fresh, path).map_err(|e| Error::io(path, &e))?;
    warn!(
        "{}: recovered {} sessions and {} messages; the damaged file is {}",
        path.display(),
        recovery.sessions,
        recovery.messages,
        quarantined.display()
    );
    recovery.quarantined = quarantined;
    Ok(recovery)
}

/// Removes an unfinished copy; that there is none is the usual case.
fn discard(fresh: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(sidecar(fresh, suffix));
    }
}

fn salvage(path: &Path, fresh: &Path) -> Sql<Recovery> {
    let new = Connection::open(fresh)?;
    // If the machine stops now, recovery is simply started again.
    new.execute_batch("PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF;")?;
    let mut losses = Vec::new();
    match open_damaged(path) {
        Ok(old) => {
            new.execute_batch("BEGIN")?;
            copy_tables(&old, &new, &mut losses)?;
            new.execute_batch("COMMIT")?;
        }
        Err(fault) if fault.is_corrupt() => losses.push(format!("the whole file: {fault}")),
        Err(fault) => return Err(fault),
    }
    schema::prepare(&new)?;
    tidy(&new)?;
    // The log's mark lies in the file; a file system that refuses it keeps the other journal.
    let _ = new.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()));
    let count = |table: &str| -> Sql<usize> {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        Ok(new.query_row(&sql, [], |row| row.get::<_, i64>(0))? as usize)
    };
    Ok(Recovery {
        sessions: count("sessions")?,
        messages: count("messages")?,
        losses,
        quarantined: PathBuf::new(),
    })
}

/// Opens the damaged file alone, and so that closing it changes nothing in it.
fn open_damaged(path: &Path) -> Sql<Connection> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.execute_batch("PRAGMA locking_mode=EXCLUSIVE; PRAGMA writable_schema=ON;")?;
    conn.execute_batch("BEGIN EXCLUSIVE; ROLLBACK;")?;
    Ok(conn)
}

fn copy_tables(old: &Connection, new: &Connection, losses: &mut Vec<String>) -> Sql<()> {
    for (kind, name, sql) in readable_schema(old, losses)? {
        if kind == "table" {
            if let Err(error) = new.execute_batch(&sql) {
                losses.push(format!("table {name}: {error}"));
                continue;
            }
            let mut copy = TableCopy::new(old, new, &name)?;
            copy.run()?;
            if let Some(loss) = copy.loss() {
                losses.push(loss);
            }
        } else {
            // An index is a convenience; `prepare` makes those that are not.
            let _ = new.execute_batch(&sql);
        }
    }
    Ok(())
}

/// The ordinary tables, then their indexes. Search tables and triggers are made anew.
fn readable_schema(
    old: &Connection,
    losses: &mut Vec<String>,
) -> Sql<Vec<(String, String, String)>> {
    let mut stmt = old.prepare(
        "SELECT type, name, sql FROM sqlite_master
         WHERE type IN ('table', 'index') AND sql IS NOT NULL
             AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name NOT LIKE 'messages~_fts%' ESCAPE '~'
             AND name <> 'idx_sessions_title_unique'
         ORDER BY type DESC, rowid",
    )?;
    let mut rows = stmt.query([])?;
    let mut found = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => found.push((row.get(0)?, row.get(1)?, row.get(2)?)),
            Ok(None) => break,
            Err(error) => {
                losses.push(format!("a part of the list of tables: {error}"));
                break;
            }
        }
    }
    Ok(found)
}

/// Messages whose session is lost get one to live in, and counters say what is there.
fn tidy(new: &Connection) -> Sql<()> {
    new.execute_batch(
        "INSERT INTO sessions (id, source, started_at)
             SELECT session_id, 'unknown', MIN(timestamp) FROM messages
             WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id;
         UPDATE sessions SET parent_session_id = NULL
             WHERE parent_session_id NOT IN (SELECT id FROM sessions);
         UPDATE sessions SET message_count =
             (SELECT COUNT(*) FROM messages WHERE session_id = sessions.id);",
    )?;
    Ok(())
}

/// Copies one table row by row, and steps over the parts that cannot be read.
struct TableCopy<'a> {
    old: &'a Connection,
    new: &'a Connection,
    name: &'a str,
    columns: String,
    insert: String,
    gaps: usize,
    reason: String,
}

enum Stop {
    End,
    /// The first row that could not be read lies beyond this one.
    Broken(i64),
}

impl<'a> TableCopy<'a> {
    fn new(old: &'a Connection, new: &'a Connection, name: &'a str) -> Sql<Self> {
        let columns = schema::columns(new, name)?;
        let marks = vec!["?"; columns.len()].join(", ");
        let columns = columns.join(", ");
        Ok(Self {
            old,
            new,
            name,
            insert: format!("INSERT OR IGNORE INTO {name} ({columns}) VALUES ({marks})"),
            columns,
            gaps: 0,
            reason: String::new(),
        })
    }

    fn loss(&self) -> Option<String> {
        let Self {
            name, gaps, reason, ..
        } = self;
        (*gaps > 0).then(|| format!("{name}: unreadable in {gaps} place(s): {reason}"))
    }

    fn run(&mut self) -> Sql<()> {
        let mut after = i64::MIN;
        while let Stop::Broken(last) = self.copy("ASC", after, i64::MAX)? {
            self.gaps += 1;
            let Some(next) = self.next_readable(last) else {
                break;
            };
            // The search for it jumps, so the rows just before it come backwards.
            self.copy("DESC", last, next)?;
            // Its place in the tree is fine; if its own text is not, it is passed over.
            self.copy("ASC", next - 1, next + 1)?;
            after = next;
        }
        Ok(())
    }

    /// The first rowid beyond `last` the tree leads to, looked for in growing steps.
    fn next_readable(&self, last: i64) -> Option<i64> {
        let sql = format!(
            "SELECT rowid FROM {} WHERE rowid >= ?1 ORDER BY rowid LIMIT 1",
            self.name
        );
        let mut step = 1_i64;
        let mut start = last.max(0);
        loop {
            start = start.checked_add(step)?;
            step = step.checked_mul(2)?;
            match self.old.query_row(&sql, [start], |row| row.get(0)) {
                Ok(found) => return Some(found),
                Err(rusqlite::Error::QueryReturnedNoRows) => return None,
                Err(_) => {} // still inside the gap
            }
        }
    }

    /// Copies the rows between `from` and `to`, both excluded, until one cannot be read.
    fn copy(&mut self, direction: &str, from: i64, to: i64) -> Sql<Stop> {
        let sql = format!(
            "SELECT rowid, {} FROM {} WHERE rowid > ?1 AND rowid < ?2 ORDER BY rowid {direction}",
            self.columns, self.name
        );
        let mut last = from;
        let mut read = match self.old.prepare(&sql) {
            Ok(read) => read,
            Err(error) => return self.broken(last, &error),
        };
        let mut write = self.new.prepare_cached(&self.insert)?;
        let width = read.column_count();
        let mut rows = read.query([from, to])?;
        loop {
            let cells = match rows.next() {
                Ok(None) => return Ok(Stop::End),
                Ok(Some(row)) => (0..width)
                    .map(|index| row.get(index))
                    .collect::<rusqlite::Result<Vec<Cell>>>(),
                Err(error) => Err(error),
            };
            match cells {
                Ok(cells) => {
                    if let Some(Cell::Integer(rowid)) = cells.first() {
                        last = *rowid;
                    }
                    write.execute(params_from_iter(&cells[1..]))?;
                }
                Err(error) => {
                    drop(rows);
                    return self.broken(last, &error);
                }
            }
        }
    }

    fn broken(&mut self, last: i64, error: &rusqlite::Error) -> Sql<Stop> {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, OutOfMemory};
        if matches!(
            error.sqlite_error_code(),
            Some(DatabaseBusy | DatabaseLocked | OutOfMemory)
        ) {
            return Err(Fault::Plain(Error::Unavailable {
                path: PathBuf::from(self.name),
                detail: error.to_string(),
            }));
        }
        self.reason = error.to_string();
        Ok(Stop::Broken(last))
    }
}
