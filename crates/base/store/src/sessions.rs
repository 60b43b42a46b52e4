//! Session rows: beginning, ending, and what is known about them.

use hermes_types::SessionId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use crate::{
    Store, Usage,
    connect::Db,
    error::{Error, Fault, Result, Sql},
    time::{moment, seconds},
};

/// What a session begins with. Only the id and the source are needed.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub id: SessionId,
    /// Where it came from: `cli`, `telegram`, `cron`, …
    pub source: String,
    pub user_id: Option<String>,
    pub model: Option<String>,
    pub model_config: Option<Value>,
    pub system_prompt: Option<String>,
    pub parent: Option<SessionId>,
    pub started_at: Timestamp,
}

impl NewSession {
    /// A session that starts now.
    pub fn new(id: impl Into<SessionId>, source: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            source: source.into(),
            user_id: None,
            model: None,
            model_config: None,
            system_prompt: None,
            parent: None,
            started_at: Timestamp::now(),
        }
    }
}

/// A session as stored, without its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub source: String,
    pub user_id: Option<String>,
    pub model: Option<String>,
    pub model_config: Option<Value>,
    pub system_prompt: Option<String>,
    pub parent: Option<SessionId>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub end_reason: Option<String>,
    pub title: Option<String>,
    pub message_count: i64,
    pub tool_call_count: i64,
    pub usage: Usage,
    pub archived: bool,
}

impl Store {
    /// Makes sure there is such a session; one that exists already stays as it is.
    pub async fn ensure_session(&self, new: NewSession) -> Result<()> {
        self.write(move |db| insert(db, &new)).await
    }

    /// Ends a session that is still open. The first end wins.
    pub async fn end_session(
        &self,
        session: &SessionId,
        reason: &str,
        at: Timestamp,
    ) -> Result<()> {
        let (id, reason) = (session.clone(), reason.to_owned());
        self.write(move |db| {
            db.conn.execute(
                "UPDATE sessions SET ended_at = ?2, end_reason = ?3
                 WHERE id = ?1 AND ended_at IS NULL",
                params![id.as_str(), seconds(at), reason],
            )?;
            Ok(())
        })
        .await
    }

    /// Opens an ended session again.
    pub async fn reopen_session(&self, session: &SessionId) -> Result<()> {
        self.update(session, "ended_at = NULL, end_reason = NULL", None)
            .await
    }

    /// Records the assembled system prompt.
    pub async fn set_system_prompt(&self, session: &SessionId, prompt: &str) -> Result<()> {
        self.update(session, "system_prompt = ?2", Some(prompt.to_owned()))
            .await
    }

    /// Records a change of model in the middle of a session.
    pub async fn set_model(&self, session: &SessionId, model: &str) -> Result<()> {
        self.update(session, "model = ?2", Some(model.to_owned()))
            .await
    }

    /// The session with exactly this id.
    pub async fn session(&self, session: &SessionId) -> Result<Option<Session>> {
        let id = session.clone();
        self.read(move |db| get(db, id.as_str())).await
    }

    /// The session of one of these sources that was active last, if any, for `--continue`.
    pub async fn latest(&self, sources: &[&str]) -> Result<Option<SessionId>> {
        let query = crate::ListQuery {
            sources: sources.iter().map(|s| (*s).to_owned()).collect(),
            order: crate::Order::Activity,
            limit: 1,
            ..crate::ListQuery::default()
        };
        let rows = self.list(query).await?;
        Ok(rows.into_iter().next().map(|row| row.id))
    }

    /// A value other parts keep in `state_meta`.
    pub async fn meta(&self, key: &str) -> Result<Option<String>> {
        let key = key.to_owned();
        self.read(move |db| meta(db, &key)).await
    }

    pub async fn set_meta(&self, key: &str, value: &str) -> Result<()> {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.write(move |db| set_meta(db, &key, &value)).await
    }

