//! Keeping the search index in few pieces, in small steps between appends.
//!
//! FTS5 writes a new piece per commit and, left to itself, merges pieces inside some later commit:
//! that append then takes tens of milliseconds longer than the others. So its own merging is switched
//! off (what is left of it is the emergency brake at 16 pieces), and done here, after the answer has
//! been given, within a time limit.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use tracing::debug;

use crate::{connect::BUSY_TIMEOUT, error::Sql, schema::SEARCH_TABLES};

/// Merging after every write would double the time of the next one; this way most are not touched.
const EVERY: u32 = 8;
const BUDGET: Duration = Duration::from_millis(12);
/// Pages per step: well below a millisecond.
const STEP_PAGES: i64 = 16;

#[derive(Debug, Default)]
pub(crate) struct Merging {
    writes: u32,
    /// Whether FTS5's own merging is known to be off.
    tuned: bool,
}

impl Merging {
    /// To be called after each write. Best effort: a piece more or less does no harm.
    pub fn after_write(&mut self, conn: &Connection) {
        self.writes += 1;
        if !self.writes.is_multiple_of(EVERY) {
            return;
        }
        match self.merge_unless_busy(conn) {
            Ok(()) => self.tuned = true,
            Err(fault) => debug!("merging the search index: {fault}"),
        }
    }

    /// The next append must not wait because this waits for somebody else.
    fn merge_unless_busy(&self, conn: &Connection) -> Sql<()> {
        conn.busy_timeout(Duration::ZERO)?;
        let begun = conn.execute_batch("BEGIN IMMEDIATE");
        conn.busy_timeout(BUSY_TIMEOUT)?;
        begun?;
        let done = match self.tuned {
            true => merge(conn),
            false => tune(conn).and_then(|()| merge(conn)),
        };
        // Whatever was merged so far is worth keeping.
        conn.execute_batch("COMMIT")?;
        done
    }
}

fn tune(conn: &Connection) -> Sql<()> {
    for table in &SEARCH_TABLES {
        let name = table.name;
        let off: bool = conn.query_row(
            &format!("SELECT EXISTS (SELECT 1 FROM {name}_config WHERE k = 'automerge' AND v = 0)"),
            [],
            |row| row.get(0),
        )?;
        if !off {
            conn.execute_batch(&format!(
                "INSERT INTO {name}({name}, rank) VALUES ('automerge', 0)"
            ))?;
        }
    }
    Ok(())
}

fn merge(conn: &Connection) -> Sql<()> {
    let start = Instant::now();
    for table in &SEARCH_TABLES {
        let name = table.name;
        let mut step = conn.prepare_cached(&format!(
            "INSERT INTO {name}({name}, rank) VALUES ('merge', {STEP_PAGES})"
        ))?;
        loop {
            let before = conn.total_changes();
            step.execute([])?;
            // Fewer than two changes is how FTS5 says that there was nothing to merge.
            if conn.total_changes() - before < 2 {
                break;
            }
            if start.elapsed() > BUDGET {
                return Ok(());
            }
        }
    }
    Ok(())
}
