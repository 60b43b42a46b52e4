//! The tables of `state.db`, version 11, and how older files get there.
//!
//! Names are a contract with the Python program, which opens the same file. It stamps up to 22 and
//! reads 11, so 11 is what we write; a higher number is left as it is.

use rusqlite::{Connection, OptionalExtension, params};
use tracing::{info, warn};

use crate::error::Sql;

pub(crate) const VERSION: i64 = 11;

/// The newest layout we know. Beyond it we use what is there and change nothing.
const NEWEST_KNOWN: i64 = 22;

type Step = fn(&Connection) -> Sql<()>;

/// Steps that rewrite data, by the version they lead to. Added columns need no step: see
/// [`add_missing_columns`]. Version 10 only added the trigram table, which 11 builds anew anyway.
const STEPS: [(i64, Step); 1] = [(11, rebuild_search)];

/// Makes the file usable: creates what is missing, migrates what is old. Takes the write lock only
/// if there is something to do, so that opening stays cheap when many processes do it at once.
pub(crate) fn prepare(conn: &Connection) -> Sql<()> {
    if survey(conn)?.is_current() {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE")?;
    // Somebody else may have done it while we waited for the lock, hence the second look.
    let done = survey(conn).and_then(|found| migrate(conn, &found));
    match done {
        Ok(()) => Ok(conn.execute_batch("COMMIT")?),
        Err(fault) => {
            // The migration's own error is the one worth reporting.
            let _ = conn.execute_batch("ROLLBACK");
            Err(fault)
        }
    }
}

/// Drops both search tables and builds them again from `messages`. Needs a transaction.
pub(crate) fn rebuild_search(conn: &Connection) -> Sql<()> {
    for table in SEARCH_TABLES {
        for event in TRIGGER_EVENTS {
            conn.execute_batch(&format!("DROP TRIGGER IF EXISTS {}_{event}", table.name))?;
        }
        conn.execute_batch(&format!("DROP TABLE IF EXISTS {}", table.name))?;
        conn.execute_batch(&table.ddl())?;
        let text = indexed_text("");
        conn.execute(
            &format!(
                "INSERT INTO {}(rowid, content) SELECT id, {text} FROM messages",
                table.name
            ),
            [],
        )?;
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Survey {
    version: Option<i64>,
    missing_tables: bool,
    missing_columns: bool,
    missing_indexes: bool,
    missing_search: bool,
}

impl Survey {
    fn is_current(&self) -> bool {
        match self.version {
            Some(version) if version > NEWEST_KNOWN => true,
            Some(version) if version >= VERSION => {
                !(self.missing_tables
                    || self.missing_columns
                    || self.missing_indexes
                    || self.missing_search)
            }
            _ => false,
        }
    }
}

fn survey(conn: &Connection) -> Sql<Survey> {
    let names = object_names(conn)?;
    let has = |name: &str| names.iter().any(|n| n == name);
    let version = if has("schema_version") {
        conn.query_row("SELECT version FROM schema_version LIMIT 1", [], |row| {
            row.get(0)
        })
        .optional()?
    } else {
        None
    };
    let mut missing_columns = false;
    for table in TABLES {
        if has(table.name) {
            let live = columns(conn, table.name)?;
            missing_columns |= table
                .columns
                .iter()
                .any(|(name, _)| !live.iter().any(|c| c == name));
        }
    }
    Ok(Survey {
        version,
        missing_tables: TABLES.iter().any(|t| !has(t.name)),
        missing_columns,
        missing_indexes: INDEXES.iter().any(|(name, _)| !has(name)),
        missing_search: SEARCH_TABLES
            .iter()
            .any(|t| !has(t.name) || t.trigger_names().iter().any(|n| !has(n))),
    })
}

fn migrate(conn: &Connection, found: &Survey) -> Sql<()> {
    if found.is_current() {
        return Ok(());
    }
    for table in TABLES {
        conn.execute_batch(&table.ddl())?;
        add_missing_columns(conn, table)?;
    }
    let mut search_is_new = false;
    if let Some(version) = found.version {
        for (target, step) in STEPS {
            if version < target {
                info!("state.db: migrating version {version} to {target}");
                step(conn)?;
                search_is_new = true;
            }
        }
    }
    if found.missing_search && !search_is_new {
        // A trigger that was away has let rows pass unindexed, so a half measure would lose them.
        rebuild_search(conn)?;
    }
    clear_duplicate_titles(conn)?;
    for (_, ddl) in INDEXES {
        conn.execute_batch(ddl)?;
    }
    stamp(conn, found.version)
}

fn stamp(conn: &Connection, version: Option<i64>) -> Sql<()> {
    match version {
        None => conn.execute(
            "INSERT INTO schema_version (version) VALUES (?1)",
            [VERSION],
        )?,
        Some(old) if old < VERSION => {
            conn.execute("UPDATE schema_version SET version = ?1", [VERSION])?
        }
        Some(_) => 0,
    };
    Ok(())
}

fn add_missing_columns(conn: &Connection, table: &Table) -> Sql<()> {
    let live = columns(conn, table.name)?;
    for (name, kind) in table.columns {
        if !live.iter().any(|c| c == name) {
            conn.execute_batch(&format!(
                "ALTER TABLE {} ADD COLUMN {name} {kind}",
                table.name
            ))?;
        }
    }
    Ok(())
}

/// Files from before the unique index may hold a title twice; the newest row keeps it.
fn clear_duplicate_titles(conn: &Connection) -> Sql<()> {
    let cleared = conn.execute(
        "UPDATE sessions SET title = NULL WHERE title IS NOT NULL AND rowid NOT IN
             (SELECT MAX(rowid) FROM sessions WHERE title IS NOT NULL GROUP BY title)",
        params![],
    )?;
    if cleared > 0 {
        warn!("state.db: cleared {cleared} duplicate session title(s); the newest one keeps it");
    }
    Ok(())
}

/// The columns a table has in this file, in its own order; empty if there is no such table.
pub(crate) fn columns(conn: &Connection, table: &str) -> Sql<Vec<String>> {
    let mut stmt = conn.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = stmt.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn object_names(conn: &Connection) -> Sql<Vec<String>> {
    let mut stmt = conn.prepare("SELECT name FROM sqlite_master")?;
    let names = stmt.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// Triggers that should keep the search tables in step but are not there.
pub(crate) fn missing_triggers(names: &[String]) -> Vec<String> {
    SEARCH_TABLES
        .iter()
        .flat_map(SearchTable::trigger_names)
        .filter(|trigger| !names.contains(trigger))
        .collect()
}

pub(crate) struct SearchTable {
    pub name: &'static str,
    options: &'static str,
}

/// Words for ordinary text, three-letter pieces for scripts that do not put spaces between words.
pub(crate) const SEARCH_TABLES: [SearchTable; 2] = [
    SearchTable {
        name: "messages_fts",
        options: "",
    },
    SearchTable {
        name: "messages_fts_trigram",
        options: ", tokenize='trigram'",
    },
];

const TRIGGER_EVENTS: [&str; 3] = ["insert", "delete", "update"];

impl SearchTable {
    fn trigger_names(&self) -> Vec<String> {
        TRIGGER_EVENTS
            .iter()
            .map(|event| format!("{}_{event}", self.name))
            .collect()
    }

    fn ddl(&self) -> String {
        let Self { name, options } = self;
        let text = indexed_text("new.");
        let add = format!("INSERT INTO {name}(rowid, content) VALUES (new.id, {text});");
        let remove = format!("DELETE FROM {name} WHERE rowid = old.id;");
        format!(
            "CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5(content{options});
             CREATE TRIGGER IF NOT EXISTS {name}_insert AFTER INSERT ON messages BEGIN {add} END;
             CREATE TRIGGER IF NOT EXISTS {name}_delete AFTER DELETE ON messages BEGIN {remove} END;
             CREATE TRIGGER IF NOT EXISTS {name}_update AFTER UPDATE ON messages
             BEGIN {remove} {add} END;"
        )
    }
}

/// What can be found of a message: its text, the tool's name and the arguments of its calls.
fn indexed_text(row: &str) -> String {
    ["content", "tool_name", "tool_calls"]
        .map(|column| format!("COALESCE({row}{column}, '')"))
        .join(" || ' ' || ")
}

struct Table {
    name: &'static str,
    columns: &'static [(&'static str, &'static str)],
    constraint: &'static str,
}

impl Table {
    fn ddl(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|(name, kind)| format!("{name} {kind}"))
            .collect();
        format!(
            "CREATE TABLE IF NOT EXISTS {} ({}{})",
            self.name,
            columns.join(", "),
            self.constraint
        )
    }
}

const TABLES: &[Table] = &[
    Table {
        name: "schema_version",
        columns: &[("version", "INTEGER NOT NULL")],
        constraint: "",
    },
    Table {
        name: "state_meta",
        columns: &[("key", "TEXT PRIMARY KEY"), ("value", "TEXT")],
        constraint: "",
    },
    Table {
        name: "sessions",
        columns: &[
            ("id", "TEXT PRIMARY KEY"),
            ("source", "TEXT NOT NULL"),
            ("user_id", "TEXT"),
            ("model", "TEXT"),
            ("model_config", "TEXT"),
            ("system_prompt", "TEXT"),
            ("parent_session_id", "TEXT"),
            ("started_at", "REAL NOT NULL"),
            ("ended_at", "REAL"),
            ("end_reason", "TEXT"),
            ("message_count", "INTEGER DEFAULT 0"),
            ("tool_call_count", "INTEGER DEFAULT 0"),
            ("input_tokens", "INTEGER DEFAULT 0"),
            ("output_tokens", "INTEGER DEFAULT 0"),
            ("cache_read_tokens", "INTEGER DEFAULT 0"),
            ("cache_write_tokens", "INTEGER DEFAULT 0"),
            ("reasoning_tokens", "INTEGER DEFAULT 0"),
            ("billing_provider", "TEXT"),
            ("billing_base_url", "TEXT"),
            ("billing_mode", "TEXT"),
            ("estimated_cost_usd", "REAL"),
            ("actual_cost_usd", "REAL"),
            ("cost_status", "TEXT"),
            ("cost_source", "TEXT"),
            ("pricing_version", "TEXT"),
            ("title", "TEXT"),
            ("api_call_count", "INTEGER DEFAULT 0"),
            ("handoff_state", "TEXT"),
            ("handoff_platform", "TEXT"),
            ("handoff_error", "TEXT"),
        ],
        constraint: ", FOREIGN KEY (parent_session_id) REFERENCES sessions(id)",
    },
    Table {
        name: "messages",
        columns: &[
            ("id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
            ("session_id", "TEXT NOT NULL REFERENCES sessions(id)"),
            ("role", "TEXT NOT NULL"),
            ("content", "TEXT"),
            ("tool_call_id", "TEXT"),
            ("tool_calls", "TEXT"),
            ("tool_name", "TEXT"),
            ("timestamp", "REAL NOT NULL"),
            ("token_count", "INTEGER"),
            ("finish_reason", "TEXT"),
            ("reasoning", "TEXT"),
            ("reasoning_content", "TEXT"),
            ("reasoning_details", "TEXT"),
            ("codex_reasoning_items", "TEXT"),
            ("codex_message_items", "TEXT"),
        ],
        constraint: "",
    },
    // Ours alone: the other program's rows say what a session cost, not when. No reference to the session,
    // because money stays spent when a conversation is deleted.
    Table {
        name: "hermes_spending",
        columns: &[
            ("day", "TEXT NOT NULL"),
            ("session_id", "TEXT NOT NULL"),
            ("model", "TEXT NOT NULL"),
            ("provider", "TEXT NOT NULL"),
            ("task", "TEXT NOT NULL"),
            ("input_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("output_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("cache_read_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("cache_write_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("reasoning_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("api_call_count", "INTEGER NOT NULL DEFAULT 0"),
            ("unpriced_calls", "INTEGER NOT NULL DEFAULT 0"),
            ("usd", "REAL NOT NULL DEFAULT 0"),
        ],
        constraint: ", PRIMARY KEY (session_id, day, model, provider, task)",
    },
];

const INDEXES: [(&str, &str); 6] = [
    (
        "idx_sessions_source",
        "CREATE INDEX IF NOT EXISTS idx_sessions_source ON sessions(source)",
    ),
    (
        "idx_sessions_parent",
        "CREATE INDEX IF NOT EXISTS idx_sessions_parent ON sessions(parent_session_id)",
    ),
    (
        "idx_sessions_started",
        "CREATE INDEX IF NOT EXISTS idx_sessions_started ON sessions(started_at DESC)",
    ),
    (
        "idx_messages_session",
        "CREATE INDEX IF NOT EXISTS idx_messages_session ON messages(session_id, timestamp)",
    ),
    (
        "idx_hermes_spending_day",
        "CREATE INDEX IF NOT EXISTS idx_hermes_spending_day ON hermes_spending(day)",
    ),
    (
        "idx_sessions_title_unique",
        "CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique ON sessions(title)
             WHERE title IS NOT NULL",
    ),
];
