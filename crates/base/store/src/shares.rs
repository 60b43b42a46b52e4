//! What was used, in shares: by day, session, model, provider and task.
//!
//! Three tables know a part of it. Our own account knows days; the newer program's knows models and side
//! tasks; a session's row knows only sums, but every program writes it. What the finer ones don't explain
//! of the coarser is a share of its own, so nothing is missing and nothing is counted twice.

use std::collections::HashMap;

use hermes_types::SessionId;
use jiff::{civil::Date, tz::TimeZone};
use rusqlite::{Params, Row, params};
use serde::Serialize;

use crate::{connect::Db, error::Sql, time::moment, usage::COUNTERS};

/// One share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    pub session: SessionId,
    pub day: Date,
    pub model: String,
    pub provider: String,
    /// The side task; empty: the conversation itself.
    pub task: String,
    /// Whether the session was a task handed to somebody else.
    pub child: bool,
    pub tokens: Tokens,
    pub calls: i64,
    /// Calls whose price nobody knows.
    pub unpriced: i64,
    pub usd: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Neither read from nor written to a cache.
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
    pub reasoning: i64,
}

impl Tokens {
    pub fn total(&self) -> i64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// What is left of this when `other` is taken away.
    fn beyond(&self, other: &Self) -> Self {
        self.with(other, |a, b| (a - b).max(0))
    }

    fn with(&self, other: &Self, merge: impl Fn(i64, i64) -> i64) -> Self {
        Self {
            input: merge(self.input, other.input),
            output: merge(self.output, other.output),
            cache_read: merge(self.cache_read, other.cache_read),
            cache_write: merge(self.cache_write, other.cache_write),
            reasoning: merge(self.reasoning, other.reasoning),
        }
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, more: Self) {
        *self = self.with(&more, |a, b| a + b);
    }
}

/// The sums of a session's row, and what names the share nobody explains.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub id: String,
    pub child: bool,
    pub started_at: f64,
    pub model: Option<String>,
    pub provider: Option<String>,
    pub status: Option<String>,
    pub amount: Amount,
}

/// Columns [`Amount::of_row`] reads, after `at`.
pub(crate) fn amount_columns(table: &str, usd: &str) -> String {
    let counters: Vec<String> = COUNTERS
        .iter()
        .map(|column| format!("COALESCE({table}.{column}, 0)"))
        .collect();
    format!("{}, COALESCE({table}.{usd}, 0.0)", counters.join(", "))
}

/// Amounts that can be compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amount {
    pub tokens: Tokens,
    pub calls: i64,
    pub usd: f64,
}

impl Amount {
    pub fn of_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            tokens: Tokens {
                input: row.get(at)?,
                output: row.get(at + 1)?,
                cache_read: row.get(at + 2)?,
                cache_write: row.get(at + 3)?,
                reasoning: row.get(at + 4)?,
            },
            calls: row.get(at + 5)?,
            usd: row.get(at + 6)?,
        })
    }

    fn beyond(&self, other: &Self) -> Self {
        Self {
            tokens: self.tokens.beyond(&other.tokens),
            calls: (self.calls - other.calls).max(0),
            usd: (self.usd - other.usd).max(0.0),
        }
    }

    fn at_most(&self, other: &Self) -> Self {
        Self {
            tokens: self.tokens.with(&other.tokens, i64::min),
            calls: self.calls.min(other.calls),
            usd: self.usd.min(other.usd),
        }
    }

    fn add(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.calls += other.calls;
        self.usd += other.usd;
    }

    /// Sums of floats differ in the last digits; a millionth of a cent is nothing.
    fn is_nothing(&self) -> bool {
        self.tokens == Tokens::default() && self.calls == 0 && self.usd < 1e-8
    }

    /// Calls whose price nobody knows, going by what the other program says about a whole share.
    fn unpriced(&self, status: Option<&str>) -> i64 {
        let unknown = match status {
            Some(status) => status == "unknown",
            None => self.usd == 0.0 && self.tokens.total() > 0,
        };
        if unknown { self.calls.max(1) } else { 0 }
    }
}

/// A share as a table has it: everything but whose child it is.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    day: Option<Date>,
    model: String,
    provider: String,
    task: String,
    amount: Amount,
    unpriced: i64,
}

impl Part {
    fn is_same_buy(&self, other: &Self) -> bool {
        (&self.model, &self.provider, &self.task) == (&other.model, &other.provider, &other.task)
    }

    pub fn share(self, session: &str, child: bool, otherwise: Date) -> Share {
        Share {
            session: SessionId::new(session),
            day: self.day.unwrap_or(otherwise),
            model: self.model,
            provider: self.provider,
            task: self.task,
            child,
            tokens: self.amount.tokens,
            calls: self.amount.calls,
            unpriced: self.unpriced,
            usd: self.amount.usd,
        }
    }
}

