//! Files and directories nobody may write to.
#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // the child is this very binary

use std::{
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::Command,
};

use hermes_store::{ErrorKind, Health, ListQuery, OpenOptions, SearchQuery, Store};
use hermes_types::Message;
use pretty_assertions::assert_eq;

use crate::support::{Home, at, begin, id, say};

#[tokio::test]
async fn a_store_opened_to_look_does_not_write() {
    let home = Home::new();
    let writer = home.open().await;
    let session = begin(&writer, "s", "cli", 1).await;
    say(&writer, &session, "hello", 2).await;
    let store = Store::open(home.db(), OpenOptions::read_only())
        .await
        .unwrap();
    assert_eq!(store.messages(&session).await.unwrap().len(), 1);
    say(&writer, &session, "seen at once", 3).await;
    assert_eq!(store.messages(&session).await.unwrap().len(), 2);
    let error = store.append(&session, &Message::user("x"), at(4)).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ReadOnly);
    assert!(matches!(store.health(), Health::Degraded(_)));
}

#[tokio::test]
async fn an_old_file_is_looked_at_as_it_is() {
    let home = Home::new();
    home.sql()
        .execute_batch(include_str!("fixtures/v9.sql"))
        .unwrap();
    let store = Store::open(home.db(), OpenOptions::read_only())
        .await
        .unwrap();
    assert_eq!(store.schema_version(), 9);
    assert_eq!(store.messages(&id("old")).await.unwrap().len(), 3);
    let rows = store.list(ListQuery::default()).await.unwrap();
    assert_eq!(rows.len(), 2);
    let hits = store.search(SearchQuery::new("大别山项目")).await.unwrap();
    assert_eq!(hits.len(), 1);
    let exported = store.export_session(&id("old")).await.unwrap().unwrap();
    assert_eq!(exported["messages"].as_array().unwrap().len(), 3);
    assert_eq!(home.number("SELECT version FROM schema_version"), 9);
}

/// Root may write anywhere, so the actual looking is done by a child that is nobody.
#[test]
fn a_directory_nobody_may_write_to() {
    let home = Home::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = home.open().await;
        let session = begin(&store, "s", "cli", 1).await;
        say(&store, &session, "hello", 2).await;
        store.close().await;
    });
    let binary = home.dir().join("look");
    std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    allow(&binary, 0o555);
    allow(&home.db(), 0o444);
    allow(home.dir(), 0o555);
    let mut child = Command::new(&binary);
    child
        .args(["--exact", "readonly::child_looks", "--ignored"])
        .current_dir("/")
        .env("STORE_CHILD", home.db());
    if std::fs::write(home.dir().join("probe"), "").is_ok() {
        child.uid(65_534).gid(65_534);
    }
    let output = child.output().unwrap();
    allow(home.dir(), 0o755);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    assert!(!home.dir().join("state.db-wal").exists());
}

/// Not a test of its own: what the child of the test above does.
#[ignore = "started by a_directory_nobody_may_write_to"]
#[tokio::test]
async fn child_looks() {
    let Ok(path) = std::env::var("STORE_CHILD") else {
        return;
    };
    for options in [OpenOptions::read_only(), OpenOptions::default()] {
        let store = Store::open(&path, options).await.unwrap();
        let messages = store.messages(&id("s")).await.unwrap();
        assert_eq!(messages.len(), 1);
        assert_eq!(store.list(ListQuery::default()).await.unwrap().len(), 1);
        let hits = store.search(SearchQuery::new("hello")).await.unwrap();
        assert_eq!(hits.len(), 1);
        let error = store.append(&id("s"), &Message::user("x"), at(3)).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        assert_eq!(store.health(), Health::Degraded(error));
    }
    let beside = Path::new(&path).with_file_name("new.db");
    let error = Store::open(&beside, OpenOptions::default()).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ReadOnly);
}
