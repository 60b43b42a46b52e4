//! Conversations made shorter, and back.
#![allow(clippy::disallowed_methods)] // children are this very binary

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use hermes_store::{ListQuery, NewSession, OpenOptions, Reach, Restored, Shortened, Store};
use hermes_types::{Message, SessionId};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{Home, at, begin, id, say};

fn shorter(texts: &[&str], when: i64) -> Shortened {
    Shortened {
        system_prompt: "the new prompt".to_owned(),
        messages: texts.iter().map(|text| Message::user(*text)).collect(),
        at: at(when),
    }
}

async fn texts(store: &Store, session: &SessionId) -> Vec<String> {
    let stored = store.conversation(session, Reach::Session).await.unwrap();
    let text = |message: &Message| message.content.as_ref().unwrap().plain();
    stored.iter().map(text).collect()
}

#[tokio::test]
async fn a_split_ends_the_one_and_begins_the_other() {
    let home = Home::new();
    let store = home.open().await;
    let mut new = NewSession::new("root", "telegram");
    new.user_id = Some("42".to_owned());
    new.model = Some("m".to_owned());
    new.model_config = Some(json!({"max_iterations": 9, "_branched_from": "x"}));
    store.ensure_session(new).await.unwrap();
    let root = id("root");
    store.set_title(&root, "proj").await.unwrap();
    for text in ["a", "b", "c"] {
        say(&store, &root, text, 11).await;
    }
    store
        .split(&root, &id("child"), shorter(&["S", "c"], 20))
        .await
        .unwrap();

    let row = store.session(&root).await.unwrap().unwrap();
    assert_eq!(
        (row.ended_at, row.end_reason.as_deref()),
        (Some(at(20)), Some("compression"))
    );
    assert_eq!(texts(&store, &root).await, ["a", "b", "c"]);
    let child = store.session(&id("child")).await.unwrap().unwrap();
    assert_eq!(child.parent.as_ref(), Some(&root));
    assert_eq!(
        (
            child.source.as_str(),
            child.user_id.as_deref(),
            child.model.as_deref()
        ),
        ("telegram", Some("42"), Some("m"))
    );
    assert_eq!(child.system_prompt.as_deref(), Some("the new prompt"));
    assert_eq!(child.title.as_deref(), Some("proj #2"));
    assert_eq!((child.message_count, child.ended_at), (2, None));
    assert_eq!(child.model_config.unwrap()["max_iterations"], 9);
    assert_eq!(store.resume_target(&root).await.unwrap(), id("child"));
    assert_eq!(store.root(&id("child")).await.unwrap(), root);
    assert_eq!(texts(&store, &id("child")).await, ["S", "c"]);

    store
        .split(&id("child"), &id("third"), shorter(&["S2"], 30))
        .await
        .unwrap();
    let third = store.session(&id("third")).await.unwrap().unwrap();
    assert_eq!(third.title.as_deref(), Some("proj #3"));
    assert_eq!(store.tip(&root).await.unwrap(), id("third"));
    assert_eq!(store.list(ListQuery::default()).await.unwrap().len(), 1);
    home.assert_intact();
}

#[tokio::test]
async fn a_split_is_undone_with_what_was_said_since() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 10).await;
    store.set_title(&root, "proj").await.unwrap();
    for text in ["a", "b", "c"] {
        say(&store, &root, text, 11).await;
    }
    store
        .split(&root, &id("child"), shorter(&["S", "c"], 20))
        .await
        .unwrap();
    for text in ["d", "e"] {
        say(&store, &id("child"), text, 21).await;
    }
    let restored = store.undo_compaction(&id("child"), at(30)).await.unwrap();
    assert_eq!(restored, Restored::In(root.clone()));
    assert_eq!(texts(&store, &root).await, ["a", "b", "c", "d", "e"]);
    let row = store.session(&root).await.unwrap().unwrap();
    assert_eq!(
        (row.ended_at, row.message_count, row.title.as_deref()),
        (None, 5, Some("proj"))
    );
    for what in ["proj", "root"] {
        let found = store.find(what).await.unwrap();
        assert_eq!(store.resume_target(&found).await.unwrap(), root, "{what}");
    }
    let listed = store.list(ListQuery::default()).await.unwrap();
    assert_eq!(
        listed.iter().map(|row| &row.id).collect::<Vec<_>>(),
        [&root]
    );
    assert_eq!(
        store.undo_compaction(&root, at(31)).await.unwrap(),
        Restored::Nothing
    );

    store
        .split(&root, &id("again"), shorter(&["S"], 40))
        .await
        .unwrap();
    assert_eq!(
        store.tip(&root).await.unwrap(),
        id("again"),
        "the undone one leads nowhere"
    );
    let title = store.session(&id("again")).await.unwrap().unwrap().title;
    assert_eq!(title.as_deref(), Some("proj #2"));
    home.assert_intact();
}

