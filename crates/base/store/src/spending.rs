//! Money as limits need it: what a conversation has cost, and what a day has.

use hermes_types::SessionId;
use jiff::{Timestamp, Zoned, civil::Date};
use rusqlite::params;

use crate::{
    Share, Store, Tokens, chain,
    connect::Db,
    error::{Result, Sql},
    shares::{by_day, by_model, shares, sums},
    time::{moment, seconds},
};

/// What a conversation has used: all its sessions, its children and side tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    pub shares: Vec<Share>,
}

impl Account {
    pub fn usd(&self) -> f64 {
        self.shares.iter().map(|share| share.usd).sum()
    }

    pub fn calls(&self) -> i64 {
        self.shares.iter().map(|share| share.calls).sum()
    }

    pub fn unpriced(&self) -> i64 {
        self.shares.iter().map(|share| share.unpriced).sum()
    }

    pub fn tokens(&self) -> Tokens {
        let mut sum = Tokens::default();
        self.shares.iter().for_each(|share| sum += share.tokens);
        sum
    }
}

impl Store {
    /// What the conversation this session is part of has used.
    pub async fn account(&self, session: &SessionId) -> Result<Account> {
        let id = session.as_str().to_owned();
        self.read(move |db| account(db, &id)).await
    }

    /// When something was last said in this session; `None` before anything was.
    pub async fn last_active(&self, session: &SessionId) -> Result<Option<Timestamp>> {
        let id = session.as_str().to_owned();
        let active = self.read(move |db| chain::last_active(db, &id)).await?;
        Ok(active.map(moment))
    }

    /// What was spent on the day of this moment, by every program and in every session. What has no day of
    /// its own counts for the day its session began.
    pub async fn spent_on(&self, moment: &Zoned) -> Result<f64> {
        let day = moment.date();
        let begins = moment.start_of_day().unwrap_or_else(|_| moment.clone());
        let ends = begins.tomorrow().unwrap_or_else(|_| begins.clone());
        let span = (begins.timestamp(), ends.timestamp());
        self.read(move |db| spent_on(db, day, span)).await
    }
}

fn account(db: &Db, id: &str) -> Sql<Account> {
    let zone = jiff::tz::TimeZone::UTC;
    let mut account = Account::default();
    for member in chain::conversation(db, id)? {
        let id = &member.link.id;
        let Some(sums) = sums(db, id, member.child)? else {
            continue;
        };
        let days = by_day(db, "p.session_id = ?1", params![id])?.remove(id);
        let models = by_model(db, "u.session_id = ?1", params![id])?.remove(id);
        let (days, models) = (days.unwrap_or_default(), models.unwrap_or_default());
        account.shares.extend(shares(&sums, days, models, &zone));
    }
    Ok(account)
}

fn spent_on(db: &Db, day: Date, (begins, ends): (Timestamp, Timestamp)) -> Sql<f64> {
    let number = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Sql<f64> {
        Ok(db
            .conn
            .prepare_cached(sql)?
            .query_row(values, |row| row.get(0))?)
    };
    let (by_model, by_day) = (db.shape.has_model_usage, db.shape.has_spending);
    let sum = |there: bool, column: &str, table: &str| match there {
        true => {
            format!("(SELECT COALESCE(SUM({column}), 0.0) FROM {table} WHERE session_id = s.id)")
        }
        false => "0.0".to_owned(),
    };
    let per_model = sum(by_model, "estimated_cost_usd", "session_model_usage");
    let noted = sum(by_day, "usd", "hermes_spending");
    let unnoted = number(
        &format!(
            "SELECT COALESCE(SUM(MAX(0.0,
                 MAX(COALESCE(s.estimated_cost_usd, 0.0), {per_model}) - {noted})), 0.0)
             FROM sessions AS s WHERE s.started_at >= ?1 AND s.started_at < ?2"
        ),
        &[&seconds(begins), &seconds(ends)],
    )?;
    if !by_day {
        return Ok(unnoted);
    }
    let noted = "SELECT COALESCE(SUM(usd), 0.0) FROM hermes_spending WHERE day = ?1";
    Ok(unnoted + number(noted, &[&day.to_string()])?)
}
