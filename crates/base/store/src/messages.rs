//! Writing messages and reading them back.

use hermes_types::{Message, SessionId};
use jiff::Timestamp;
use rusqlite::{params, params_from_iter, types::Value as Cell};

use crate::{
    Store, StoredMessage, codec,
    connect::Db,
    error::{Error, Fault, Result, Sql},
    time::seconds,
};

/// Rewritten messages lie this far apart, so that their order shows in their time as well.
pub(crate) const STEP_SECONDS: f64 = 1e-6;

impl Store {
    /// Adds a message to the end of a session and returns its id, after the commit.
    pub async fn append(
        &self,
        session: &SessionId,
        message: &Message,
        at: Timestamp,
    ) -> Result<i64> {
        let session = session.clone();
        let cells = codec::encode(message);
        let calls = message.tool_calls.len() as i64;
        let at = seconds(at);
        self.write(move |db| {
            let id = insert(db, &session, &cells, at)?;
            db.conn
                .prepare_cached(
                    "UPDATE sessions SET message_count = message_count + 1,
                     tool_call_count = tool_call_count + ?2 WHERE id = ?1",
                )?
                .execute(params![session.as_str(), calls])?;
            Ok(id)
        })
        .await
    }

    /// Puts `messages` in the place of all a session has, or changes nothing.
    pub async fn replace_messages(
        &self,
        session: &SessionId,
        messages: &[Message],
        at: Timestamp,
    ) -> Result<()> {
        let session = session.clone();
        let rows: Vec<_> = messages.iter().map(codec::encode).collect();
        let calls: usize = messages.iter().map(|m| m.tool_calls.len()).sum();
        let start = seconds(at);
        self.write(move |db| {
            db.conn.execute(
                "DELETE FROM messages WHERE session_id = ?1",
                [session.as_str()],
            )?;
            for (index, cells) in rows.iter().enumerate() {
                insert(db, &session, cells, start + index as f64 * STEP_SECONDS)?;
            }
            let changed = db.conn.execute(
                "UPDATE sessions SET message_count = ?2, tool_call_count = ?3 WHERE id = ?1",
                params![session.as_str(), rows.len() as i64, calls as i64],
            )?;
            if changed == 0 {
                return Err(Error::not_found(&session).into());
            }
            Ok(())
        })
        .await
    }

    /// The messages of a session as they were written, without what was taken back since.
    pub async fn messages(&self, session: &SessionId) -> Result<Vec<StoredMessage>> {
        let session = session.clone();
        self.read(move |db| of_session(db, session.as_str())).await
    }

    /// Up to `window` messages before and after `message` of a session, and itself; empty if it is
    /// not there.
    pub async fn messages_around(
        &self,
        session: &SessionId,
        message: i64,
        window: usize,
    ) -> Result<Vec<StoredMessage>> {
        let session = session.clone();
        self.read(move |db| around(db, session.as_str(), message, window))
            .await
    }
}

/// Adds one row; the triggers add it to the search tables.
pub(crate) fn insert(
    db: &Db,
    session: &SessionId,
    cells: &[(&'static str, Cell)],
    at: f64,
) -> Sql<i64> {
    let present: Vec<_> = cells
        .iter()
        .filter(|(column, _)| db.shape.message_has(column))
        .collect();
    let columns: String = present.iter().map(|(c, _)| format!(", {c}")).collect();
    let marks = ", ?".repeat(present.len());
    let fixed = [Cell::Text(session.as_str().to_owned()), Cell::Real(at)];
    let values = fixed.iter().chain(present.iter().map(|(_, cell)| cell));
    let result = db
        .conn
        .prepare_cached(&format!(
            "INSERT INTO messages (session_id, timestamp{columns}) VALUES (?, ?{marks})"
        ))?
        .insert(params_from_iter(values));
    match result.map_err(Fault::from) {
        Err(fault) if fault.breaks_foreign_key() => Err(Error::not_found(session).into()),
        other => other,
    }
}

pub(crate) fn of_session(db: &Db, session: &str) -> Sql<Vec<StoredMessage>> {
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {} FROM messages WHERE session_id = ?1{} ORDER BY id",
        db.shape.message_list(&codec::COLUMNS),
        db.shape.replayed(),
    ))?;
    let rows = stmt.query_map([session], codec::decode)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn around(db: &Db, session: &str, message: i64, window: usize) -> Sql<Vec<StoredMessage>> {
    let columns = db.shape.message_list(&codec::COLUMNS);
    let replayed = db.shape.replayed();
    // The inner queries see only ids, so a long session is not read to find a few messages of it.
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {columns} FROM messages WHERE id IN
             (SELECT id FROM messages WHERE session_id = ?1 AND id <= ?2{replayed}
              ORDER BY id DESC LIMIT ?3 + 1)
         OR id IN
             (SELECT id FROM messages WHERE session_id = ?1 AND id > ?2{replayed}
              ORDER BY id LIMIT ?3)
         ORDER BY id"
    ))?;
    let rows = stmt.query_map(params![session, message, window as i64], codec::decode)?;
    let found: Vec<StoredMessage> = rows.collect::<rusqlite::Result<_>>()?;
    let anchored = found.iter().any(|m| m.id == message);
    Ok(if anchored { found } else { Vec::new() })
}
