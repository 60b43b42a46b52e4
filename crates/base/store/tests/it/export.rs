//! Exports of single sessions and the totals.

use hermes_store::{ErrorKind, ExportSources};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{Home, begin, id, say};

// spec: state §13.12
#[tokio::test]
async fn one_session_by_the_beginning_of_its_id() {
    let home = Home::new();
    let store = home.open().await;
    for name in ["20260101_aaa", "20260101_abb", "20270101_ccc"] {
        let session = begin(&store, name, "cli", 1).await;
        say(&store, &session, "hello", 2).await;
    }
    let found = store.find_by_id("20270101").await.unwrap();
    let exported = store.export_session(&found).await.unwrap().unwrap();
    assert_eq!(exported["id"], "20270101_ccc");
    assert_eq!(exported["started_at"], json!(1.0));
    assert_eq!(exported["messages"].as_array().unwrap().len(), 1);
    assert_eq!(exported["messages"][0]["content"], "hello");
    assert_eq!(exported.get("last_active"), None);
    let error = store.find_by_id("20260101").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    assert!(error.to_string().contains("not found"), "{error}");
    assert_eq!(store.export_session(&id("x")).await.unwrap(), None);
}

#[tokio::test]
async fn an_export_follows_the_file_while_it_runs() {
    let home = Home::new();
    let store = home.open().await;
    for (name, source, when) in [("a", "cli", 30), ("b", "cli", 20), ("c", "acp", 10)] {
        let session = begin(&store, name, source, 1).await;
        say(&store, &session, "x", when).await;
    }
    let only = ExportSources::Only("cli".to_owned());
    let mut export = store.export(only).await.unwrap();
    let first = export.next().await.unwrap().unwrap();
    assert_eq!(
        (&first["id"], &first["last_active"]),
        (&json!("a"), &json!(30.0))
    );
    store.delete_session(&id("b")).await.unwrap();
    assert_eq!(export.next().await.unwrap(), None);
}

#[tokio::test]
async fn totals() {
    let home = Home::new();
    let store = home.open().await;
    for (name, source) in [("a", "cli"), ("b", "cli"), ("c", "acp")] {
        let session = begin(&store, name, source, 1).await;
        say(&store, &session, "x", 2).await;
    }
    say(&store, &id("a"), "y", 3).await;
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.sessions, stats.messages), (3, 4));
    assert_eq!(
        stats.sources,
        [("cli".to_owned(), 2), ("acp".to_owned(), 1)]
    );
    assert_eq!(stats.bytes, std::fs::metadata(home.db()).unwrap().len());
}
