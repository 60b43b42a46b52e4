//! Sessions as JSON, with the same keys and decoding as the Python program's export.

use hermes_types::SessionId;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use crate::{
    Store, chain, codec,
    connect::Db,
    error::{Result, Sql},
};

impl Store {
    /// One session: all its columns, and its messages under `messages`.
    pub async fn export_session(&self, session: &SessionId) -> Result<Option<Value>> {
        let id = session.clone();
        self.read(move |db| session_json(db, id.as_str(), None))
            .await
    }

    /// All sessions, of one source or of any, the most recently active first.
    pub async fn export(&self, sources: ExportSources) -> Result<Export> {
        let rows = self.read(move |db| order(db, &sources)).await?;
        Ok(Export {
            store: self.clone(),
            rows: rows.into_iter(),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportSources {
    All,
    Only(String),
}

/// An export under way. It holds one session at a time.
#[derive(Debug)]
pub struct Export {
    store: Store,
    rows: std::vec::IntoIter<(String, f64)>,
}

impl Export {
    /// The next session; one that was deleted in the meantime is passed over.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        for (id, last_active) in self.rows.by_ref() {
            let found = self
                .store
                .read(move |db| session_json(db, &id, Some(last_active)))
                .await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Ids with the time of their last activity.
fn order(db: &Db, sources: &ExportSources) -> Sql<Vec<(String, f64)>> {
    let mut stmt = db
        .conn
        .prepare("SELECT id, started_at FROM sessions WHERE ?1 IS NULL OR source = ?1")?;
    let only = match sources {
        ExportSources::All => None,
        ExportSources::Only(source) => Some(source),
    };
    let mut found: Vec<(String, f64, f64)> = stmt
        .query_map([only], |row| {
            let started: f64 = row.get(1)?;
            Ok((row.get(0)?, started, started))
        })?
        .collect::<rusqlite::Result<_>>()?;
    for (id, active, _) in &mut found {
        *active = chain::last_active(db, id)?.unwrap_or(*active);
    }
    found.sort_by(|a, b| {
        let key = b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2));
        key.then_with(|| b.0.cmp(&a.0))
    });
    Ok(found
        .into_iter()
        .map(|(id, active, _)| (id, active))
        .collect())
}

fn session_json(db: &Db, id: &str, last_active: Option<f64>) -> Sql<Option<Value>> {
    let columns = &db.shape.session_columns;
    let sql = format!("SELECT {} FROM sessions WHERE id = ?1", columns.join(", "));
    let mut stmt = db.conn.prepare_cached(&sql)?;
    let mut rows = stmt.query([id])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let mut object = Map::new();
    for (index, column) in columns.iter().enumerate() {
        object.insert(column.clone(), plain(row.get_ref(index)?));
    }
    if let Some(last_active) = last_active {
        object.insert("last_active".to_owned(), Value::from(last_active));
    }
    object.insert("messages".to_owned(), Value::Array(messages_json(db, id)?));
    Ok(Some(Value::Object(object)))
}

fn messages_json(db: &Db, id: &str) -> Sql<Vec<Value>> {
    let columns = &db.shape.message_columns;
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {} FROM messages WHERE session_id = ?1{} ORDER BY id",
        columns.join(", "),
        db.shape.replayed(),
    ))?;
    let rows = stmt.query_map([id], |row| {
        let mut object = Map::new();
        for (index, column) in columns.iter().enumerate() {
            let cell = row.get_ref(index)?;
            object.insert(column.clone(), decoded(column, cell));
        }
        Ok(Value::Object(object))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Content and tool calls are decoded, everything else is given as it lies there.
fn decoded(column: &str, cell: ValueRef<'_>) -> Value {
    match (column, codec::text_of(cell)) {
        ("content", Some(text)) => codec::content_json(&text),
        ("tool_calls", Some(text)) if !text.is_empty() => {
            serde_json::from_str(&text).unwrap_or_else(|_| Value::Array(Vec::new()))
        }
        _ => plain(cell),
    }
}

fn plain(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => Value::from(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Value::from(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}
