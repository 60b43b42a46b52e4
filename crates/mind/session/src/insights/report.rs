//! What there is to tell, in sections: the same for every face, laid out by each in its own way.

use hermes_home::clock;
use hermes_store::{Activity, Bill, Insights, Money, Notable, Overview};
use hermes_types::usd;

use crate::usage::short;

const TOOLS: usize = 15;
/// Rows of every other list.
const ROWS: usize = 10;
/// A bar for each day of a year helps nobody.
const DAYS: usize = 31;

/// A heading and what belongs under it.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub head: &'static str,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// An empty label belongs to the one above.
    Fact(&'static str, String),
    /// Something that can be compared with its neighbours.
    Bar {
        name: String,
        size: f64,
        text: String,
    },
}

impl Section {
    /// Everything but the money in detail.
    pub fn report(seen: &Insights) -> Vec<Self> {
        let models = seen.models.iter().take(ROWS).map(|row| {
            let (tokens, cost) = (short(row.total_tokens), usd(row.usd));
            let text = format!(
                "{tokens} tokens · {} · {} · {cost}",
                row.sessions, row.tool_calls
            );
            bar(&row.model, row.total_tokens as f64, text)
        });
        let platforms = seen.platforms.iter().take(ROWS).map(|row| {
            let text = format!("{} · {}", row.sessions, several(row.messages, "message"));
            bar(&row.source, row.sessions as f64, text)
        });
        let tools = seen.tools.iter().take(TOOLS).map(|row| {
            let text = format!("{} · {:.1} %", row.calls, row.percent);
            bar(&row.name, row.calls as f64, text)
        });
        let skills = seen.skills.iter().take(ROWS).map(|row| {
            let last = clock::local(row.last_used).strftime("%Y-%m-%d");
            let text = format!("{} loads · {} edits · {last}", row.loads, row.edits);
            bar(&row.name, (row.loads + row.edits) as f64, text)
        });
        let sections = [
            section("Overview", facts(&seen.overview)),
            section("Models (tokens, sessions, tool calls, cost)", models),
            section("Platforms (sessions)", platforms),
            section("Tools (calls)", tools),
            section("Skills", skills),
            section("Activity (sessions)", activity(&seen.activity)),
            section("Notable sessions", seen.notable.iter().map(notable)),
        ];
        filled(sections)
    }

    /// Where the money went.
    pub fn account(money: &Money) -> Vec<Self> {
        let overview = [
            Line::Fact("Total", usd(money.usd)),
            Line::Fact("Conversations", usd(money.conversations_usd)),
            Line::Fact("Children", usd(money.children_usd)),
            Line::Fact("Side tasks", usd(money.side_tasks_usd)),
        ];
        let unpriced = money
            .unpriced
            .iter()
            .map(|(model, count)| bar(model, 0.0, several(*count, "request")));
        let latest = money.days.len().saturating_sub(DAYS);
        let sections = [
            section("Overview", overview),
            section("By day", money.days.iter().skip(latest).map(bill)),
            section("By model", money.models.iter().take(ROWS).map(bill)),
            section("By provider", money.providers.iter().take(ROWS).map(bill)),
            section("By session", money.sessions.iter().take(ROWS).map(bill)),
            section("Side tasks", money.tasks.iter().take(ROWS).map(bill)),
            section("Without a known price (not counted)", unpriced),
        ];
        filled(sections)
    }
}

fn section(head: &'static str, lines: impl IntoIterator<Item = Line>) -> Section {
    let lines = lines.into_iter().collect();
    Section { head, lines }
}

fn filled(sections: impl IntoIterator<Item = Section>) -> Vec<Section> {
    let sections = sections.into_iter();
    sections
        .filter(|section| !section.lines.is_empty())
        .collect()
}

fn bar(name: &str, size: f64, text: String) -> Line {
    let name = name.to_owned();
    Line::Bar { name, size, text }
}

fn bill(bill: &Bill) -> Line {
    let name = bill.title.as_deref().unwrap_or(&bill.name);
    let requests = several(bill.requests, "request");
    bar(name, bill.usd, format!("{} · {requests}", usd(bill.usd)))
}

fn activity(seen: &Activity) -> Vec<Line> {
    let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let days = weekdays.iter().zip(seen.weekdays);
    let days = days.map(|(day, count)| bar(day, count as f64, count.to_string()));
    let peaks = seen.peak_hours().into_iter();
    let peaks: Vec<String> = peaks
        .map(|(hour, count)| format!("{hour:02}:00 ({count})"))
        .collect();
    let streak = several(seen.longest_streak as i64, "day");
    let facts = [
        Line::Fact("Busiest", peaks.join(", ")),
        Line::Fact("Active", several(seen.days.len() as i64, "day")),
        Line::Fact("Streak", format!("{streak} in a row")),
    ];
    days.chain(facts).collect()
}

fn notable(row: &Notable) -> Line {
    let (label, value) = match row.most {
        "longest" => ("Longest", lasted(row.value as f64)),
        "messages" => ("Messages", row.value.to_string()),
        "tokens" => ("Tokens", short(row.value)),
        _ => ("Tool calls", row.value.to_string()),
    };
    let name = row.title.as_deref().unwrap_or(row.session.as_str());
    Line::Fact(label, format!("{value} · {name}"))
}

fn facts(seen: &Overview) -> Vec<Line> {
    let tokens = &seen.tokens;
    let day = |at: Option<jiff::Timestamp>| {
        at.map(|at| clock::local(at).strftime("%Y-%m-%d").to_string())
            .unwrap_or_default()
    };
    let mut facts = vec![
        (
            "Period",
            format!("{} to {}", day(seen.first), day(seen.last)),
        ),
        ("Sessions", seen.sessions.to_string()),
        (
            "Messages",
            format!(
                "{} ({} user, {} assistant, {} tool)",
                seen.messages, seen.user_messages, seen.assistant_messages, seen.tool_messages
            ),
        ),
        ("Tool calls", seen.tool_calls.to_string()),
        ("Requests", seen.requests.to_string()),
        ("Tokens", short(seen.total_tokens)),
        (
            "",
            format!("{} in, {} out", short(tokens.input), short(tokens.output)),
        ),
        (
            "",
            format!(
                "{} cached, {} written",
                short(tokens.cache_read),
                short(tokens.cache_write)
            ),
        ),
        (
            "Cost",
            format!("{} (estimated)", usd(seen.estimated_cost_usd)),
        ),
    ];
    if seen.actual_cost_usd > 0.0 {
        facts.push(("", format!("{} (actual)", usd(seen.actual_cost_usd))));
    }
    if seen.unknown_cost_sessions > 0 {
        let names = seen.models_without_pricing.join(", ");
        let count = seen.unknown_cost_sessions;
        facts.push(("", format!("price unknown in {count} sessions: {names}")));
    }
    if seen.included_cost_sessions > 0 {
        let count = seen.included_cost_sessions;
        facts.push(("", format!("{count} sessions paid by a subscription")));
    }
    facts.extend([
        ("Active time", lasted(seen.active_seconds)),
        (
            "On average",
            format!(
                "{:.1} messages, {} tokens, {}",
                seen.average_messages,
                short(seen.average_tokens as i64),
                lasted(seen.average_session_seconds)
            ),
        ),
    ]);
    let lines = facts.into_iter();
    lines
        .map(|(label, value)| Line::Fact(label, value))
        .collect()
}

/// `1 day`, `12.3k days`
fn several(count: i64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {what}{end}", short(count))
}

/// `1h 5m`
pub(crate) fn lasted(seconds: f64) -> String {
    let seconds = seconds as i64;
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}
