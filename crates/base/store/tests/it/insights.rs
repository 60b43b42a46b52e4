//! Reports over files the Python program made, and over our own.

use hermes_store::{Insights, InsightsQuery, OpenOptions, Store, Tokens, Usage};
use jiff::{Timestamp, tz::TimeZone};
use pretty_assertions::assert_eq;

use crate::support::{Home, at, begin, id, on, say};

fn since(second: i64) -> InsightsQuery {
    InsightsQuery {
        since: at(second).to_zoned(TimeZone::UTC),
        source: String::new(),
    }
}

async fn report(name: &str, query: InsightsQuery) -> Insights {
    let home = Home::with_fixture(name);
    // As it is, without our own table.
    let store = Store::open(home.db(), OpenOptions::read_only())
        .await
        .unwrap();
    let seen = store.insights(query.clone()).await.unwrap();
    store.close().await;
    let migrated = home.open().await.insights(query).await.unwrap();
    assert_eq!(seen, migrated);
    seen
}

#[tokio::test]
async fn a_version_11_file_of_the_python_program() {
    let seen = report("v11.db", since(0)).await;
    let overview = &seen.overview;
    assert_eq!(
        (
            overview.sessions,
            overview.messages,
            overview.tool_calls,
            overview.requests
        ),
        (7, 14, 1, 2)
    );
    let said = (
        overview.user_messages,
        overview.assistant_messages,
        overview.tool_messages,
    );
    assert_eq!(said, (8, 5, 1));
    let tokens = Tokens {
        input: 100,
        output: 20,
        ..Tokens::default()
    };
    assert_eq!((overview.tokens, overview.total_tokens), (tokens, 120));
    assert_eq!(
        (overview.estimated_cost_usd, overview.active_seconds),
        (0.25, 3.0)
    );
    assert_eq!(overview.models_with_pricing, ["one"]);
    assert_eq!(overview.unknown_cost_sessions, 0);
    let models: Vec<_> = seen
        .models
        .iter()
        .map(|m| (m.model.as_str(), m.sessions, m.tool_calls, m.usd))
        .collect();
    assert_eq!(models, [("one", 1, 1, 0.25)]);
    let platforms: Vec<_> = seen
        .platforms
        .iter()
        .map(|p| (p.source.as_str(), p.sessions, p.messages))
        .collect();
    assert_eq!(
        platforms,
        [
            ("cli", 4, 10),
            ("subagent", 1, 1),
            ("telegram", 1, 2),
            ("tool", 1, 1)
        ]
    );
    assert_eq!(seen.tools.len(), 1);
    assert_eq!(
        (seen.tools[0].name.as_str(), seen.tools[0].calls),
        ("web_search", 1)
    );
    assert_eq!(seen.activity.days, [("2026-01-01".parse().unwrap(), 7)]);
    assert_eq!((seen.activity.hours[9], seen.activity.weekdays[3]), (7, 7));
    let notable: Vec<_> = seen
        .notable
        .iter()
        .map(|n| (n.most, n.session.as_str(), n.value))
        .collect();
    let alpha = "20260101_090000_aaaaaa";
    let expected = [
        ("longest", alpha, 1),
        ("messages", alpha, 4),
        ("tokens", alpha, 120),
        ("tool_calls", alpha, 1),
    ];
    assert_eq!(notable, expected);
    assert_eq!((seen.money.usd, seen.money.days[0].usd), (0.25, 0.25));
    assert_eq!(
        (
            seen.money.sessions[0].title.as_deref(),
            seen.money.providers[0].name.as_str()
        ),
        (Some("alpha"), "acme")
    );
}

#[tokio::test]
async fn a_version_22_file_of_the_python_program() {
    let seen = report("v22.db", since(0)).await;
    let overview = &seen.overview;
    assert_eq!(
        (
            overview.sessions,
            overview.messages,
            overview.total_tokens,
            overview.requests
        ),
        (10, 20, 120, 2)
    );
    let said = (
        overview.user_messages,
        overview.assistant_messages,
        overview.tool_messages,
    );
    assert_eq!(said, (13, 8, 1));
    assert_eq!((overview.estimated_cost_usd, seen.money.usd), (0.25, 0.25));
    assert_eq!(
        (
            seen.platforms[0].source.as_str(),
            seen.platforms[0].sessions
        ),
        ("cli", 7)
    );
}

