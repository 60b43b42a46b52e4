//! Damaged files: told apart, mended where that is safe, saved from where it is not.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use hermes_store::{
    ErrorKind, Health, OpenOptions, Repaired, SearchQuery, Store, check, recover, repair,
};
use hermes_types::{Level, Message};
use pretty_assertions::assert_eq;
use rusqlite::Connection;

use crate::support::{Home, at, begin, id, say};

const MESSAGES: usize = 300;

/// A closed database with enough in it to lose some.
async fn filled() -> Home {
    let home = Home::new();
    let store = home.open().await;
    for n in 0..6 {
        begin(&store, &format!("s{n}"), "cli", n).await;
    }
    for n in 0..MESSAGES {
        let text = format!("message {n} {}", format!("word{n} ").repeat(200));
        say(&store, &id(&format!("s{}", n % 6)), &text, 10 + n as i64).await;
    }
    store.close().await;
    home
}

fn pages(path: &Path, table: &str) -> Vec<u64> {
    let conn = Connection::open(path).unwrap();
    let mut stmt = conn
        .prepare("SELECT pageno FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' ORDER BY pageno")
        .unwrap();
    let found = stmt.query_map([table], |row| row.get::<_, i64>(0)).unwrap();
    found.map(|page| page.unwrap() as u64).collect()
}

fn wipe(path: &Path, pages: &[u64]) {
    let mut file = File::options().write(true).open(path).unwrap();
    for page in pages {
        file.seek(SeekFrom::Start((page - 1) * 4096)).unwrap();
        file.write_all(&[0; 4096]).unwrap();
    }
}

/// Wipes every third leaf of a table.
fn wipe_some(home: &Home, table: &str) {
    let leaves: Vec<u64> = pages(&home.db(), table).into_iter().step_by(3).collect();
    assert!(!leaves.is_empty());
    wipe(&home.db(), &leaves);
}

fn quarantined(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.dir()).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.to_str().unwrap();
            name.contains("state.db.malformed-backup-") && !name.ends_with("-wal")
        })
        .collect()
}

#[tokio::test]
async fn a_healthy_file_needs_no_repair() {
    let home = filled().await;
    assert_eq!(repair(&home.db()).unwrap().outcome, Repaired::Healthy);
    assert!(quarantined(&home).is_empty());
    assert!(check(&home.db()).iter().all(|f| f.level == Level::Ok));
    let nothing = check(&home.dir().join("nothing.db"));
    assert_eq!(nothing[0].level, Level::Ok);
}

#[tokio::test]
async fn a_damaged_search_index_is_rebuilt() {
    for table in ["messages_fts_data", "messages_fts_trigram_data"] {
        let home = filled().await;
        wipe_some(&home, table);
        let findings = check(&home.db());
        let worst = findings.iter().map(|finding| finding.level).max();
        assert_eq!(worst, Some(Level::Warning), "{findings:?}");
        let done = repair(&home.db()).unwrap();
        assert_ne!(done.outcome, Repaired::Healthy);
        assert_eq!(quarantined(&home), [done.backup.unwrap()]);
        home.assert_intact();
        let store = home.open().await;
        let hits = store.search(SearchQuery::new("word17")).await.unwrap();
        assert_eq!(hits.len(), 1);
    }
}

#[tokio::test]
async fn an_append_mends_the_search_index_it_trips_over() {
    for damage in [
        // The record that lists the pieces of the index: empty, and nonsense.
        "UPDATE messages_fts_data SET block = x'00' WHERE id = 10",
        "UPDATE messages_fts_data SET block = x'000000007F7F01' WHERE id = 10",
        // A message that is in the index before it is written.
        "INSERT INTO messages_fts (rowid, content) VALUES (301, 'early')",
    ] {
        let home = filled().await;
        home.sql().execute_batch(damage).unwrap();
        let store = home.open().await;
        let row = say(&store, &id("s0"), "after the accident", 1000).await;
        assert_eq!(store.health(), Health::Good);
        let hits = store.search(SearchQuery::new("accident")).await.unwrap();
        assert_eq!(hits[0].message, row);
        store.close().await;
        home.assert_intact();
    }
}

#[tokio::test]
async fn a_damaged_index_is_rebuilt() {
    let home = filled().await;
    wipe_some(&home, "idx_messages_session");
    assert_eq!(
        repair(&home.db()).unwrap().outcome,
        Repaired::IndexesRebuilt
    );
    home.assert_intact();
}

#[tokio::test]
async fn a_table_listed_twice_is_mended_on_opening() {
    let home = filled().await;
    home.sql()
        .execute_batch(
            "PRAGMA writable_schema=ON;
             INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql)
                 SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master
                 WHERE name = 'messages_fts';",
        )
        .unwrap();
    let store = home.open().await;
    say(&store, &id("s0"), "works again", 1000).await;
    store.close().await;
    assert_eq!(quarantined(&home).len(), 1);
    home.assert_intact();
}