/// Parts by the session they belong to.
pub(crate) type Parts = HashMap<String, Vec<Part>>;

/// Our own account. `condition` is about `hermes_spending AS p`.
pub(crate) fn by_day(db: &Db, condition: &str, values: impl Params) -> Sql<Parts> {
    if !db.shape.has_spending {
        return Ok(Parts::new());
    }
    let amounts = amount_columns("p", "usd");
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT p.session_id, p.day, p.model, p.provider, p.task, p.unpriced_calls, {amounts}
         FROM hermes_spending AS p WHERE {condition} ORDER BY p.day, p.rowid"
    ))?;
    let rows = stmt.query_map(values, |row| {
        let day: String = row.get(1)?;
        let part = Part {
            day: day.parse().ok(),
            model: row.get(2)?,
            provider: row.get(3)?,
            task: row.get(4)?,
            unpriced: row.get(5)?,
            amount: Amount::of_row(row, 6)?,
        };
        Ok((row.get(0)?, part))
    })?;
    collect(rows)
}

/// The newer program's account. `condition` is about `session_model_usage AS u` and `sessions AS s`.
pub(crate) fn by_model(db: &Db, condition: &str, values: impl Params) -> Sql<Parts> {
    if !db.shape.has_model_usage {
        return Ok(Parts::new());
    }
    let amounts = amount_columns("u", "estimated_cost_usd");
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT u.session_id, u.model, u.billing_provider, u.task, u.cost_status, {amounts}
         FROM session_model_usage AS u JOIN sessions AS s ON s.id = u.session_id
         WHERE {condition} ORDER BY u.rowid"
    ))?;
    let rows = stmt.query_map(values, |row| {
        let status: Option<String> = row.get(4)?;
        let amount = Amount::of_row(row, 5)?;
        let part = Part {
            day: None,
            model: row.get(1)?,
            provider: row.get(2)?,
            task: row.get(3)?,
            unpriced: amount.unpriced(status.as_deref()),
            amount,
        };
        Ok((row.get(0)?, part))
    })?;
    collect(rows)
}

fn collect(rows: impl Iterator<Item = rusqlite::Result<(String, Part)>>) -> Sql<Parts> {
    let mut parts = Parts::new();
    for row in rows {
        let (session, part) = row?;
        parts.entry(session).or_default().push(part);
    }
    Ok(parts)
}

/// All shares of one session. What has no day of its own belongs to the day the session began.
pub(crate) fn shares(
    sums: &Sums,
    days: Vec<Part>,
    models: Vec<Part>,
    zone: &TimeZone,
) -> Vec<Share> {
    let began = moment(sums.started_at).to_zoned(zone.clone()).date();
    let mut known = days;
    // The two may name the same call differently, so what is left of one buy is no more than what is left
    // of all.
    let mut left = sum(&models).beyond(&sum(&known));
    for part in models {
        let same = known.iter().filter(|day| day.is_same_buy(&part));
        let amount = part.amount.beyond(&sum(same)).at_most(&left);
        left = left.beyond(&amount);
        push(&mut known, Part { amount, ..part });
    }
    let whole = Part {
        day: None,
        model: sums.model.clone().unwrap_or_else(|| "unknown".to_owned()),
        provider: sums.provider.clone().unwrap_or_default(),
        task: String::new(),
        unpriced: sums.amount.unpriced(sums.status.as_deref()),
        amount: sums.amount.beyond(&sum(&known)),
    };
    push(&mut known, whole);
    let known = known.into_iter();
    known
        .map(|part| part.share(&sums.id, sums.child, began))
        .collect()
}

fn sum<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Amount {
    let mut sum = Amount::default();
    parts.into_iter().for_each(|part| sum.add(&part.amount));
    sum
}

/// Adds what is left of a part, if anything is.
fn push(known: &mut Vec<Part>, part: Part) {
    if !part.amount.is_nothing() {
        known.push(Part {
            unpriced: part.unpriced.min(part.amount.calls.max(1)),
            ..part
        });
    }
}

/// The sums of one session.
pub(crate) fn sums(db: &Db, id: &str, child: bool) -> Sql<Option<Sums>> {
    use rusqlite::OptionalExtension;
    let amounts = amount_columns("s", "estimated_cost_usd");
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT s.id, s.started_at, s.model, s.billing_provider, s.cost_status, {amounts}
         FROM sessions AS s WHERE s.id = ?1"
    ))?;
    let read = |row: &Row<'_>| {
        Ok(Sums {
            id: row.get(0)?,
            child,
            started_at: row.get(1)?,
            model: row.get(2)?,
            provider: row.get(3)?,
            status: row.get(4)?,
            amount: Amount::of_row(row, 5)?,
        })
    };
    Ok(stmt.query_row(params![id], read).optional()?)
}
