//! What a session has cost so far.

use hermes_types::SessionId;
use jiff::{Timestamp, civil::Date};
use rusqlite::{named_params, params};

use crate::{
    NewSession, Store,
    connect::Db,
    error::{Result, Sql},
    sessions,
    time::seconds,
};

/// Tokens and money, either of one model call or of a whole session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cache_read_tokens: i64,
    pub cache_write_tokens: i64,
    pub reasoning_tokens: i64,
    pub api_calls: i64,
    pub estimated_cost_usd: Option<f64>,
    pub actual_cost_usd: Option<f64>,
    /// The latest one given counts, for these three.
    pub cost_status: Option<String>,
    pub cost_source: Option<String>,
    pub pricing_version: Option<String>,
    /// The first one given counts, for these four.
    pub billing_provider: Option<String>,
    pub billing_base_url: Option<String>,
    pub billing_mode: Option<String>,
    pub model: Option<String>,
}

/// What one model call was for, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// The day of the owner's calendar.
    pub day: Date,
    /// The side task, by its name under `auxiliary.`; empty: the conversation itself.
    pub task: &'static str,
}

impl Store {
    /// Adds what one model call used.
    pub async fn add_usage(
        &self,
        session: &SessionId,
        usage: &Usage,
        occasion: &Occasion,
    ) -> Result<()> {
        let (id, usage, occasion) = (session.clone(), usage.clone(), occasion.clone());
        self.write(move |db| {
            apply(db, &id, &usage, Count::Add)?;
            if db.shape.has_model_usage {
                add_to_model(db, &id, &usage, occasion.task)?;
            }
            if db.shape.has_spending {
                add_to_day(db, &id, &usage, &occasion)?;
            }
            Ok(())
        })
        .await
    }

    /// Records totals the caller keeps itself, as the gateway does.
    pub async fn set_usage(&self, session: &SessionId, usage: &Usage) -> Result<()> {
        let (id, usage) = (session.clone(), usage.clone());
        self.write(move |db| apply(db, &id, &usage, Count::Set))
            .await
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Count {
    Add,
    Set,
}

fn apply(db: &Db, id: &SessionId, usage: &Usage, count: Count) -> Sql<()> {
    let mut placeholder = NewSession::new(id.clone(), "unknown");
    placeholder.model.clone_from(&usage.model);
    sessions::insert(db, &placeholder)?;
    let old = |column: &str| match count {
        Count::Add => format!("COALESCE({column}, 0) +"),
        Count::Set => String::new(),
    };
    let counters: String = COUNTERS
        .iter()
        .map(|column| format!("{column} = {} :{column}, ", old(column)))
        .collect();
    db.conn
        .prepare_cached(&format!(
            "UPDATE sessions SET {counters}
                 estimated_cost_usd = {} COALESCE(:estimated, 0),
                 actual_cost_usd = CASE WHEN :actual IS NULL THEN actual_cost_usd
                     ELSE {} :actual END,
                 cost_status = COALESCE(:status, cost_status),
                 cost_source = COALESCE(:source, cost_source),
                 pricing_version = COALESCE(:pricing, pricing_version),
                 billing_provider = COALESCE(billing_provider, :provider),
                 billing_base_url = COALESCE(billing_base_url, :url),
                 billing_mode = COALESCE(billing_mode, :mode),
                 model = COALESCE(model, :model)
             WHERE id = :id",
            old("estimated_cost_usd"),
            old("actual_cost_usd"),
        ))?
        .execute(named_params! {
            ":input_tokens": usage.input_tokens,
            ":output_tokens": usage.output_tokens,
            ":cache_read_tokens": usage.cache_read_tokens,
            ":cache_write_tokens": usage.cache_write_tokens,
            ":reasoning_tokens": usage.reasoning_tokens,
            ":api_call_count": usage.api_calls,
            ":estimated": usage.estimated_cost_usd,
            ":actual": usage.actual_cost_usd,
            ":status": usage.cost_status,
            ":source": usage.cost_source,
            ":pricing": usage.pricing_version,
            ":provider": usage.billing_provider,
            ":url": usage.billing_base_url,
            ":mode": usage.billing_mode,
            ":model": usage.model,
            ":id": id.as_str(),
        })?;
    Ok(())
}

pub(crate) const COUNTERS: [&str; 6] = [
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "api_call_count",
];

/// Newer files count per model too, and their program reads its statistics from there.
fn add_to_model(db: &Db, id: &SessionId, usage: &Usage, task: &str) -> Sql<()> {
    let sums: String = COUNTERS
        .iter()
        .map(|column| format!("{column} = {column} + excluded.{column}, "))
        .collect();
    db.conn
        .prepare_cached(&format!(
            "INSERT INTO session_model_usage (session_id, model, billing_provider,
                 billing_base_url, billing_mode, task, {}, estimated_cost_usd, actual_cost_usd,
                 cost_status, cost_source, first_seen, last_seen)
             SELECT id, COALESCE(?2, model, 'unknown'), COALESCE(?3, billing_provider, ''),
                 COALESCE(?4, billing_base_url, ''), COALESCE(?5, billing_mode, ''), ?17,
                 ?6, ?7, ?8, ?9, ?10, ?11, COALESCE(?12, 0), COALESCE(?13, 0), ?14, ?15, ?16, ?16
             FROM sessions WHERE id = ?1
             ON CONFLICT(session_id, model, billing_provider, billing_base_url, billing_mode, task)
             DO UPDATE SET {sums}
                 estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd,
                 actual_cost_usd = actual_cost_usd + excluded.actual_cost_usd,
                 cost_status = COALESCE(excluded.cost_status, cost_status),
                 cost_source = COALESCE(excluded.cost_source, cost_source),
                 last_seen = excluded.last_seen",
            COUNTERS.join(", ")
        ))?
        .execute(params![
            id.as_str(),
            usage.model,
            usage.billing_provider,
            usage.billing_base_url,
            usage.billing_mode,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.reasoning_tokens,
            usage.api_calls,
            usage.estimated_cost_usd,
            usage.actual_cost_usd,
            usage.cost_status,
            usage.cost_source,
            seconds(Timestamp::now()),
            task,
        ])?;
    Ok(())
}

/// Named as [`add_to_model`] names things, so that the two can be compared.
fn add_to_day(db: &Db, id: &SessionId, usage: &Usage, occasion: &Occasion) -> Sql<()> {
    let sums: String = COUNTERS
        .iter()
        .map(|column| format!("{column} = {column} + excluded.{column}, "))
        .collect();
    db.conn
        .prepare_cached(&format!(
            "INSERT INTO hermes_spending (day, session_id, model, provider, task, {},
                 unpriced_calls, usd)
             SELECT ?2, id, COALESCE(?3, model, 'unknown'), COALESCE(?4, billing_provider, ''), ?5,
                 ?6, ?7, ?8, ?9, ?10, ?11, ?12, COALESCE(?13, 0)
             FROM sessions WHERE id = ?1
             ON CONFLICT(session_id, day, model, provider, task)
             DO UPDATE SET {sums} unpriced_calls = unpriced_calls + excluded.unpriced_calls,
                 usd = usd + excluded.usd",
            COUNTERS.join(", ")
        ))?
        .execute(params![
            id.as_str(),
            occasion.day.to_string(),
            usage.model,
            usage.billing_provider,
            occasion.task,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.reasoning_tokens,
            usage.api_calls,
            match usage.estimated_cost_usd {
                Some(_) => 0,
                None => usage.api_calls,
            },
            usage.estimated_cost_usd,
        ])?;
    Ok(())
}
