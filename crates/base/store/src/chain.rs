//! How sessions hang together: a compressed conversation goes on in a child, other children are
//! sub-agents and branches.

use std::cmp::Reverse;

use hermes_types::SessionId;
use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use crate::{Store, connect::Db, error::Result, error::Sql};

/// Chains longer than this are broken data.
const LONGEST_CHAIN: usize = 100;
/// How many children an empty session's messages may be away.
const LONGEST_WALK: usize = 32;

impl Store {
    /// The session in which a compressed conversation goes on today; the session itself if it was
    /// not compressed.
    pub async fn tip(&self, session: &SessionId) -> Result<SessionId> {
        let id = session.as_str().to_owned();
        self.read(move |db| Ok(SessionId::new(tip(db, &id)?))).await
    }

    /// The session to open when `session` is to be resumed: its tip, or the nearest descendant that
    /// has messages if it has none itself.
    pub async fn resume_target(&self, session: &SessionId) -> Result<SessionId> {
        let id = session.as_str().to_owned();
        self.read(move |db| {
            let tip = tip(db, &id)?;
            Ok(SessionId::new(with_messages(db, &tip)?.unwrap_or(tip)))
        })
        .await
    }

    /// The first session of the conversation `session` belongs to.
    pub async fn root(&self, session: &SessionId) -> Result<SessionId> {
        let first = self.lineage(session).await?.into_iter().next();
        Ok(first.unwrap_or_else(|| session.clone()))
    }

    /// The sessions of one conversation up to this one, the first first: each but the last was compressed.
    pub async fn lineage(&self, session: &SessionId) -> Result<Vec<SessionId>> {
        let id = session.as_str().to_owned();
        self.read(move |db| Ok(lineage(db, &id)?.into_iter().map(SessionId::new).collect()))
            .await
    }
}

/// What decides a session's place among the others.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub id: String,
    pub source: String,
    pub parent: Option<String>,
    pub started_at: f64,
    ended_at: Option<f64>,
    end_reason: Option<String>,
    pub archived: bool,
    branched: bool,
    delegated: bool,
}

const COLUMNS: [&str; 8] = [
    "id",
    "source",
    "model_config",
    "parent_session_id",
    "started_at",
    "ended_at",
    "end_reason",
    "archived",
];

impl Link {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let config: Option<String> = row.get(2)?;
        let config = config.as_deref();
        Ok(Self {
            id: row.get(0)?,
            source: row.get(1)?,
            parent: row.get(3)?,
            started_at: row.get(4)?,
            ended_at: row.get(5)?,
            end_reason: row.get(6)?,
            archived: row.get::<_, Option<i64>>(7)?.unwrap_or(0) != 0,
            branched: has_mark(config, "_branched_from"),
            delegated: has_mark(config, "_delegate_from"),
        })
    }

    pub fn was_compressed(&self) -> bool {
        self.end_reason.as_deref() == Some("compression")
    }

    /// Is this child the same conversation, gone on after a compression?
    fn continues(&self, parent: &Link) -> bool {
        let after = parent.ended_at.is_some_and(|end| self.started_at >= end);
        parent.was_compressed()
            && after
            && !self.branched
            && !self.delegated
            && !matches!(self.source.as_str(), "tool" | "subagent")
    }

    /// Does this child stand for a conversation of its own?
    fn branches_from(&self, parent: &Link) -> bool {
        let ended_for_it = parent.end_reason.as_deref() == Some("branched")
            && parent.ended_at.is_some_and(|end| self.started_at >= end);
        self.branched || ended_for_it
    }
}

/// Markers that newer versions leave in `model_config`.
fn has_mark(config: Option<&str>, mark: &str) -> bool {
    let Some(config) = config.filter(|c| c.contains(mark)) else {
        return false;
    };
    serde_json::from_str::<Value>(config)
        .ok()
        .and_then(|value| value.get(mark).map(|found| !found.is_null()))
        .unwrap_or(false)
}

pub(crate) fn link(db: &Db, id: &str) -> Sql<Option<Link>> {
    let columns = db.shape.session_list(&COLUMNS);
    let mut stmt = db
        .conn
        .prepare_cached(&format!("SELECT {columns} FROM sessions WHERE id = ?1"))?;
    Ok(stmt.query_row([id], Link::read).optional()?)
}

