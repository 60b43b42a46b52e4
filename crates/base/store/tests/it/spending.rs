//! What a conversation and a day have cost.

use hermes_store::{NewSession, Occasion, Usage};
use hermes_types::SessionId;
use jiff::{Timestamp, Zoned, tz::TimeZone};
use pretty_assertions::assert_eq;

use crate::support::{Home, begin, id, on};

fn reply(model: &str, usd: Option<f64>) -> Usage {
    Usage {
        input_tokens: 100,
        output_tokens: 10,
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
    }
}

/// Noon of a day, in a zone where the day begins two hours before it does elsewhere.
fn noon(day: &str) -> Zoned {
    let zone = TimeZone::fixed(jiff::tz::offset(2));
    let day: jiff::civil::Date = day.parse().unwrap();
    day.at(12, 0, 0, 0).to_zoned(zone).unwrap()
}

fn rounded(usd: f64) -> f64 {
    (usd * 1e6).round() / 1e6
}

#[tokio::test]
async fn a_conversation_is_its_chain_its_children_and_its_side_tasks() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 100).await;
    store
        .end_session(&root, "compression", Timestamp::from_second(200).unwrap())
        .await
        .unwrap();
    let make = async |name: &str, source: &str, parent: &str, start: i64, mark: Option<&str>| {
        let new = NewSession {
            parent: Some(id(parent)),
            started_at: Timestamp::from_second(start).unwrap(),
            model_config: mark.map(|mark| serde_json::json!({mark: parent})),
            ..NewSession::new(name, source)
        };
        store.ensure_session(new).await.unwrap();
        id(name)
    };
    let tip = make("tip", "cli", "root", 300, None).await;
    let child = make("child", "subagent", "root", 150, Some("_delegate_from")).await;
    let grandchild = make("grandchild", "subagent", "child", 160, None).await;
    let branch = make("branch", "cli", "root", 310, Some("_branched_from")).await;
    let other = begin(&store, "other", "cli", 320).await;
    for (session, usd) in [
        (&root, 1.0),
        (&tip, 2.0),
        (&child, 4.0),
        (&grandchild, 8.0),
        (&branch, 16.0),
        (&other, 32.0),
    ] {
        store
            .add_usage(session, &reply("a/big", Some(usd)), &on("2026-02-03"))
            .await
            .unwrap();
    }
    let title = Occasion {
        task: "title_generation",
        ..on("2026-02-03")
    };
    store
        .add_usage(&tip, &reply("small", Some(0.5)), &title)
        .await
        .unwrap();
    let total = async |id: &SessionId| rounded(store.account(id).await.unwrap().usd());
    for session in [&root, &tip] {
        assert_eq!(total(session).await, 15.5, "{session}");
    }
    assert_eq!((total(&branch).await, total(&other).await), (16.0, 32.0));
    assert_eq!(total(&id("nobody")).await, 0.0);
    let account = store.account(&tip).await.unwrap();
    let children = account.shares.iter().filter(|share| share.child);
    assert_eq!(children.map(|share| share.usd).sum::<f64>(), 12.0);
    let side: Vec<_> = account
        .shares
        .iter()
        .filter(|share| !share.task.is_empty())
        .collect();
    assert_eq!(
        (side.len(), side[0].model.as_str(), side[0].usd),
        (1, "small", 0.5)
    );
    assert_eq!((account.calls(), account.tokens().total()), (5, 550));
    assert_eq!(
        rounded(store.spent_on(&noon("2026-02-03")).await.unwrap()),
        63.5
    );
    assert_eq!(store.spent_on(&noon("2026-02-04")).await.unwrap(), 0.0);
}

