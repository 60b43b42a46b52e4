//! What others may look at of the gateway's conversations: which chats there are, and what was said in them.
//!
//! Only files that know `session_key` (see [`Shape`](crate::shape::Shape)) can answer the first; older ones have
//! no chats, and their reader turns to `sessions.json`.

use std::collections::HashSet;

use hermes_types::SessionId;
use jiff::Timestamp;
use rusqlite::{Row, params};
use serde_json::Value;

use crate::{
    Store, StoredMessage, chain, codec,
    connect::Db,
    error::{Result, Sql},
    time::moment,
};

/// The session a chat of some platform is in today.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewaySession {
    /// Names the chat for as long as it exists; sessions come and go.
    pub key: String,
    pub id: SessionId,
    /// The platform.
    pub source: String,
    pub user_id: Option<String>,
    pub display_name: Option<String>,
    pub chat_id: Option<String>,
    pub chat_type: Option<String>,
    pub thread_id: Option<String>,
    /// Everything the platform said about where the chat is.
    pub origin: Option<Value>,
    pub started_at: Timestamp,
    pub last_active: Timestamp,
    pub input_tokens: i64,
    pub output_tokens: i64,
}

/// What people and the assistant said in one session, without tools and silence.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub total: usize,
    /// The newest of them, oldest first.
    pub messages: Vec<StoredMessage>,
}

/// What was said anywhere since some message.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// The newest message there is, whoever said it: where to go on from.
    pub last_id: i64,
    /// The newest of them, oldest first.
    pub messages: Vec<(SessionId, StoredMessage)>,
}

impl Store {
    /// The chats that have an open session, the most recently active first.
    pub async fn gateway_sessions(&self) -> Result<Vec<GatewaySession>> {
        self.read(gateway_sessions).await
    }

    /// The last `newest` messages that were said in a session.
    pub async fn said(&self, session: &SessionId, newest: usize) -> Result<Said> {
        let session = session.clone();
        self.read(move |db| said(db, session.as_str(), newest))
            .await
    }

    /// The last `newest` messages that were said in any session after the message `after`.
    pub async fn said_since(&self, after: i64, newest: usize) -> Result<News> {
        self.read(move |db| said_since(db, after, newest)).await
    }
}

const COLUMNS: [&str; 12] = [
    "session_key",
    "id",
    "source",
    "user_id",
    "display_name",
    "chat_id",
    "chat_type",
    "thread_id",
    "origin_json",
    "started_at",
    "input_tokens",
    "output_tokens",
];

fn gateway_sessions(db: &Db) -> Sql<Vec<GatewaySession>> {
    if !db.shape.session_has("session_key") {
        return Ok(Vec::new());
    }
    let columns = db.shape.session_list(&COLUMNS);
    let shown = if db.shape.session_has("archived") {
        " AND archived IS NOT 1"
    } else {
        ""
    };
    // A chat that was switched back to an older session is in that one: open counts before new.
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {columns} FROM sessions
         WHERE session_key <> ''{shown} AND (ended_at IS NULL OR end_reason = 'compression')
         ORDER BY ended_at IS NULL DESC, started_at DESC, rowid DESC"
    ))?;
    let rows = stmt.query_map([], read)?;
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for row in rows {
        let mut session = row?;
        if !seen.insert(session.key.clone()) {
            continue;
        }
        session.id = SessionId::new(chain::tip(db, session.id.as_str())?);
        if let Some(active) = chain::last_active(db, session.id.as_str())? {
            session.last_active = moment(active);
        }
        found.push(session);
    }
    found.sort_by_key(|session| std::cmp::Reverse(session.last_active));
    Ok(found)
}

fn read(row: &Row<'_>) -> rusqlite::Result<GatewaySession> {
    let text = |index: usize| -> rusqlite::Result<Option<String>> {
        Ok(codec::text_of(row.get_ref(index)?))
    };
    let count =
        |index: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(index)?.unwrap_or(0));
    let started_at = moment(row.get(9)?);
    Ok(GatewaySession {
        key: text(0)?.unwrap_or_default(),
        id: SessionId::new(text(1)?.unwrap_or_default()),
        source: text(2)?.unwrap_or_default(),
        user_id: text(3)?,
        display_name: text(4)?,
        chat_id: text(5)?,
        chat_type: text(6)?,
        thread_id: text(7)?,
        origin: text(8)?.and_then(|json| serde_json::from_str(&json).ok()),
        started_at,
        last_active: started_at,
        input_tokens: count(10)?,
        output_tokens: count(11)?,
    })
}

/// Rows somebody would want to read.
const SPOKEN: &str = "role IN ('user', 'assistant') AND content <> ''";

fn said(db: &Db, session: &str, newest: usize) -> Sql<Said> {
    let rows = format!(
        "FROM messages WHERE session_id = ?1 AND {SPOKEN}{}",
        db.shape.replayed()
    );
    let mut stmt = db.conn.prepare_cached(&format!("SELECT COUNT(*) {rows}"))?;
    let total: i64 = stmt.query_row([session], |row| row.get(0))?;
    let columns = db.shape.message_list(&codec::COLUMNS);
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {columns} {rows} ORDER BY id DESC LIMIT ?2"
    ))?;
    let found = stmt.query_map(params![session, limit(newest)], codec::decode)?;
    let mut messages: Vec<StoredMessage> = found.collect::<rusqlite::Result<_>>()?;
    messages.reverse();
    Ok(Said {
        total: usize::try_from(total).unwrap_or_default(),
        messages,
    })
}

fn said_since(db: &Db, after: i64, newest: usize) -> Sql<News> {
    let mut stmt = db.conn.prepare_cached("SELECT MAX(id) FROM messages")?;
    let last_id: Option<i64> = stmt.query_row([], |row| row.get(0))?;
    let columns = db.shape.message_list(&codec::COLUMNS);
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {columns}, session_id FROM messages WHERE id > ?1 AND {SPOKEN}{}
         ORDER BY id DESC LIMIT ?2",
        db.shape.replayed()
    ))?;
    let found = stmt.query_map(params![after, limit(newest)], |row| {
        let session: String = row.get(codec::COLUMNS.len())?;
        Ok((SessionId::new(session), codec::decode(row)?))
    })?;
    let mut messages: Vec<_> = found.collect::<rusqlite::Result<_>>()?;
    messages.reverse();
    Ok(News {
        last_id: last_id.unwrap_or(0),
        messages,
    })
}

fn limit(newest: usize) -> i64 {
    i64::try_from(newest).unwrap_or(i64::MAX)
}