fn children(db: &Db, id: &str) -> Sql<Vec<Link>> {
    let columns = db.shape.session_list(&COLUMNS);
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {columns} FROM sessions WHERE parent_session_id = ?1"
    ))?;
    let rows = stmt.query_map([id], Link::read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Follows continuations as far as they go.
pub(crate) fn tip(db: &Db, id: &str) -> Sql<String> {
    let Some(mut current) = link(db, id)? else {
        return Ok(id.to_owned());
    };
    let mut seen = vec![current.id.clone()];
    while current.was_compressed() && seen.len() <= LONGEST_CHAIN {
        let mut candidates = Vec::new();
        for child in children(db, &current.id)? {
            if child.continues(&current) && !seen.contains(&child.id) {
                let active = last_active(db, &child.id)?.unwrap_or(child.started_at);
                candidates.push((active, child));
            }
        }
        let Some((_, next)) = candidates.into_iter().min_by(compare_continuations) else {
            break;
        };
        seen.push(next.id.clone());
        current = next;
    }
    Ok(current.id)
}

/// Of several continuations the one that went on itself comes first, then one still open, then the
/// most recently active: closed siblings are left-overs of a lost connection.
fn compare_continuations(
    (a_active, a): &(f64, Link),
    (b_active, b): &(f64, Link),
) -> std::cmp::Ordering {
    let rank = |link: &Link| match (link.was_compressed(), link.ended_at) {
        (true, _) => 0,
        (false, None) => 1,
        (false, Some(_)) => 2,
    };
    rank(a)
        .cmp(&rank(b))
        .then(b_active.total_cmp(a_active))
        .then(b.started_at.total_cmp(&a.started_at))
        .then(b.id.cmp(&a.id))
}

/// The sessions `id` continues, oldest first, and itself.
pub(crate) fn lineage(db: &Db, id: &str) -> Sql<Vec<String>> {
    let mut chain = vec![id.to_owned()];
    let mut current = link(db, id)?;
    while let Some(child) = current.take() {
        let Some(parent) = parent_of(db, &child)? else {
            break;
        };
        let broken = chain.contains(&parent.id) || chain.len() >= LONGEST_CHAIN;
        if broken || !child.continues(&parent) {
            break;
        }
        chain.push(parent.id.clone());
        current = Some(parent);
    }
    chain.reverse();
    Ok(chain)
}

/// Every session of the conversation `id` is part of: what it continues, what continues it, and what
/// was handed to children. Branches are conversations of their own.
pub(crate) fn conversation(db: &Db, id: &str) -> Sql<Vec<Member>> {
    let first = lineage(db, id)?.into_iter().next();
    let Some(first) = link(db, first.as_deref().unwrap_or(id))? else {
        return Ok(Vec::new());
    };
    let mut found = vec![Member {
        child: false,
        link: first,
    }];
    let mut next = 0;
    while let Some(Member { link, child }) = found.get(next).cloned() {
        for one in children(db, &link.id)? {
            let known = found.iter().any(|member| member.link.id == one.id);
            if !known && !one.branches_from(&link) {
                found.push(Member {
                    child: child || !one.continues(&link),
                    link: one,
                });
            }
        }
        next += 1;
    }
    Ok(found)
}

/// A session of a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub link: Link,
    /// Whether it was a task handed to somebody else.
    pub child: bool,
}

/// Whether this session was a task of another one.
pub(crate) fn is_child(db: &Db, link: &Link) -> Sql<bool> {
    if link.delegated || link.source == "subagent" {
        return Ok(true);
    }
    Ok(match parent_of(db, link)? {
        None => false,
        Some(parent) => !link.branches_from(&parent) && !link.continues(&parent),
    })
}

pub(crate) fn parent_of(db: &Db, child: &Link) -> Sql<Option<Link>> {
    match &child.parent {
        Some(parent) => link(db, parent),
        None => Ok(None),
    }
}

/// Stands this session for a conversation in a list? Roots and branches do; continuations are shown
/// by their root, sub-agents not at all.
pub(crate) fn is_listed(db: &Db, link: &Link) -> Sql<bool> {
    if link.delegated {
        return Ok(false);
    }
    // A parent that is gone leaves an orphan, which must not disappear with it.
    Ok(match parent_of(db, link)? {
        None => true,
        Some(parent) => link.branches_from(&parent),
    })
}

/// The time of a session's last message, from the index alone.
pub(crate) fn last_active(db: &Db, id: &str) -> Sql<Option<f64>> {
    let mut stmt = db
        .conn
        .prepare_cached("SELECT MAX(timestamp) FROM messages WHERE session_id = ?1")?;
    Ok(stmt.query_row([id], |row| row.get(0))?)
}

/// Walks from a session without messages to its newest children until one has some.
fn with_messages(db: &Db, id: &str) -> Sql<Option<String>> {
    let mut current = id.to_owned();
    let mut seen = Vec::new();
    while seen.len() <= LONGEST_WALK {
        if last_active(db, &current)?.is_some() {
            return Ok(Some(current));
        }
        let newest = children(db, &current)?
            .into_iter()
            .filter(|c| !c.branched && !c.delegated && c.source != "tool")
            .filter(|c| !seen.contains(&c.id))
            .min_by_key(|c| Reverse((ordered(c.started_at), c.id.clone())));
        seen.push(current);
        match newest {
            Some(child) => current = child.id,
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// Seconds as a key that sorts like them.
fn ordered(seconds: f64) -> i64 {
    (seconds * 1e6) as i64
}
