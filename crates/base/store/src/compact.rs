//! A conversation made shorter: it goes on in a child of its session, or in the same one with the old messages set
//! aside. And the way back. Each is one transaction: whoever is killed leaves the one state or the other.

use hermes_types::{Message, SessionId};
use jiff::Timestamp;
use rusqlite::{params, types::Value as Cell};
use serde_json::{Value, json};

use crate::{
    NewSession, Session, Store, chain, codec,
    connect::Db,
    error::{Error, Result, Sql},
    messages, sessions,
    time::seconds,
    titles,
};

/// In `model_config` of a continuation: with how many messages it began.
const BEGAN_WITH: &str = "_compacted_messages";
/// In `model_config`: the rows each compaction in place began with, first and last.
const IN_PLACE: &str = "_compacted_in_place";
/// What a session says of how it came about; not true of the one that continues it.
const ORIGINS: [&str; 4] = ["_branched_from", "_delegate_from", BEGAN_WITH, IN_PLACE];

/// What newer files know of a session besides: who talks in it, and where.
const CARRIED: [&str; 10] = [
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "cwd",
    "git_branch",
    "git_repo_root",
    "profile_name",
];

/// A shorter conversation, ready to be stored.
#[derive(Clone, Debug)]
pub struct Shortened {
    pub system_prompt: String,
    pub messages: Vec<Message>,
    pub at: Timestamp,
}

/// What became of the wish for the old messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// They are in this session again, with what was said since.
    In(SessionId),
    /// This session was not compacted, or not by this program.
    Nothing,
}

impl Store {
    /// Ends `session` and goes on in `child`, which begins with the shorter conversation.
    pub async fn split(
        &self,
        session: &SessionId,
        child: &SessionId,
        shorter: Shortened,
    ) -> Result<()> {
        let (session, child) = (session.clone(), child.clone());
        let rows = encoded(&shorter.messages);
        self.write(move |db| {
            let parent = existing(db, &session)?;
            let at = seconds(shorter.at);
            db.conn.execute(
                "UPDATE sessions SET ended_at = ?2, end_reason = 'compression' WHERE id = ?1",
                params![session.as_str(), at],
            )?;
            begin_child(db, &parent, &child, &shorter, rows.len())?;
            insert_all(db, &child, &rows, at)?;
            count(db, child.as_str())
        })
        .await
    }

    /// Goes on in the same session; the old messages stay findable. False, and nothing is changed, if this file
    /// cannot set messages aside.
    pub async fn set_aside(&self, session: &SessionId, shorter: Shortened) -> Result<bool> {
        let session = session.clone();
        let rows = encoded(&shorter.messages);
        self.write(move |db| {
            if !(db.shape.message_has("active") && db.shape.message_has("compacted")) {
                return Ok(false);
            }
            let row = existing(db, &session)?;
            db.conn.execute(
                "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ?1 AND active IS NOT 0",
                [session.as_str()],
            )?;
            let ids = insert_all(db, &session, &rows, seconds(shorter.at))?;
            let mut done = in_place(row.model_config.as_ref());
            done.extend(ids.first().zip(ids.last()).map(|(first, last)| json!([first, last])));
            let config = marked(row.model_config, IN_PLACE, done.into());
            db.conn.execute(
                "UPDATE sessions SET system_prompt = ?2, model_config = ?3 WHERE id = ?1",
                params![session.as_str(), shorter.system_prompt, config.to_string()],
            )?;
            count(db, session.as_str())?;
            Ok(true)
        })
        .await
    }

    /// Brings back what the last compaction of this conversation left out.
    pub async fn undo_compaction(&self, session: &SessionId, at: Timestamp) -> Result<Restored> {
        let session = session.clone();
        self.write(move |db| {
            let row = existing(db, &session)?;
            let mut done = in_place(row.model_config.as_ref());
            if let Some(last) = done.pop() {
                return take_back(db, row, &last, done);
            }
            let began_with = row
                .model_config
                .as_ref()
                .and_then(|config| config[BEGAN_WITH].as_u64());
            match began_with {
                Some(began_with) => rejoin(db, &row, began_with as usize, seconds(at)),
                None => Ok(Restored::Nothing),
            }
        })
        .await
    }
}

fn encoded(messages: &[Message]) -> Vec<Vec<(&'static str, Cell)>> {
    messages.iter().map(codec::encode).collect()
}

fn existing(db: &Db, session: &SessionId) -> Sql<Session> {
    match sessions::get(db, session.as_str())? {
        Some(row) => Ok(row),
        None => Err(Error::not_found(session).into()),
    }
}

