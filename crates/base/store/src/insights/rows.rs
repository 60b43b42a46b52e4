//! The sessions a report is about, and their shares.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::InsightsQuery;
use crate::{
    Share, chain,
    connect::Db,
    error::Sql,
    shares::{self, Amount, Sums, amount_columns, by_day, by_model},
    time::{moment, seconds},
};

/// What a report needs to know about a session.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub id: String,
    pub source: String,
    pub title: Option<String>,
    pub ended_at: Option<f64>,
    pub messages: i64,
    pub tool_calls: i64,
    pub actual_usd: f64,
    pub sums: Sums,
}

impl Held {
    pub fn began(&self) -> Timestamp {
        moment(self.sums.started_at)
    }

    /// How long it lasted, if it ended after it began.
    pub fn seconds(&self) -> Option<f64> {
        let lasted = self.ended_at? - self.sums.started_at;
        (lasted > 0.0).then_some(lasted)
    }

    pub fn is_included(&self) -> bool {
        self.sums.status.as_deref() == Some("included")
    }
}

/// The condition of [`InsightsQuery`] about `sessions AS s`.
pub(crate) const IN_RANGE: &str = "s.started_at >= ?1 AND (?2 = '' OR s.source = ?2)";

/// Sessions that began in range, the oldest first.
pub(crate) fn sessions(db: &Db, query: &InsightsQuery) -> Sql<Vec<Held>> {
    let amounts = amount_columns("s", "estimated_cost_usd");
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT s.id, s.source, s.title, s.started_at, s.ended_at, COALESCE(s.message_count, 0),
             COALESCE(s.tool_call_count, 0), COALESCE(s.actual_cost_usd, 0.0), s.model,
             s.billing_provider, s.cost_status, s.parent_session_id IS NOT NULL, {amounts}
         FROM sessions AS s WHERE {IN_RANGE} ORDER BY s.started_at, s.id"
    ))?;
    let since = seconds(query.since.timestamp());
    let rows = stmt.query_map(params![since, query.source], |row| {
        let id: String = row.get(0)?;
        let source: String = row.get(1)?;
        let sums = Sums {
            id: id.clone(),
            // Settled below for those that have a parent.
            child: row.get(11)?,
            started_at: row.get(3)?,
            model: row.get(8)?,
            provider: row.get(9)?,
            status: row.get(10)?,
            amount: Amount::of_row(row, 12)?,
        };
        Ok(Held {
            id,
            source,
            title: row.get(2)?,
            ended_at: row.get(4)?,
            messages: row.get(5)?,
            tool_calls: row.get(6)?,
            actual_usd: row.get(7)?,
            sums,
        })
    })?;
    let mut held = rows.collect::<rusqlite::Result<Vec<Held>>>()?;
    for one in &mut held {
        one.sums.child = match one.sums.child {
            false => one.source == "subagent",
            true => match chain::link(db, &one.id)? {
                Some(link) => chain::is_child(db, &link)?,
                None => true,
            },
        };
    }
    Ok(held)
}

/// Titles of sessions; those that are gone have none.
pub(crate) type Names = HashMap<String, Option<String>>;

/// All shares of the sessions in range, and what earlier ones spent in these days.
pub(crate) fn shares(db: &Db, query: &InsightsQuery, held: &[Held]) -> Sql<(Vec<Share>, Names)> {
    let (since, zone) = (&query.since, query.since.time_zone());
    let mut days = by_day(db, "p.day >= ?1", params![since.date().to_string()])?;
    let began = seconds(since.timestamp());
    let mut models = by_model(db, IN_RANGE, params![began, query.source])?;
    let mut found = Vec::new();
    let mut names = Names::new();
    for one in held {
        let days = days.remove(&one.id).unwrap_or_default();
        let models = models.remove(&one.id).unwrap_or_default();
        found.extend(shares::shares(&one.sums, days, models, zone));
        names.insert(one.id.clone(), one.title.clone());
    }
    let ids: HashSet<String> = days.keys().cloned().collect();
    for id in ids {
        let Some(earlier) = earlier(db, &id, query)? else {
            continue;
        };
        let parts = days.remove(&id).unwrap_or_default();
        let shares = parts.into_iter();
        found.extend(shares.map(|part| part.share(&id, earlier.child, since.date())));
        names.insert(id, earlier.title);
    }
    Ok((found, names))
}

struct Earlier {
    title: Option<String>,
    child: bool,
}

/// A session that began before, or is gone; `None` if it is of another source.
fn earlier(db: &Db, id: &str, query: &InsightsQuery) -> Sql<Option<Earlier>> {
    let mut stmt = db
        .conn
        .prepare_cached("SELECT title, source FROM sessions WHERE id = ?1")?;
    let row: Option<(Option<String>, String)> = stmt
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let child = match chain::link(db, id)? {
        Some(link) => chain::is_child(db, &link)?,
        None => false,
    };
    Ok(match row {
        Some((title, source)) if query.source.is_empty() || source == query.source => {
            Some(Earlier { title, child })
        }
        None if query.source.is_empty() => Some(Earlier {
            title: Some("(deleted)".to_owned()),
            child,
        }),
        _ => None,
    })
}