#[tokio::test]
async fn a_day_is_what_was_noted_on_it_and_what_only_a_row_knows() {
    let home = Home::new();
    let day = noon("2026-02-03");
    let evening_before = day.start_of_day().unwrap().timestamp().as_second() - 60;
    let store = home.open().await;
    // Begun yesterday, gone on today.
    let long = begin(&store, "long", "cli", evening_before).await;
    store
        .add_usage(&long, &reply("m", Some(1.0)), &on("2026-02-02"))
        .await
        .unwrap();
    store
        .add_usage(&long, &reply("m", Some(0.25)), &on("2026-02-03"))
        .await
        .unwrap();
    // Another program writes nothing but the row.
    let foreign = begin(&store, "foreign", "cli", day.timestamp().as_second()).await;
    store
        .set_usage(&foreign, &reply("m", Some(0.5)))
        .await
        .unwrap();
    assert_eq!(rounded(store.spent_on(&day).await.unwrap()), 0.75);
    // Both write the same session.
    store
        .add_usage(&foreign, &reply("m", Some(0.125)), &on("2026-02-03"))
        .await
        .unwrap();
    assert_eq!(rounded(store.spent_on(&day).await.unwrap()), 0.875);
    // Money stays spent.
    store.delete_session(&long).await.unwrap();
    store.close().await;
    let again = home.open().await;
    assert_eq!(rounded(again.spent_on(&day).await.unwrap()), 0.875);
    assert_eq!(
        rounded(again.spent_on(&noon("2026-02-02")).await.unwrap()),
        1.0
    );
}

#[tokio::test]
async fn newer_files_are_not_counted_twice() {
    let home = Home::with_fixture("v22.db");
    let store = home.open().await;
    let alpha = store.find("alpha").await.unwrap();
    let day = noon("2026-01-01");
    assert_eq!(rounded(store.spent_on(&day).await.unwrap()), 0.25);
    assert_eq!(rounded(store.account(&alpha).await.unwrap().usd()), 0.25);
    store
        .add_usage(&alpha, &reply("acme/one", Some(0.5)), &on("2026-02-03"))
        .await
        .unwrap();
    let title = Occasion {
        task: "title_generation",
        ..on("2026-02-03")
    };
    store
        .add_usage(&alpha, &reply("small", None), &title)
        .await
        .unwrap();
    assert_eq!(rounded(store.spent_on(&day).await.unwrap()), 0.25);
    assert_eq!(
        rounded(store.spent_on(&noon("2026-02-03")).await.unwrap()),
        0.5
    );
    let account = store.account(&alpha).await.unwrap();
    assert_eq!(
        (rounded(account.usd()), account.calls(), account.unpriced()),
        (0.75, 4, 1)
    );
    assert_eq!((account.tokens().input, account.tokens().output), (300, 40));
    let named = "SELECT task FROM session_model_usage WHERE model = 'small'";
    assert_eq!(home.text(named), "title_generation");
    // The other program keeps side tasks out of the row.
    home.sql()
        .execute(
            "INSERT INTO session_model_usage (session_id, model, task, estimated_cost_usd,
                 input_tokens, api_call_count, cost_status)
             VALUES (?1, 'tiny', 'vision', 0.125, 7, 1, 'estimated')",
            [alpha.as_str()],
        )
        .unwrap();
    let account = store.account(&alpha).await.unwrap();
    assert_eq!(
        (rounded(account.usd()), account.tokens().input),
        (0.875, 307)
    );
    assert_eq!(rounded(store.spent_on(&day).await.unwrap()), 0.375);
}

// A file of ours that the other program has brought up to date has one row per session there, under the
// session's own model, whatever else was used.
#[tokio::test]
async fn a_migrated_file_is_not_counted_twice() {
    let home = Home::with_fixture("v22.db");
    let store = home.open().await;
    let both = begin(&store, "both", "cli", 1_770_100_000).await;
    store
        .add_usage(&both, &reply("a", Some(1.0)), &on("2026-02-03"))
        .await
        .unwrap();
    store
        .add_usage(&both, &reply("b", Some(0.5)), &on("2026-02-03"))
        .await
        .unwrap();
    home.sql()
        .execute_batch(
            "DELETE FROM session_model_usage WHERE session_id = 'both';
             INSERT INTO session_model_usage (session_id, model, billing_provider, input_tokens,
                 output_tokens, api_call_count, estimated_cost_usd)
             SELECT id, model, billing_provider, input_tokens, output_tokens, api_call_count,
                 estimated_cost_usd FROM sessions WHERE id = 'both'",
        )
        .unwrap();
    let account = store.account(&both).await.unwrap();
    assert_eq!((rounded(account.usd()), account.calls()), (1.5, 2));
    assert_eq!(account.tokens().total(), 220);
}
