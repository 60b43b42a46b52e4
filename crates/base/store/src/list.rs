//! The list of conversations: one row each, however many sessions a conversation has had.

use std::collections::{HashMap, HashSet};

use hermes_types::SessionId;
use jiff::Timestamp;
use rusqlite::OptionalExtension;

use crate::{
    Session, Store,
    chain::{self, Link},
    codec,
    connect::Db,
    error::{Result, Sql},
    sessions,
    time::moment,
};

/// Which conversations to list, and how.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Only these sources; all but [`hide`](Self::hide) if empty.
    pub sources: Vec<String>,
    /// Sources left out, unless asked for in [`sources`](Self::sources).
    pub hide: Vec<String>,
    pub order: Order,
    pub limit: usize,
    pub offset: usize,
    /// Also sub-agents and every single session of a conversation.
    pub every_session: bool,
    pub archived: bool,
}

/// What comes first in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The conversation that began last.
    #[default]
    Start,
    /// The conversation with the newest message.
    Activity,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            hide: vec!["tool".to_owned()],
            order: Order::default(),
            limit: 20,
            offset: 0,
            every_session: false,
            archived: false,
        }
    }
}

/// A conversation in a list: the session it is in today, and when it began.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub id: SessionId,
    pub source: String,
    pub model: Option<String>,
    pub title: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub end_reason: Option<String>,
    pub message_count: i64,
    pub tool_call_count: i64,
    pub last_active: Timestamp,
    /// The beginning of the first thing the user said.
    pub preview: String,
    /// The session it began in, if that is another one.
    pub root: Option<SessionId>,
}

impl Store {
    /// Conversations, newest first.
    pub async fn list(&self, query: ListQuery) -> Result<Vec<Listed>> {
        self.read(move |db| list(db, &query)).await
    }
}

/// Candidates come in order from the indexes alone, and only as many are looked at as the list has
/// rows: neither the messages nor the long system prompts of the others are read.
fn list(db: &Db, query: &ListQuery) -> Sql<Vec<Listed>> {
    let mut rows = Vec::new();
    let mut skipped = 0;
    let mut seen = HashSet::new();
    for id in candidates(db, query.order)? {
        if rows.len() == query.limit {
            break;
        }
        let Some(link) = representative(db, query, &id)? else {
            continue;
        };
        if !query.accepts(&link) || !seen.insert(link.id.clone()) {
            continue;
        }
        if skipped < query.offset {
            skipped += 1;
        } else if let Some(row) = listed(db, query, &link)? {
            rows.push(row);
        }
    }
    Ok(rows)
}

impl ListQuery {
    fn accepts(&self, link: &Link) -> bool {
        let named = |sources: &[String]| sources.contains(&link.source);
        let source = if self.sources.is_empty() {
            !named(&self.hide)
        } else {
            named(&self.sources)
        };
        source && (self.archived || !link.archived)
    }
}

/// Session ids, the first to be listed first.
fn candidates(db: &Db, order: Order) -> Sql<Vec<String>> {
    let mut stmt = db
        .conn
        .prepare_cached("SELECT rowid, started_at FROM sessions")?;
    let started: HashMap<i64, f64> = stmt
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut stmt = db.conn.prepare_cached("SELECT rowid, id FROM sessions")?;
    let mut found: Vec<(f64, f64, String)> = stmt
        .query_map([], |row| {
            let start = started.get(&row.get(0)?).copied().unwrap_or_default();
            Ok((start, start, row.get(1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    if order == Order::Activity {
        for (key, _, id) in &mut found {
            *key = chain::last_active(db, id)?.unwrap_or(*key);
        }
    }
    found.sort_by(|a, b| {
        let key = b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1));
        key.then_with(|| b.2.cmp(&a.2))
    });
    Ok(found.into_iter().map(|(_, _, id)| id).collect())
}

/// The session that stands for `id` in the list, if any.
fn representative(db: &Db, query: &ListQuery, id: &str) -> Sql<Option<Link>> {
    if query.every_session {
        return chain::link(db, id);
    }
    let id = match query.order {
        Order::Start => id.to_owned(),
        // Activity anywhere in a chain moves the whole conversation.
        Order::Activity => {
            let first = chain::lineage(db, id)?.into_iter().next();
            first.unwrap_or_else(|| id.to_owned())
        }
    };
    match chain::link(db, &id)? {
        Some(link) if chain::is_listed(db, &link)? => Ok(Some(link)),
        _ => Ok(None),
    }
}

fn listed(db: &Db, query: &ListQuery, link: &Link) -> Sql<Option<Listed>> {
    let today = if query.every_session {
        link.id.clone()
    } else {
        chain::tip(db, &link.id)?
    };
    let Some(session) = sessions::get(db, &today)? else {
        return Ok(None);
    };
    let Session { id, .. } = &session;
    let last_active = chain::last_active(db, id.as_str())?.map_or(session.started_at, moment);
    Ok(Some(Listed {
        preview: preview(db, id.as_str())?,
        last_active,
        root: (today != link.id).then(|| SessionId::new(link.id.as_str())),
        started_at: moment(link.started_at),
        source: link.source.clone(),
        id: session.id,
        model: session.model,
        title: session.title,
        ended_at: session.ended_at,
        end_reason: session.end_reason,
        message_count: session.message_count,
        tool_call_count: session.tool_call_count,
    }))
}

const PREVIEW: usize = 60;

fn preview(db: &Db, id: &str) -> Sql<String> {
    let mut stmt = db.conn.prepare_cached(
        "SELECT content FROM messages
         WHERE session_id = ?1 AND role = 'user' AND content IS NOT NULL
         ORDER BY timestamp, id LIMIT 1",
    )?;
    let content = stmt
        .query_row([id], |row| Ok(codec::text_of(row.get_ref(0)?)))
        .optional()?
        .flatten();
    let text = content.map(|stored| codec::decode_content(&stored).plain());
    Ok(shorten(&text.unwrap_or_default()))
}

fn shorten(text: &str) -> String {
    let line = text.trim().replace(['\n', '\r'], " ");
    match line.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_are_one_short_line() {
        let check = |text: &str, expected: &str| assert_eq!(shorten(text), expected);
        check("hello", "hello");
        check(" two\nlines\r\n", "two lines");
        check(&"图".repeat(60), &"图".repeat(60));
        check(&"图".repeat(61), &format!("{}...", "图".repeat(60)));
        check("", "");
    }
}