    /// Changes one row; `?2` in `assignment` is `value`.
    async fn update(
        &self,
        session: &SessionId,
        assignment: &'static str,
        value: Option<String>,
    ) -> Result<()> {
        let id = session.clone();
        self.write(move |db| {
            let sql = format!("UPDATE sessions SET {assignment} WHERE id = ?1");
            let changed = match &value {
                Some(value) => db.conn.execute(&sql, params![id.as_str(), value])?,
                None => db.conn.execute(&sql, params![id.as_str()])?,
            };
            if changed == 0 {
                return Err(Error::not_found(&id).into());
            }
            Ok(())
        })
        .await
    }
}

pub(crate) fn insert(db: &Db, new: &NewSession) -> Sql<()> {
    let config = new.model_config.as_ref().map(Value::to_string);
    let inserted = db.conn.execute(
        "INSERT OR IGNORE INTO sessions
             (id, source, user_id, model, model_config, system_prompt, parent_session_id, started_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            new.id.as_str(),
            new.source,
            new.user_id,
            new.model,
            config,
            new.system_prompt,
            new.parent.as_ref().map(SessionId::as_str),
            seconds(new.started_at),
        ],
    );
    match inserted.map_err(Fault::from) {
        Ok(_) => Ok(()),
        Err(fault) if fault.breaks_foreign_key() => {
            let parent = new.parent.as_ref().map_or("", SessionId::as_str);
            Err(Error::not_found(format!("{parent} (the parent)")).into())
        }
        Err(fault) => Err(fault),
    }
}

const COLUMNS: [&str; 29] = [
    "id",
    "source",
    "user_id",
    "model",
    "model_config",
    "system_prompt",
    "parent_session_id",
    "started_at",
    "ended_at",
    "end_reason",
    "title",
    "message_count",
    "tool_call_count",
    "archived",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "api_call_count",
    "estimated_cost_usd",
    "actual_cost_usd",
    "cost_status",
    "cost_source",
    "pricing_version",
    "billing_provider",
    "billing_base_url",
    "billing_mode",
    "model",
];

pub(crate) fn get(db: &Db, id: &str) -> Sql<Option<Session>> {
    let columns = db.shape.session_list(&COLUMNS);
    let mut stmt = db
        .conn
        .prepare_cached(&format!("SELECT {columns} FROM sessions WHERE id = ?1"))?;
    Ok(stmt.query_row([id], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    let count =
        |index: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(index)?.unwrap_or(0));
    let config: Option<String> = row.get(4)?;
    Ok(Session {
        id: SessionId::new(row.get::<_, String>(0)?),
        source: row.get(1)?,
        user_id: row.get(2)?,
        model: row.get(3)?,
        model_config: config.and_then(|text| serde_json::from_str(&text).ok()),
        system_prompt: row.get(5)?,
        parent: row.get::<_, Option<String>>(6)?.map(SessionId::new),
        started_at: moment(row.get(7)?),
        ended_at: row.get::<_, Option<f64>>(8)?.map(moment),
        end_reason: row.get(9)?,
        title: row.get(10)?,
        message_count: count(11)?,
        tool_call_count: count(12)?,
        archived: count(13)? != 0,
        usage: Usage {
            input_tokens: count(14)?,
            output_tokens: count(15)?,
            cache_read_tokens: count(16)?,
            cache_write_tokens: count(17)?,
            reasoning_tokens: count(18)?,
            api_calls: count(19)?,
            estimated_cost_usd: row.get(20)?,
            actual_cost_usd: row.get(21)?,
            cost_status: row.get(22)?,
            cost_source: row.get(23)?,
            pricing_version: row.get(24)?,
            billing_provider: row.get(25)?,
            billing_base_url: row.get(26)?,
            billing_mode: row.get(27)?,
            model: row.get(28)?,
        },
    })
}

pub(crate) fn meta(db: &Db, key: &str) -> Sql<Option<String>> {
    let mut stmt = db
        .conn
        .prepare_cached("SELECT value FROM state_meta WHERE key = ?1")?;
    Ok(stmt
        .query_row([key], |row| row.get(0))
        .optional()?
        .flatten())
}

pub(crate) fn set_meta(db: &Db, key: &str, value: &str) -> Sql<()> {
    db.conn.execute(
        "INSERT INTO state_meta (key, value) VALUES (?1, ?2)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        params![key, value],
    )?;
    Ok(())
}
