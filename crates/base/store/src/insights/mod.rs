//! What has been going on: conversations, tools, models and money over the last days.

mod activity;
mod money;
mod rows;
mod tools;

use std::collections::{BTreeSet, HashMap};

use hermes_types::SessionId;
use jiff::{Timestamp, Zoned};
use serde::Serialize;

pub use activity::Activity;
pub use money::{Bill, Money};
pub use tools::{SkillCount, ToolCount};

use crate::{
    Share, Store, Tokens,
    connect::Db,
    error::{Result, Sql},
};
use rows::Held;

/// What to look at.
#[derive(Clone, Debug)]
pub struct InsightsQuery {
    /// Sessions that began at this moment or later; its zone says where days begin.
    pub since: Zoned,
    /// Only this source; all if empty.
    pub source: String,
}

/// Everything there is to tell. Money also counts what earlier sessions spent in these days; all else is about
/// the sessions that began in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Insights {
    pub overview: Overview,
    /// The one with the most tokens first.
    pub models: Vec<ModelCount>,
    /// The one with the most sessions first.
    pub platforms: Vec<Platform>,
    /// The most used first.
    pub tools: Vec<ToolCount>,
    pub skills: Vec<SkillCount>,
    pub activity: Activity,
    pub notable: Vec<Notable>,
    pub money: Money,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overview {
    pub sessions: usize,
    pub messages: i64,
    pub user_messages: i64,
    pub assistant_messages: i64,
    pub tool_messages: i64,
    pub tool_calls: i64,
    pub requests: i64,
    pub tokens: Tokens,
    pub total_tokens: i64,
    pub estimated_cost_usd: f64,
    pub actual_cost_usd: f64,
    /// Sessions with a call whose price nobody knows.
    pub unknown_cost_sessions: usize,
    /// Sessions a subscription paid for.
    pub included_cost_sessions: usize,
    pub models_with_pricing: Vec<String>,
    pub models_without_pricing: Vec<String>,
    /// Seconds between beginning and end, of sessions that have both.
    pub active_seconds: f64,
    pub average_session_seconds: f64,
    pub average_messages: f64,
    pub average_tokens: f64,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelCount {
    /// Without the part before the last slash.
    pub model: String,
    pub sessions: usize,
    pub requests: i64,
    pub tokens: Tokens,
    pub total_tokens: i64,
    pub tool_calls: i64,
    pub usd: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Platform {
    pub source: String,
    pub sessions: usize,
    pub messages: i64,
    pub total_tokens: i64,
    pub tool_calls: i64,
}

/// A session that stands out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notable {
    /// `longest` (seconds), `messages`, `tokens`, `tool_calls`.
    pub most: &'static str,
    pub session: SessionId,
    pub title: Option<String>,
    pub value: i64,
}

impl Store {
    pub async fn insights(&self, query: InsightsQuery) -> Result<Insights> {
        self.read(move |db| insights(db, &query)).await
    }
}

fn insights(db: &Db, query: &InsightsQuery) -> Sql<Insights> {
    let zone = query.since.time_zone();
    let held = rows::sessions(db, query)?;
    let (shares, names) = rows::shares(db, query, &held)?;
    let counted = tools::count(db, query)?;
    let mut report = Insights {
        money: Money::of(&shares, &names),
        activity: Activity::of(&held, zone),
        notable: notable(&held, &tokens(&shares)),
        tools: counted.tools,
        skills: counted.skills,
        ..Insights::default()
    };
    // What older sessions spent in these days is money, and nothing else here.
    let own: HashMap<&str, &Held> = held.iter().map(|one| (one.id.as_str(), one)).collect();
    let shares: Vec<Share> = shares
        .into_iter()
        .filter(|share| own.contains_key(share.session.as_str()))
        .collect();
    report.overview = overview(&held, &shares);
    let roles = &counted.roles;
    let said = |role: &str| roles.get(role).copied().unwrap_or_default();
    report.overview.user_messages = said("user");
    report.overview.assistant_messages = said("assistant");
    report.overview.tool_messages = said("tool");
    report.models = models(&held, &shares);
    report.platforms = platforms(&held, &tokens(&shares));
    Ok(report)
}

/// All tokens of each session.
fn tokens(shares: &[Share]) -> HashMap<&str, i64> {
    let mut sums = HashMap::new();
    for share in shares {
        *sums.entry(share.session.as_str()).or_default() += share.tokens.total();
    }
    sums
}

fn overview(held: &[Held], shares: &[Share]) -> Overview {
    let mut tokens = Tokens::default();
    shares.iter().for_each(|share| tokens += share.tokens);
    let names = |unpriced: bool| -> Vec<String> {
        let of = shares
            .iter()
            .filter(|share| (share.unpriced > 0) == unpriced);
        let names: BTreeSet<&str> = of.map(|share| short(&share.model)).collect();
        names.into_iter().map(str::to_owned).collect()
    };
    let unknown = shares.iter().filter(|share| share.unpriced > 0);
    let unknown: BTreeSet<&str> = unknown.map(|share| share.session.as_str()).collect();
    let times: Vec<f64> = held.iter().filter_map(Held::seconds).collect();
    let messages = held.iter().map(|one| one.messages).sum();
    let active: f64 = times.iter().sum();
    Overview {
        sessions: held.len(),
        messages,
        tool_calls: held.iter().map(|one| one.tool_calls).sum(),
        requests: shares.iter().map(|share| share.calls).sum(),
        tokens,
        total_tokens: tokens.total(),
        estimated_cost_usd: shares.iter().map(|share| share.usd).sum(),
        actual_cost_usd: held.iter().map(|one| one.actual_usd).sum(),
        unknown_cost_sessions: unknown.len(),
        included_cost_sessions: held.iter().filter(|one| one.is_included()).count(),
        models_with_pricing: names(false),
        models_without_pricing: names(true),
        active_seconds: active,
        average_session_seconds: average(active, times.len()),
        average_messages: average(messages as f64, held.len()),
        average_tokens: average(tokens.total() as f64, held.len()),
        first: held.iter().map(Held::began).min(),
        last: held.iter().map(Held::began).max(),
        ..Overview::default()
    }
}

fn average(sum: f64, count: usize) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

fn models(held: &[Held], shares: &[Share]) -> Vec<ModelCount> {
    let mut found: HashMap<&str, (ModelCount, BTreeSet<&str>)> = HashMap::new();
    for share in shares {
        let (count, sessions) = found.entry(short(&share.model)).or_default();
        sessions.insert(share.session.as_str());
        count.tokens += share.tokens;
        count.requests += share.calls;
        count.usd += share.usd;
    }
    for one in held {
        let Some(model) = one.sums.model.as_deref() else {
            continue;
        };
        let (count, sessions) = found.entry(short(model)).or_default();
        sessions.insert(&one.id);
        count.tool_calls += one.tool_calls;
    }
    let rows = found
        .into_iter()
        .map(|(model, (count, sessions))| ModelCount {
            model: model.to_owned(),
            sessions: sessions.len(),
            total_tokens: count.tokens.total(),
            ..count
        });
    let mut rows: Vec<ModelCount> = rows.collect();
    rows.sort_by(|a, b| {
        let most = (b.total_tokens, b.sessions).cmp(&(a.total_tokens, a.sessions));
        most.then_with(|| a.model.cmp(&b.model))
    });
    rows
}

fn platforms(held: &[Held], tokens: &HashMap<&str, i64>) -> Vec<Platform> {
    let mut found: HashMap<&str, Platform> = HashMap::new();
    for one in held {
        let row = found.entry(&one.source).or_default();
        row.sessions += 1;
        row.messages += one.messages;
        row.tool_calls += one.tool_calls;
        row.total_tokens += tokens.get(one.id.as_str()).copied().unwrap_or_default();
    }
    let rows = found.into_iter().map(|(source, row)| Platform {
        source: source.to_owned(),
        ..row
    });
    let mut rows: Vec<Platform> = rows.collect();
    rows.sort_by(|a, b| (b.sessions, &a.source).cmp(&(a.sessions, &b.source)));
    rows
}

/// The sessions with the most of something; one that has nothing of it stands for nothing.
fn notable(held: &[Held], tokens: &HashMap<&str, i64>) -> Vec<Notable> {
    type Measure<'m> = &'m dyn Fn(&Held) -> i64;
    let all_tokens = |one: &Held| tokens.get(one.id.as_str()).copied().unwrap_or_default();
    let measures: [(&'static str, Measure<'_>); 4] = [
        ("longest", &|one| one.seconds().unwrap_or_default() as i64),
        ("messages", &|one| one.messages),
        ("tokens", &all_tokens),
        ("tool_calls", &|one| one.tool_calls),
    ];
    let top = measures.into_iter().filter_map(|(most, measure)| {
        // Of equals the one that began first.
        let one = held
            .iter()
            .max_by_key(|one| (measure(one), std::cmp::Reverse(one.began())))?;
        let value = measure(one);
        (value > 0).then(|| Notable {
            most,
            session: SessionId::new(one.id.as_str()),
            title: one.title.clone(),
            value,
        })
    });
    top.collect()
}

/// `one` of `acme/one`.
fn short(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}