#[tokio::test]
async fn damaged_messages_are_not_blamed_on_the_index() {
    let home = filled().await;
    wipe_some(&home, "messages");
    let error = repair(&home.db()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let text = error.to_string();
    assert!(text.contains("table messages"), "{text}");
    assert!(text.contains("sessions recover"), "{text}");
    assert!(quarantined(&home).is_empty());
}

#[tokio::test]
async fn what_is_readable_is_recovered() {
    let home = filled().await;
    let lost_pages: Vec<u64> = pages(&home.db(), "messages")
        .into_iter()
        .step_by(5)
        .collect();
    wipe(&home.db(), &lost_pages);
    let old = std::fs::read(home.db()).unwrap();
    let recovery = recover(&home.db()).unwrap();
    assert_eq!(recovery.sessions, 6);
    // Two messages share a page.
    let lost = MESSAGES - recovery.messages;
    assert!(lost > 0 && lost <= 3 * lost_pages.len(), "{recovery:?}");
    assert!(recovery.losses[0].starts_with("messages:"), "{recovery:?}");
    assert_eq!(
        quarantined(&home),
        std::slice::from_ref(&recovery.quarantined)
    );
    assert!(
        std::fs::read(&recovery.quarantined).unwrap() == old,
        "kept as it was"
    );
    home.assert_intact();
    assert_eq!(home.text("PRAGMA journal_mode"), "wal");
    let store = home.open().await;
    let row = store.session(&id("s0")).await.unwrap().unwrap();
    let rows = store.messages(&id("s0")).await.unwrap();
    assert_eq!(row.message_count, rows.len() as i64);
    store
        .append(&id("s0"), &Message::user("on we go"), at(5000))
        .await
        .unwrap();
}

#[tokio::test]
async fn messages_survive_the_loss_of_their_sessions() {
    let home = filled().await;
    let leaves = pages(&home.db(), "sessions");
    wipe(&home.db(), &leaves);
    let recovery = recover(&home.db()).unwrap();
    assert_eq!((recovery.sessions, recovery.messages), (6, MESSAGES));
    assert_eq!(home.text("SELECT source FROM sessions LIMIT 1"), "unknown");
    home.assert_intact();
}

#[tokio::test]
async fn a_newer_file_is_recovered_as_such() {
    let home = Home::with_fixture("v22.db");
    let (before, rows) = (
        home.text("SELECT group_concat(name) FROM pragma_table_info('messages')"),
        home.number("SELECT COUNT(*) FROM messages"),
    );
    let indexes = "SELECT COUNT(*) FROM sqlite_master
                   WHERE type = 'index' AND tbl_name != 'hermes_spending'";
    let index_count = home.number(indexes);
    let recovery = recover(&home.db()).unwrap();
    assert_eq!(
        (recovery.messages as i64, recovery.losses),
        (rows, Vec::new())
    );
    assert_eq!(home.number("SELECT version FROM schema_version"), 22);
    let after = home.text("SELECT group_concat(name) FROM pragma_table_info('messages')");
    assert_eq!((after, home.number(indexes)), (before, index_count));
    assert_eq!(
        home.number("SELECT COUNT(*) FROM messages WHERE active = 0"),
        4
    );
    home.assert_intact();
}

#[tokio::test]
async fn half_a_file_is_better_than_none() {
    let home = filled().await;
    let file = File::options().write(true).open(home.db()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    assert_eq!(repair(&home.db()).unwrap_err().kind(), ErrorKind::Corrupt);
    let findings = check(&home.db());
    assert!(
        findings.iter().any(|f| f.level == Level::Error),
        "{findings:?}"
    );
    let recovery = recover(&home.db()).unwrap();
    assert!(recovery.messages > MESSAGES / 10, "{recovery:?}");
    home.assert_intact();
}

#[tokio::test]
async fn what_is_no_database_is_set_aside() {
    let home = Home::new();
    let noise = "This was once a database. ".repeat(1000);
    std::fs::write(home.db(), &noise).unwrap();
    let error = Store::open(home.db(), OpenOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(std::fs::read_to_string(home.db()).unwrap(), noise);
    let findings = check(&home.db());
    assert_eq!(findings[0].level, Level::Error);
    assert!(findings[0].fix.contains("sessions recover"), "{findings:?}");
    let recovery = recover(&home.db()).unwrap();
    assert_eq!((recovery.sessions, recovery.messages), (0, 0));
    assert_eq!(
        std::fs::read_to_string(&recovery.quarantined).unwrap(),
        noise
    );
    let store = home.open().await;
    let session = begin(&store, "new", "cli", 1).await;
    say(&store, &session, "a new start", 2).await;
    store.close().await;
    // A second accident within the same second does not overwrite the first.
    std::fs::write(home.db(), &noise).unwrap();
    recover(&home.db()).unwrap();
    assert_eq!(quarantined(&home).len(), 2);
}

#[tokio::test]
async fn nothing_is_taken_from_under_others() {
    let home = filled().await;
    let store = home.open().await;
    say(&store, &id("s0"), "in the log", 1000).await;
    let error = recover(&home.db()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(quarantined(&home).is_empty());
    assert!(!home.dir().join("state.db.recovering").exists());
    store.close().await;
    let lock = File::create(home.dir().join("state.db.repair.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(repair(&home.db()).unwrap_err().kind(), ErrorKind::Busy);
    let error = Store::open(home.db(), OpenOptions::default()).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Busy);
    drop(lock);
    home.open().await;
}

#[tokio::test]
async fn the_doctor_mends_an_incomplete_index() {
    let home = filled().await;
    for damage in [
        "DELETE FROM messages_fts WHERE rowid < 20",
        "DROP TRIGGER messages_fts_trigram_update",
    ] {
        home.sql().execute_batch(damage).unwrap();
        let finding = check(&home.db())
            .into_iter()
            .find(|finding| finding.level == Level::Warning)
            .unwrap();
        finding.repair.unwrap()().unwrap();
        assert!(check(&home.db()).iter().all(|f| f.level == Level::Ok));
        home.assert_intact();
    }
}
