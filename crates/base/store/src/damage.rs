//! What exactly is wrong with a damaged file: only then is it clear what may be done about it.

use std::{collections::HashMap, path::Path};

use rusqlite::{Connection, OpenFlags, params};

use crate::error::{Fault, Sql};

/// From harmless to hopeless.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damage {
    None,
    /// The search tables, which only repeat what `messages` holds.
    Search(String),
    /// An ordinary index, which can be built again.
    Index(String),
    /// The list of tables cannot be read.
    Schema(String),
    /// Messages or sessions themselves.
    Data(String),
    /// Not an SQLite file, or not any more.
    NotADatabase(String),
}

/// Reads the whole file. Slow on purpose, and therefore never part of opening it.
pub(crate) fn diagnose(path: &Path) -> Sql<Damage> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(std::time::Duration::from_secs(1))?;
    match examine(&conn) {
        Ok(damage) => Ok(damage),
        Err(fault) if fault.is_corrupt() => Ok(from_error(&fault)),
        Err(fault) => Err(fault),
    }
}

fn examine(conn: &Connection) -> Sql<Damage> {
    for look in [structure, probe, missing_from_search] {
        let damage = look(conn)?;
        if damage != Damage::None {
            return Ok(damage);
        }
    }
    Ok(Damage::None)
}

fn structure(conn: &Connection) -> Sql<Damage> {
    ask_sqlite(conn, "PRAGMA integrity_check(10000)")
}

/// How bad the file looks at a glance: its structure, but not every entry of every index.
pub(crate) fn glance(conn: &Connection) -> Sql<Damage> {
    ask_sqlite(conn, "PRAGMA quick_check(10000)")
}

/// The worst that one of SQLite's own checks has to say. It looks at the structure of all tables
/// first; should it stumble later, over what it has named before, it has said enough.
fn ask_sqlite(conn: &Connection, check: &str) -> Sql<Damage> {
    let trees = trees(conn)?;
    let mut stmt = conn.prepare(check)?;
    let rows = stmt.query_map([], |row| row.get::<_, String>(0))?;
    let mut worst = Damage::None;
    for row in rows {
        match row.map_err(Fault::from) {
            Ok(text) => {
                let damages = text.lines().map(|line| classify(line, &trees));
                worst = damages.fold(worst, Damage::max);
            }
            Err(fault) if !fault.is_corrupt() => return Err(fault),
            Err(fault) if worst == Damage::None => return Ok(from_error(&fault)),
            Err(_) => break,
        }
    }
    Ok(worst)
}

/// Which table or index begins at which page.
fn trees(conn: &Connection) -> Sql<HashMap<i64, Tree>> {
    let mut stmt = conn.prepare("SELECT rootpage, tbl_name, type FROM sqlite_master")?;
    let rows = stmt.query_map([], |row| {
        let tree = Tree {
            table: row.get(1)?,
            is_index: row.get::<_, String>(2)? == "index",
        };
        Ok((row.get::<_, Option<i64>>(0)?.unwrap_or(0), tree))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

struct Tree {
    table: String,
    is_index: bool,
}

/// What one line of an integrity check means.
fn classify(line: &str, trees: &HashMap<i64, Tree>) -> Damage {
    let detail = line.to_owned();
    let lower = line.to_lowercase();
    if lower == "ok" || lower.starts_with("***") || lower.ends_with("never used") {
        return Damage::None;
    }
    if lower.contains("fts5") {
        return Damage::Search(detail);
    }
    if lower.contains(" index ") {
        return Damage::Index(detail);
    }
    let tree = lower
        .strip_prefix("tree ")
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .and_then(|number: i64| trees.get(&number));
    match tree {
        Some(tree) if tree.table.starts_with("messages_fts") => {
            Damage::Search(format!("{}: {detail}", tree.table))
        }
        Some(tree) if tree.is_index => Damage::Index(format!("{}: {detail}", tree.table)),
        Some(tree) => Damage::Data(format!("table {}: {detail}", tree.table)),
        None => Damage::Data(detail),
    }
}

/// A search table can look whole and still refuse every new message, so one is tried, and taken back.
fn probe(conn: &Connection) -> Sql<Damage> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let id = format!("_probe_{:x}", fastrand::u64(..));
    let result = conn
        .execute(
            "INSERT INTO sessions (id, source, started_at) VALUES (?1, '_probe', 0)",
            params![id],
        )
        .and_then(|_| {
            conn.execute(
                "INSERT INTO messages (session_id, role, content, timestamp)
                 VALUES (?1, 'user', 'probe', 0)",
                params![id],
            )
        });
    // Rolling back is the whole point; if it fails, closing the connection does it.
    let _ = conn.execute_batch("ROLLBACK");
    match result.map_err(Fault::from) {
        Ok(_) => Ok(Damage::None),
        Err(fault) if fault.is_corrupt() => Ok(from_error(&fault)),
        Err(fault) => Err(fault),
    }
}

fn missing_from_search(conn: &Connection) -> Sql<Damage> {
    for (table, indexed, messages) in search_counts(conn)? {
        if indexed != messages {
            return Ok(Damage::Search(format!(
                "{table} has {indexed} of {messages} messages"
            )));
        }
    }
    Ok(Damage::None)
}

/// For each search table how many messages it has, and how many there are.
pub(crate) fn search_counts(conn: &Connection) -> Sql<Vec<(&'static str, i64, i64)>> {
    let count = |table: &str| -> Sql<i64> {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        Ok(conn.query_row(&sql, [], |row| row.get(0))?)
    };
    let messages = count("messages")?;
    let mut counts = Vec::new();
    for table in &crate::schema::SEARCH_TABLES {
        // One small row per message; the table itself would be counted by reading all its text.
        let indexed = count(&format!("{}_docsize", table.name))?;
        counts.push((table.name, indexed, messages));
    }
    Ok(counts)
}

fn from_error(fault: &Fault) -> Damage {
    let detail = fault.to_string();
    if fault.is_search_damage() {
        Damage::Search(detail)
    } else if detail.contains("malformed database schema") {
        Damage::Schema(detail)
    } else if detail.contains("not a database") {
        Damage::NotADatabase(detail)
    } else {
        Damage::Data(detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrity_lines_are_told_apart() {
        let tree = |table: &str, is_index| Tree {
            table: table.to_owned(),
            is_index,
        };
        let trees = HashMap::from([
            (5, tree("messages", false)),
            (6, tree("messages", true)),
            (9, tree("messages_fts_data", false)),
        ]);
        let check = |line: &str, expected: fn(String) -> Damage| {
            let found = classify(line, &trees);
            let expected = expected(String::new());
            let same = std::mem::discriminant(&found) == std::mem::discriminant(&expected);
            assert!(same, "{line}: {found:?}");
        };
        check("ok", |_| Damage::None);
        check("*** in database main ***", |_| Damage::None);
        check("Page 12: never used", |_| Damage::None);
        check("Tree 5 page 7 cell 3: Rowid 9 out of order", Damage::Data);
        check(
            "Tree 6 page 8: btreeInitPage() returns error code 11",
            Damage::Index,
        );
        check(
            "Tree 9 page 30: btreeInitPage() returns error code 11",
            Damage::Search,
        );
        check("Tree 77 page 30: something", Damage::Data);
        check(
            "row 4 missing from index idx_messages_session",
            Damage::Index,
        );
        check(
            "wrong # of entries in index idx_sessions_source",
            Damage::Index,
        );
        check(
            "malformed inverted index for FTS5 table main.messages_fts",
            Damage::Search,
        );
        check("Freelist: freelist leaf count too big", Damage::Data);
    }
}