fn begin_child(
    db: &Db,
    parent: &Session,
    child: &SessionId,
    shorter: &Shortened,
    count: usize,
) -> Sql<()> {
    let mut config = parent.model_config.clone();
    if let Some(Value::Object(fields)) = &mut config {
        fields.retain(|name, _| !ORIGINS.contains(&name.as_str()));
    }
    sessions::insert(
        db,
        &NewSession {
            user_id: parent.user_id.clone(),
            model: parent.model.clone(),
            model_config: Some(marked(config, BEGAN_WITH, count.into())),
            system_prompt: Some(shorter.system_prompt.clone()),
            parent: Some(parent.id.clone()),
            started_at: shorter.at,
            ..NewSession::new(child.clone(), parent.source.clone())
        },
    )?;
    let carried: Vec<_> = CARRIED
        .into_iter()
        .filter(|column| db.shape.session_has(column))
        .collect();
    if !carried.is_empty() {
        let columns = carried.join(", ");
        db.conn.execute(
            &format!(
                "UPDATE sessions SET ({columns}) = (SELECT {columns} FROM sessions WHERE id = ?2) WHERE id = ?1"
            ),
            params![child.as_str(), parent.id.as_str()],
        )?;
    }
    if let Some(title) = &parent.title {
        let next = titles::next_in_lineage(db, title)?;
        set_title(db, child.as_str(), Some(&next))?;
    }
    Ok(())
}

fn insert_all(
    db: &Db,
    session: &SessionId,
    rows: &[Vec<(&'static str, Cell)>],
    start: f64,
) -> Sql<Vec<i64>> {
    let one = |(index, cells): (usize, &Vec<(&'static str, Cell)>)| {
        messages::insert(
            db,
            session,
            cells,
            start + index as f64 * messages::STEP_SECONDS,
        )
    };
    rows.iter().enumerate().map(one).collect()
}

/// Counts the messages and calls a session has now.
fn count(db: &Db, session: &str) -> Sql<()> {
    let stored = messages::of_session(db, session)?;
    let calls: usize = stored.iter().map(|row| row.message.tool_calls.len()).sum();
    db.conn.execute(
        "UPDATE sessions SET message_count = ?2, tool_call_count = ?3 WHERE id = ?1",
        params![session, stored.len() as i64, calls as i64],
    )?;
    Ok(())
}

fn set_title(db: &Db, session: &str, title: Option<&str>) -> Sql<()> {
    db.conn.execute(
        "UPDATE sessions SET title = ?2 WHERE id = ?1",
        params![session, title],
    )?;
    Ok(())
}

fn in_place(config: Option<&Value>) -> Vec<Value> {
    let done = config.and_then(|config| config[IN_PLACE].as_array());
    done.cloned().unwrap_or_default()
}

fn marked(config: Option<Value>, name: &str, value: Value) -> Value {
    let mut config = config.filter(Value::is_object).unwrap_or_else(|| json!({}));
    config[name] = value;
    config
}

/// The rows a compaction in place began with go, those it set aside come back; what was said since stays.
fn take_back(db: &Db, row: Session, last: &Value, before: Vec<Value>) -> Sql<Restored> {
    let session = row.id.as_str();
    let (first, end) = (
        last[0].as_i64().unwrap_or(i64::MAX),
        last[1].as_i64().unwrap_or(0),
    );
    // What an earlier compaction set aside stays so.
    let from = before
        .last()
        .and_then(|range| range[0].as_i64())
        .unwrap_or(0);
    db.conn.execute(
        "DELETE FROM messages WHERE session_id = ?1 AND id BETWEEN ?2 AND ?3",
        params![session, first, end],
    )?;
    db.conn.execute(
        "UPDATE messages SET active = 1, compacted = 0
         WHERE session_id = ?1 AND compacted = 1 AND id >= ?2 AND id < ?3",
        params![session, from, first],
    )?;
    let config = marked(row.model_config, IN_PLACE, before.into());
    db.conn.execute(
        "UPDATE sessions SET model_config = ?2 WHERE id = ?1",
        params![session, config.to_string()],
    )?;
    count(db, session)?;
    Ok(Restored::In(row.id))
}

/// What was said in a continuation moves to the session it continues, which is open again. The continuation stays
/// with the summary it began with, as one that leads nowhere.
fn rejoin(db: &Db, child: &Session, began_with: usize, at: f64) -> Sql<Restored> {
    let id = child.id.as_str();
    let chain = chain::lineage(db, id)?;
    let [.., parent, _] = chain.as_slice() else {
        return Ok(Restored::Nothing);
    };
    for row in messages::of_session(db, id)?.iter().skip(began_with) {
        db.conn.execute(
            "UPDATE messages SET session_id = ?2 WHERE id = ?1",
            params![row.id, parent],
        )?;
    }
    db.conn.execute(
        "UPDATE sessions SET ended_at = ?2, end_reason = 'compression_undone', title = NULL WHERE id = ?1",
        params![id, at],
    )?;
    db.conn.execute(
        "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?1",
        [parent],
    )?;
    let parent = SessionId::new(parent.as_str());
    let old = existing(db, &parent)?.title;
    let renamed = |title: &&String| {
        old.as_ref()
            .is_none_or(|old| titles::base(old) != titles::base(title))
    };
    if let Some(title) = child.title.as_ref().filter(renamed) {
        set_title(db, parent.as_str(), Some(title))?;
    }
    count(db, id)?;
    count(db, parent.as_str())?;
    Ok(Restored::In(parent))
}
