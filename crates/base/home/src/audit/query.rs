//! Which entries a reader wants.

use std::collections::VecDeque;
use std::path::Path;

use jiff::Timestamp;

use super::Entry;
use super::read::lines_since;
use crate::Result;

/// What `hermes audit show` asks for; the filters combine.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// How many of the newest, at most.
    pub most: usize,
    /// A session's id, or a part of it.
    pub session: String,
    pub tool: Option<String>,
    pub outcome: Option<String>,
    pub since: Option<Timestamp>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Oldest first, each with its hash.
    pub entries: VecDeque<(Entry, String)>,
    /// Lines that say nothing.
    pub unreadable: usize,
}

/// The newest entries that are wanted.
pub fn latest(dir: &Path, query: &Query) -> Result<Found> {
    let since = query.since.unwrap_or(Timestamp::MIN);
    let mut found = Found::default();
    for line in lines_since(dir, since)? {
        match line?.entry {
            Ok((entry, hash)) if entry.at >= since && query.wants(&entry) => {
                found.entries.push_back((entry, hash));
                if found.entries.len() > query.most {
                    found.entries.pop_front();
                }
            }
            Ok(_) => {}
            Err(_) => found.unreadable += 1,
        }
    }
    Ok(found)
}

impl Query {
    fn wants(&self, entry: &Entry) -> bool {
        let action = &entry.action;
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|w| w == found);
        action.session.contains(&self.session)
            && is(&self.tool, &action.tool)
            && is(&self.outcome, &action.outcome)
    }
}
