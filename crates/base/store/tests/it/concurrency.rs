//! Several processes, and processes that are killed.
#![allow(clippy::disallowed_methods)] // children are this very binary

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use hermes_store::{ErrorKind, NewSession, OpenOptions, Store, copy_database};
use hermes_types::Message;
use jiff::Timestamp;
use rusqlite::Connection;

use crate::support::{Home, at, begin, id};

const CHILD: &str = "concurrency::child_appends";

/// Not a test of its own: what the children of the tests below do.
#[ignore = "started by the other tests of this module"]
#[tokio::test]
async fn child_appends() {
    let Ok(task) = std::env::var("STORE_CHILD") else {
        return;
    };
    let (session, rest) = task.split_once(' ').unwrap();
    let (count, path) = rest.split_once(' ').unwrap();
    let store = Store::open(path, OpenOptions::default()).await.unwrap();
    let session = id(session);
    store
        .ensure_session(NewSession::new(session.clone(), "cli"))
        .await
        .unwrap();
    for n in 0..count.parse::<u32>().unwrap() {
        let message = Message::user(format!("message {n} of {session}"));
        let row = store
            .append(&session, &message, Timestamp::now())
            .await
            .unwrap();
        println!("acked {row}");
    }
}

fn spawn(session: &str, count: u32, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--ignored", "--nocapture"])
        .env(
            "STORE_CHILD",
            format!("{session} {count} {}", path.display()),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(!errors.contains("locked"), "{errors}");
}

// spec: state §13.9
#[test]
fn two_processes_append_at_once() {
    let home = Home::new();
    let children = [spawn("a", 500, &home.db()), spawn("b", 500, &home.db())];
    children.into_iter().for_each(finish);
    assert_eq!(home.number("SELECT COUNT(*) FROM messages"), 1000);
    assert_eq!(home.number("SELECT MIN(message_count) FROM sessions"), 500);
    home.assert_intact();
}

#[test]
fn eight_processes_create_the_file_at_once() {
    let home = Home::new();
    let children: Vec<_> = (0..8)
        .map(|n| spawn(&format!("s{n}"), 20, &home.db()))
        .collect();
    children.into_iter().for_each(finish);
    assert_eq!(home.number("SELECT COUNT(*) FROM messages"), 160);
    assert_eq!(home.number("SELECT COUNT(*) FROM schema_version"), 1);
    home.assert_intact();
}

#[test]
fn a_killed_process_loses_nothing_it_was_told_is_saved() {
    let home = Home::new();
    let mut acked = Vec::new();
    for round in 0..4 {
        let mut child = spawn(&format!("s{round}"), 100_000, &home.db());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut rows = lines.by_ref().map_while(Result::ok).filter_map(|line| {
            let (_, row) = line.split_once("acked ")?;
            row.parse::<i64>().ok()
        });
        acked.extend(rows.by_ref().take(20 + round * 60));
        child.kill().unwrap();
        // What was in the pipe when it died was acknowledged as well.
        acked.extend(rows);
        child.wait().unwrap();
    }
    assert!(acked.len() >= 440, "{}", acked.len());
    let conn = home.sql();
    let mut stmt = conn
        .prepare("SELECT 1 FROM messages WHERE id = ?1")
        .unwrap();
    for row in &acked {
        assert!(stmt.exists([row]).unwrap(), "{row} is lost");
    }
    home.assert_intact();
}

#[tokio::test]
async fn many_tasks_share_one_writer() {
    let home = Home::new();
    let store = home.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let session = begin(&store, &format!("s{n}"), "cli", 1).await;
        let store = store.clone();
        tasks.spawn(async move {
            for m in 0..40 {
                let message = Message::user(format!("message {m}"));
                store.append(&session, &message, at(2)).await.unwrap();
                let rows = store.messages(&session).await.unwrap();
                assert_eq!(rows.len(), m + 1, "an acknowledged message can be read");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(home.number("SELECT COUNT(*) FROM messages"), 320);
}

#[tokio::test]
async fn a_lock_held_too_long_is_reported_as_busy() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    let other = home.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.append(&session, &Message::user("x"), at(2)).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("state.db"), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    // Busy is not the end: the next one goes through.
    let row = store.append(&session, &Message::user("y"), at(3)).await;
    assert!(row.is_ok(), "{row:?}");
}

#[tokio::test]
async fn a_backup_under_load_is_whole() {
    let home = Home::new();
    let mut child = spawn("busy", 100_000, &home.db());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ack = || {
        lines
            .by_ref()
            .map_while(Result::ok)
            .find(|l| l.contains("acked"))
    };
    ack().unwrap();
    let store = home.open().await;
    for n in 0..5 {
        (0..30).for_each(|_| drop(ack().unwrap()));
        let copy = home.dir().join(format!("copy{n}.db"));
        store.backup_to(&copy).await.unwrap();
        let conn = Connection::open(&copy).unwrap();
        let text = |sql: &str| conn.query_row(sql, [], |r| r.get::<_, String>(0)).unwrap();
        assert_eq!(text("PRAGMA integrity_check"), "ok");
        let number = |sql: &str| conn.query_row(sql, [], |r| r.get::<_, i64>(0)).unwrap();
        let rows = number("SELECT COUNT(*) FROM messages");
        assert_eq!(rows, number("SELECT message_count FROM sessions"));
        assert!(rows > 30 * (n + 1), "{rows} in copy {n}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn copying_what_is_no_database_leaves_nothing_behind() {
    let home = Home::new();
    std::fs::write(
        home.db(),
        "not a database, but long enough to be looked at".repeat(50),
    )
    .unwrap();
    let dest = home.dir().join("copy.db");
    let error = copy_database(&home.db(), &dest).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let left: Vec<_> = std::fs::read_dir(home.dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["state.db"]);
}