#[tokio::test]
async fn a_name_given_since_stays_with_the_conversation() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 10).await;
    say(&store, &root, "a", 11).await;
    store
        .split(&root, &id("child"), shorter(&["S"], 20))
        .await
        .unwrap();
    store.set_title(&id("child"), "named").await.unwrap();
    store.undo_compaction(&id("child"), at(30)).await.unwrap();
    let title = store.session(&root).await.unwrap().unwrap().title;
    assert_eq!(title.as_deref(), Some("named"));
}

#[tokio::test]
async fn in_place_the_old_messages_are_set_aside_and_come_back() {
    let home = Home::with_fixture("v22.db");
    let store = home.open().await;
    let root = begin(&store, "here", "cli", 10).await;
    for text in ["a zebra", "b", "c"] {
        say(&store, &root, text, 11).await;
    }
    assert!(
        store
            .set_aside(&root, shorter(&["S", "c"], 20))
            .await
            .unwrap()
    );
    say(&store, &root, "d", 21).await;
    assert!(store.set_aside(&root, shorter(&["S2"], 30)).await.unwrap());
    say(&store, &root, "e", 31).await;
    assert_eq!(texts(&store, &root).await, ["S2", "e"]);
    let row = store.session(&root).await.unwrap().unwrap();
    assert_eq!((row.message_count, row.ended_at), (2, None));
    assert_eq!(row.system_prompt.as_deref(), Some("the new prompt"));
    let query = hermes_store::SearchQuery::new("zebra");
    assert_eq!(
        store.search(query).await.unwrap().len(),
        1,
        "set aside, not lost"
    );

    assert_eq!(
        store.undo_compaction(&root, at(40)).await.unwrap(),
        Restored::In(root.clone())
    );
    assert_eq!(texts(&store, &root).await, ["S", "c", "d", "e"]);
    assert_eq!(
        store.undo_compaction(&root, at(40)).await.unwrap(),
        Restored::In(root.clone())
    );
    assert_eq!(texts(&store, &root).await, ["a zebra", "b", "c", "d", "e"]);
    assert_eq!(
        store.undo_compaction(&root, at(40)).await.unwrap(),
        Restored::Nothing
    );
}

#[tokio::test]
async fn an_older_file_cannot_set_aside_and_stays_as_it_is() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 10).await;
    say(&store, &root, "a", 11).await;
    assert!(!store.set_aside(&root, shorter(&["S"], 20)).await.unwrap());
    assert_eq!(texts(&store, &root).await, ["a"]);
}

const CHILD: &str = "compact::child_splits";
const LONG: usize = 400;

/// Not a test of its own: splits one conversation again and again until it is killed.
#[ignore = "started by the test below"]
#[tokio::test]
async fn child_splits() {
    let Ok(path) = std::env::var("STORE_SPLITS") else {
        return;
    };
    let store = Store::open(path, OpenOptions::default()).await.unwrap();
    let mut session = store.tip(&id("root")).await.unwrap();
    let texts: Vec<String> = (0..LONG).map(|n| format!("message {n}")).collect();
    let messages: Vec<Message> = texts.iter().map(Message::user).collect();
    for n in 0.. {
        let child = id(&format!("{}_{n}", std::process::id()));
        let shorter = Shortened {
            system_prompt: "p".to_owned(),
            messages: messages.clone(),
            at: Timestamp::now(),
        };
        println!("splitting");
        store.split(&session, &child, shorter).await.unwrap();
        session = child;
    }
}

#[test]
fn whoever_is_killed_leaves_the_old_session_or_the_new_one() {
    let home = Home::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = home.open().await;
        let root = begin(&store, "root", "cli", 10).await;
        for n in 0..LONG {
            say(&store, &root, &format!("message {n}"), 11).await;
        }
        store.close().await;
    });
    for round in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", CHILD, "--ignored", "--nocapture"])
            .env("STORE_SPLITS", home.db())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let begun = lines
            .map_while(Result::ok)
            .filter(|line| line.contains("splitting"));
        assert_eq!(begun.take(1 + round).count(), 1 + round);
        child.kill().unwrap();
        child.wait().unwrap();
        runtime.block_on(async {
            let store = home.open().await;
            let tip = store.resume_target(&id("root")).await.unwrap();
            let row = store.session(&tip).await.unwrap().unwrap();
            assert_eq!(row.ended_at, None, "there is one to go on with");
            assert_eq!(texts(&store, &tip).await.len(), LONG, "and it is whole");
            assert_eq!(row.message_count, LONG as i64);
            assert_eq!(store.root(&tip).await.unwrap(), id("root"));
            store.close().await;
        });
        let open = home.number("SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL");
        assert_eq!(open, 1, "never two");
    }
    home.assert_intact();
}
