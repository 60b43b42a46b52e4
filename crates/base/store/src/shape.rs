//! What this particular file has to offer: versions 11 to 22 differ in columns, and a file opened
//! for reading only may be older still. Looked at once when the store opens.

use rusqlite::{Connection, OptionalExtension};

use crate::{error::Sql, schema};

#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// 0 when the file carries no number.
    pub version: i64,
    pub session_columns: Vec<String>,
    pub message_columns: Vec<String>,
    /// Version 20 counts usage per model as well.
    pub has_model_usage: bool,
    /// Our own account by day; missing only where nothing may be changed.
    pub has_spending: bool,
    pub has_words: bool,
    pub has_trigrams: bool,
}

impl Shape {
    pub fn read(conn: &Connection) -> Sql<Self> {
        let names = schema::object_names(conn)?;
        let has = |name: &str| names.iter().any(|n| n == name);
        let version = if has("schema_version") {
            conn.query_row("SELECT version FROM schema_version LIMIT 1", [], |row| {
                row.get(0)
            })
            .optional()?
            .unwrap_or_default()
        } else {
            0
        };
        let usage = schema::columns(conn, "session_model_usage")?;
        Ok(Self {
            version,
            session_columns: schema::columns(conn, "sessions")?,
            message_columns: schema::columns(conn, "messages")?,
            has_model_usage: usage.iter().any(|c| c == "task"),
            has_spending: has("hermes_spending"),
            has_words: has("messages_fts"),
            has_trigrams: has("messages_fts_trigram"),
        })
    }

    pub fn session_has(&self, column: &str) -> bool {
        self.session_columns.iter().any(|c| c == column)
    }

    pub fn message_has(&self, column: &str) -> bool {
        self.message_columns.iter().any(|c| c == column)
    }

    /// A select list in which columns this file lacks read as NULL.
    pub fn session_list(&self, columns: &[&str]) -> String {
        select_list(columns, |c| self.session_has(c))
    }

    pub fn message_list(&self, columns: &[&str]) -> String {
        select_list(columns, |c| self.message_has(c))
    }

    /// Rows taken back by a rewind or compacted away are not part of the conversation any more.
    pub fn replayed(&self) -> &'static str {
        if self.message_has("active") {
            " AND active IS NOT 0"
        } else {
            ""
        }
    }

    /// Compacted rows can still be found; rows taken back cannot.
    pub fn searchable(&self) -> &'static str {
        if self.message_has("active") && self.message_has("compacted") {
            " AND (m.active IS NOT 0 OR m.compacted = 1)"
        } else {
            ""
        }
    }
}

fn select_list(columns: &[&str], has: impl Fn(&str) -> bool) -> String {
    columns
        .iter()
        .map(|column| {
            if has(column) {
                (*column).to_owned()
            } else {
                format!("NULL AS {column}")
            }
        })
        .collect::<Vec<_>>()
        .join(", ")
}
