//! `/insights`: the last days in a few lines. The command line has the long form.

mod report;

use hermes_home::clock;
use hermes_store::{Insights, InsightsQuery};
use hermes_types::usd;
use jiff::Span;

pub(crate) use report::lasted;
pub use report::{Line, Section};

use crate::actor::Live;
use crate::usage::short;

const DAYS: u16 = 30;
/// Lines of each list.
const TOP: usize = 5;

impl Live {
    pub(crate) async fn insights(&self, rest: &str) -> String {
        let Some((days, source)) = wanted(rest) else {
            return "/insights [days] [--source S]".to_owned();
        };
        let now = clock::now();
        let query = InsightsQuery {
            since: now.saturating_sub(Span::new().days(days)),
            source,
        };
        match self.opening.store.insights(query).await {
            Err(error) => error.to_string(),
            Ok(seen) if seen.overview.sessions == 0 => {
                format!("No sessions found in the last {days} days.")
            }
            Ok(seen) => told(&seen, days),
        }
    }
}

/// `7`, `--days 7`, `--source telegram`, in any order.
fn wanted(rest: &str) -> Option<(u16, String)> {
    let (mut days, mut source) = (DAYS, String::new());
    let mut words = rest.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--days" => days = words.next()?.parse().ok()?,
            "--source" => source = words.next()?.to_owned(),
            number => days = number.parse().ok()?,
        }
    }
    (days > 0).then_some((days, source))
}

fn told(seen: &Insights, days: u16) -> String {
    let overview = &seen.overview;
    let mut lines = vec![
        format!("The last {days} days"),
        format!(
            "sessions  {} · {} messages",
            overview.sessions, overview.messages
        ),
        format!("tools     {} calls", overview.tool_calls),
        format!("tokens    {}", short(overview.total_tokens)),
        format!("cost      {}", usd(seen.money.usd)),
    ];
    if overview.unknown_cost_sessions > 0 {
        let without = overview.models_without_pricing.join(", ");
        lines.push(format!("          without the price of {without}"));
    }
    let models = seen.models.iter();
    let models = models.map(|row| format!("{}: {}", row.model, short(row.total_tokens)));
    let platforms = seen.platforms.iter();
    let platforms = platforms.map(|row| format!("{}: {}", row.source, row.sessions));
    let tools = seen.tools.iter();
    let tools = tools.map(|row| format!("{}: {} ({:.0} %)", row.name, row.calls, row.percent));
    list(&mut lines, "Models (tokens)", models);
    list(&mut lines, "Platforms (sessions)", platforms);
    let skills = seen.skills.iter();
    let skills =
        skills.map(|row| format!("{}: {} loads, {} edits", row.name, row.loads, row.edits));
    list(&mut lines, "Tools", tools);
    list(&mut lines, "Skills", skills);
    let (active, streak) = (seen.activity.days.len(), seen.activity.longest_streak);
    lines.push(format!("active on {active} days, {streak} in a row"));
    lines.join("\n")
}

fn list(lines: &mut Vec<String>, head: &str, rows: impl Iterator<Item = String>) {
    let mut rows = rows.take(TOP).peekable();
    if rows.peek().is_some() {
        lines.push(head.to_owned());
        lines.extend(rows.map(|row| format!("  {row}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_source_as_people_type_them() {
        let check = |rest: &str, expected: Option<(u16, &str)>| {
            let expected = expected.map(|(days, source)| (days, source.to_owned()));
            assert_eq!(wanted(rest), expected, "{rest}");
        };
        check("", Some((30, "")));
        check("7", Some((7, "")));
        check("--days 3 --source cli", Some((3, "cli")));
        check("--source cli 9", Some((9, "cli")));
        check("0", None);
        check("week", None);
        check("--days", None);
    }
}
