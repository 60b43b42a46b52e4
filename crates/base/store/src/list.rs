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
            // The curator's have no words: they only say what it cost.
            hide: ["tool", "curator"].map(str::to_owned).into(),
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

/// A list is short and wants what is recent, so a few hundred candidates are looked at first, and
/// all only if those were not enough.
fn list(db: &Db, query: &ListQuery) -> Sql<Vec<Listed>> {
    let mut page = Page::new(query);
    page.fill(db, recent(db, query.order)?)?;
    if !page.is_full() {
        page.fill(db, all(db, query.order)?)?;
    }
    Ok(page.rows)
}

struct Page<'a> {
    query: &'a ListQuery,
    rows: Vec<Listed>,
    skipped: usize,
    /// Conversations that have had their turn.
    seen: HashSet<String>,
}

impl<'a> Page<'a> {
    fn new(query: &'a ListQuery) -> Self {
        Self {
            query,
            rows: Vec::new(),
            skipped: 0,
            seen: HashSet::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.rows.len() == self.query.limit
    }

    fn fill(&mut self, db: &Db, candidates: Vec<String>) -> Sql<()> {
        for id in candidates {
            if self.is_full() {
                break;
            }
            let Some(link) = representative(db, self.query, &id)? else {
                continue;
            };
            if !self.query.accepts(&link) || !self.seen.insert(link.id.clone()) {
                continue;
            }
            if self.skipped < self.query.offset {
                self.skipped += 1;
            } else {
                self.rows.extend(listed(db, self.query, &link)?);
            }
        }
        Ok(())
    }
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

const RECENT_SESSIONS: usize = 200;
/// Enough for `--continue`, which wants one session; a long one may have written them all.
const RECENT_MESSAGES: usize = 300;

/// The first of [`all`], without looking at the others.
fn recent(db: &Db, order: Order) -> Sql<Vec<String>> {
    match order {
        Order::Start => ids(
            db,
            &format!(
                "SELECT id FROM sessions ORDER BY started_at DESC, id DESC LIMIT {RECENT_SESSIONS}"
            ),
        ),
        Order::Activity => recently_active(db),
    }
}

/// Whoever has one of the newest messages was active after whoever has none, except for sessions
/// that began since and have not said anything yet.
fn recently_active(db: &Db) -> Sql<Vec<String>> {
    // Left alone, SQLite would rather sort the whole index on sessions than walk a few wide rows.
    let newest = format!(
        "SELECT id, session_id FROM messages NOT INDEXED ORDER BY id DESC LIMIT {RECENT_MESSAGES}"
    );
    let ids = ids(
        db,
        &format!(
            "WITH newest AS MATERIALIZED ({newest})
             SELECT session_id FROM newest
             UNION
             SELECT id FROM sessions WHERE started_at >=
                 (SELECT timestamp FROM messages WHERE id = (SELECT MIN(id) FROM newest))"
        ),
    )?;
    let mut found = Vec::new();
    for id in ids {
        let Some(link) = chain::link(db, &id)? else {
            continue;
        };
        let active = chain::last_active(db, &id)?.unwrap_or(link.started_at);
        found.push((active, link.started_at, id));
    }
    Ok(latest_first(found))
}

/// All session ids, the first to be listed first. Each query is answered by an index alone: the
/// rows themselves hold long prompts.
fn all(db: &Db, order: Order) -> Sql<Vec<String>> {
    let mut stmt = db
        .conn
        .prepare_cached("SELECT rowid, started_at FROM sessions")?;
    let started: HashMap<i64, f64> = stmt
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let active = match order {
        Order::Start => "NULL",
        Order::Activity => "(SELECT MAX(timestamp) FROM messages WHERE session_id = s.id)",
    };
    let mut stmt = db
        .conn
        .prepare_cached(&format!("SELECT rowid, id, {active} FROM sessions AS s"))?;
    let rows = stmt.query_map([], |row| {
        let start = started.get(&row.get(0)?).copied().unwrap_or_default();
        let active: Option<f64> = row.get(2)?;
        Ok((active.unwrap_or(start), start, row.get(1)?))
    })?;
    Ok(latest_first(rows.collect::<rusqlite::Result<_>>()?))
}

/// Ids by the two times before them.
fn latest_first(mut rows: Vec<(f64, f64, String)>) -> Vec<String> {
    rows.sort_by(|a, b| {
        let times = b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1));
        times.then_with(|| b.2.cmp(&a.2))
    });
    rows.into_iter().map(|(_, _, id)| id).collect()
}

fn ids(db: &Db, sql: &str) -> Sql<Vec<String>> {
    let mut stmt = db.conn.prepare_cached(sql)?;
    let rows = stmt.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
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
