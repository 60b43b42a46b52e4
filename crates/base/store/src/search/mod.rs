//! Finding messages by what they say.
//!
//! A common word matches hundreds of thousands of messages. The newest few hundred matches come
//! straight from the index, those are ranked, and only what is shown gets a snippet.

mod find;
mod prefix;
mod query;
mod rank;
mod show;

use hermes_types::{Role, SessionId};
use jiff::Timestamp;

use crate::{
    Store,
    connect::Db,
    error::{Result, Sql},
};
use find::find;
use query::Query;
use rank::rank;
use show::{hit, snippet};

/// What to look for, and where.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// Words, `"phrases"`, `AND`, `OR`, `NOT`, `begin*`. Anything goes; nothing is an error.
    pub text: String,
    /// Only sessions of these sources; all if empty.
    pub sources: Vec<String>,
    /// Not sessions of these sources.
    pub hide: Vec<String>,
    /// Only these roles; all if empty.
    pub roles: Vec<Role>,
    pub order: SearchOrder,
    pub limit: usize,
    pub offset: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchOrder {
    #[default]
    Relevance,
    Newest,
    Oldest,
}

impl SearchQuery {
    /// Looks everywhere for `text`, for the best twenty.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            sources: Vec::new(),
            hide: Vec::new(),
            roles: Vec::new(),
            order: SearchOrder::default(),
            limit: 20,
            offset: 0,
        }
    }
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub message: i64,
    pub session: SessionId,
    pub role: Role,
    /// The matching part, with the words between `>>>` and `<<<`.
    pub snippet: String,
    pub at: Timestamp,
    pub tool_name: Option<String>,
    pub source: String,
    pub model: Option<String>,
    pub session_started_at: Timestamp,
    /// The message before, the message itself and the one after, shortened.
    pub context: Vec<ContextLine>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ContextLine {
    pub role: Role,
    pub text: String,
}

impl Store {
    /// Messages that match, the best first.
    pub async fn search(&self, query: SearchQuery) -> Result<Vec<Hit>> {
        self.read(move |db| search(db, &query)).await
    }
}

fn search(db: &Db, query: &SearchQuery) -> Sql<Vec<Hit>> {
    let Some(mut parsed) = Query::parse(&query.text) else {
        return Ok(Vec::new());
    };
    prefix::expand(db, &mut parsed)?;
    let found = find(db, query, &parsed)?;
    let ids = if found.worth_ranking && query.order == SearchOrder::Relevance {
        rank(&parsed.wanted(), &found.candidates)
    } else {
        found.candidates.iter().map(|c| c.id).collect()
    };
    let mut hits = Vec::new();
    for id in ids.into_iter().skip(query.offset).take(query.limit) {
        let snippet = snippet(db, &found, id)?;
        hits.extend(hit(db, id, snippet)?);
    }
    Ok(hits)
}