#[tokio::test]
async fn only_the_asked_for_days_and_source() {
    let seen = report("v11.db", since(1_767_258_003)).await;
    assert_eq!((seen.overview.sessions, seen.overview.total_tokens), (5, 0));
    let telegram = InsightsQuery {
        source: "telegram".to_owned(),
        ..since(0)
    };
    let seen = report("v11.db", telegram).await;
    assert_eq!(
        (seen.overview.sessions, seen.overview.user_messages),
        (1, 1)
    );
    let seen = report("v11.db", since(1_800_000_000)).await;
    assert_eq!(seen, Insights::default());
}

#[tokio::test]
async fn money_by_day_model_and_who_spent_it() {
    let home = Home::new();
    let store = home.open().await;
    let start = "2026-02-03T08:00:00Z"
        .parse::<Timestamp>()
        .unwrap()
        .as_second();
    let spend = async |session: &str, model: &str, usd: Option<f64>, day: &str| {
        let usage = Usage {
            input_tokens: 10,
            api_calls: 1,
            estimated_cost_usd: usd,
            cost_status: Some(
                if usd.is_some() {
                    "estimated"
                } else {
                    "unknown"
                }
                .to_owned(),
            ),
            billing_provider: Some("acme".to_owned()),
            model: Some(model.to_owned()),
            ..Usage::default()
        };
        store
            .add_usage(&id(session), &usage, &on(day))
            .await
            .unwrap();
    };
    begin(&store, "old", "cli", start - 5 * 86_400).await;
    begin(&store, "new", "cli", start).await;
    let child = hermes_store::NewSession {
        parent: Some(id("new")),
        started_at: at(start + 60),
        ..hermes_store::NewSession::new("child", "subagent")
    };
    store.ensure_session(child).await.unwrap();
    say(&store, &id("new"), "hello", start).await;
    spend("old", "x/big", Some(8.0), "2026-01-29").await;
    spend("old", "x/big", Some(1.0), "2026-02-03").await;
    spend("new", "x/big", Some(2.0), "2026-02-03").await;
    spend("new", "x/big", Some(4.0), "2026-02-04").await;
    spend("new", "local", None, "2026-02-04").await;
    spend("child", "small", Some(0.5), "2026-02-04").await;
    let seen = store.insights(since(start - 86_400)).await.unwrap();
    let lines = |bills: &[hermes_store::Bill]| -> Vec<(String, f64)> {
        bills
            .iter()
            .map(|bill| (bill.name.clone(), bill.usd))
            .collect()
    };
    let named = |rows: &[(&str, f64)]| -> Vec<(String, f64)> {
        rows.iter()
            .map(|(name, usd)| ((*name).to_owned(), *usd))
            .collect()
    };
    let money = &seen.money;
    assert_eq!(
        lines(&money.days),
        named(&[("2026-02-03", 3.0), ("2026-02-04", 4.5)])
    );
    assert_eq!(
        lines(&money.models),
        named(&[("big", 7.0), ("small", 0.5), ("local", 0.0)])
    );
    assert_eq!(
        lines(&money.sessions),
        named(&[("new", 6.0), ("old", 1.0), ("child", 0.5)])
    );
    assert_eq!(
        (
            money.usd,
            money.conversations_usd,
            money.children_usd,
            money.side_tasks_usd
        ),
        (7.5, 7.0, 0.5, 0.0)
    );
    assert_eq!(money.unpriced, [("local".to_owned(), 1)]);
    // Everything else is about the sessions that began in these days.
    assert_eq!(
        (seen.overview.sessions, seen.overview.estimated_cost_usd),
        (2, 6.5)
    );
    assert_eq!(seen.overview.models_without_pricing, ["local"]);
}
