//! Opening: new files, old files, and file systems that refuse.

use hermes_store::{Error, ErrorKind, Health, Journal, OpenOptions, Store};
use hermes_types::Message;
use pretty_assertions::assert_eq;

use crate::support::{Home, at, begin, id, say};

fn objects(home: &Home, kind: &str) -> Vec<String> {
    let conn = home.sql();
    let mut stmt = conn
        .prepare("SELECT name FROM sqlite_master WHERE type = ?1 ORDER BY name")
        .unwrap();
    let names = stmt.query_map([kind], |row| row.get(0)).unwrap();
    let names: Vec<String> = names.collect::<Result<_, _>>().unwrap();
    // SQLite's own, and the tables a search table is made of.
    let inner = ["_config", "_content", "_data", "_docsize", "_idx"];
    names
        .into_iter()
        .filter(|name| !name.starts_with("sqlite_"))
        .filter(|name| !inner.iter().any(|end| name.ends_with(end)))
        .collect()
}

#[tokio::test]
async fn a_new_file_has_the_layout_of_version_11() {
    let home = Home::new();
    let store = home.open().await;
    assert_eq!(store.schema_version(), 11);
    assert_eq!(store.health(), Health::Good);
    drop(store);
    assert_eq!(
        objects(&home, "table"),
        [
            "hermes_spending",
            "messages",
            "messages_fts",
            "messages_fts_trigram",
            "schema_version",
            "sessions",
            "state_meta"
        ]
    );
    assert_eq!(
        objects(&home, "index"),
        [
            "idx_hermes_spending_day",
            "idx_messages_session",
            "idx_sessions_parent",
            "idx_sessions_source",
            "idx_sessions_started",
            "idx_sessions_title_unique"
        ]
    );
    assert_eq!(
        objects(&home, "trigger"),
        [
            "messages_fts_delete",
            "messages_fts_insert",
            "messages_fts_trigram_delete",
            "messages_fts_trigram_insert",
            "messages_fts_trigram_update",
            "messages_fts_update"
        ]
    );
    assert_eq!(home.text("PRAGMA journal_mode"), "wal");
    assert_eq!(home.number("SELECT version FROM schema_version"), 11);
}

#[tokio::test]
async fn a_new_file_has_the_columns_of_the_python_program() {
    let (ours, theirs) = (Home::new(), Home::with_fixture("v11.db"));
    drop(ours.open().await);
    for table in ["sessions", "messages", "state_meta", "schema_version"] {
        let columns = format!(
            "SELECT group_concat(name || ' ' || type || ' ' || \"notnull\" || ' ' ||
                 COALESCE(dflt_value, '-') || ' ' || pk, ', ') FROM pragma_table_info('{table}')"
        );
        assert_eq!(ours.text(&columns), theirs.text(&columns));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let _store = home.open().await;
    for name in ["state.db", "state.db-wal"] {
        let mode = std::fs::metadata(home.dir().join(name)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

// spec: state §13.8
#[tokio::test]
async fn version_9_is_migrated() {
    let home = Home::new();
    let old = home.sql();
    old.execute_batch(include_str!("fixtures/v9.sql")).unwrap();
    drop(old);
    let store = home.open().await;
    assert_eq!(store.schema_version(), 11);
    assert_eq!(
        store.session(&id("old")).await.unwrap().unwrap().title,
        None
    );
    let newer = store.session(&id("newer")).await.unwrap().unwrap();
    assert_eq!(newer.title.as_deref(), Some("twice"));
    say(&store, &id("old"), "new words", 104).await;
    drop(store);
    assert_eq!(home.number("SELECT version FROM schema_version"), 11);
    assert_eq!(home.number("SELECT COUNT(*) FROM messages"), 4);
    home.assert_intact();
    let found = "SELECT COUNT(*) FROM messages_fts WHERE messages_fts MATCH 'web_search'";
    assert_eq!(home.number(found), 1);
}

#[tokio::test]
async fn a_failed_migration_leaves_the_old_version() {
    let home = Home::new();
    let old = home.sql();
    old.execute_batch(include_str!("fixtures/v9.sql")).unwrap();
    // A view of that name cannot be replaced by the search table.
    old.execute_batch("CREATE VIEW messages_fts_trigram AS SELECT 1 AS content")
        .unwrap();
    drop(old);
    let error = Store::open(home.db(), OpenOptions::default()).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Other);
    assert_eq!(home.number("SELECT version FROM schema_version"), 9);
    let old_index = "SELECT COUNT(*) FROM messages_fts WHERE messages_fts MATCH 'hello'";
    assert_eq!(home.number(old_index), 1);
}

#[tokio::test]
async fn missing_triggers_bring_a_new_index() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    say(&store, &session, "indexed", 2).await;
    drop(store);
    home.sql()
        .execute_batch(
            "DROP TRIGGER messages_fts_insert;
             INSERT INTO messages (session_id, role, content, timestamp)
                 VALUES ('s', 'user', 'slipped through', 3);",
        )
        .unwrap();
    drop(home.open().await);
    home.assert_intact();
    let found = "SELECT COUNT(*) FROM messages_fts WHERE messages_fts MATCH 'slipped'";
    assert_eq!(home.number(found), 1);
}

#[tokio::test]
async fn looking_does_not_create_a_file() {
    let home = Home::new();
    let path = home.db();
    let none = Store::open_existing(&path, OpenOptions::default()).await;
    assert!(none.unwrap().is_none());
    let error = Store::open(&path, OpenOptions::read_only()).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(!path.exists());
}

// spec: state §13.20
#[tokio::test]
async fn a_file_system_without_shared_memory_gets_a_rollback_journal() {
    let home = Home::new();
    let options = OpenOptions {
        wal_refusal: Some("locking protocol"),
        ..OpenOptions::default()
    };
    let log = support_log::capture();
    for round in 0..3 {
        let store = Store::open(home.db(), options.clone()).await.unwrap();
        let session = begin(&store, "s", "cli", 1).await;
        say(&store, &session, "still works", round).await;
        assert_eq!(
            store.messages(&session).await.unwrap().len() as i64,
            round + 1
        );
        assert_eq!(store.health(), Health::Good);
    }
    assert_eq!(home.text("PRAGMA journal_mode"), "delete");
    let path = home.db().display().to_string();
    let warnings = log.lines_with(&path);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("locking protocol"), "{warnings:?}");
}

#[tokio::test]
async fn the_journal_of_a_file_is_kept() {
    let check = async |before: &str, wish: Journal, after: &str| {
        let home = Home::new();
        drop(home.open().await);
        home.text(&format!("PRAGMA journal_mode={before}"));
        let options = OpenOptions {
            journal: wish,
            ..OpenOptions::default()
        };
        drop(Store::open(home.db(), options).await.unwrap());
        let found = home.text("PRAGMA journal_mode");
        assert_eq!(found, after, "{before} {wish:?}");
    };
    check("wal", Journal::Auto, "wal").await;
    check("delete", Journal::Auto, "delete").await;
    check("delete", Journal::Wal, "wal").await;
    check("delete", Journal::Delete, "delete").await;
    check("wal", Journal::Delete, "delete").await;
}

#[tokio::test]
async fn a_log_others_use_is_not_taken_away() {
    let home = Home::new();
    let _other = home.open().await;
    let options = OpenOptions {
        journal: Journal::Delete,
        ..OpenOptions::default()
    };
    let store = Store::open(home.db(), options).await.unwrap();
    begin(&store, "s", "cli", 1).await;
    assert_eq!(home.text("PRAGMA journal_mode"), "wal");
}

#[tokio::test]
async fn closing_empties_the_log() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    say(&store, &session, "one", 2).await;
    store.messages(&session).await.unwrap();
    let clone = store.clone();
    store.close().await;
    assert!(!home.dir().join("state.db-wal").exists());
    let error = clone.append(&session, &Message::user("two"), at(3)).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unavailable);
    let error = clone.messages(&session).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unavailable);
}

/// SQLite refuses to write to a file that was moved away: as good as any way to break one.
#[tokio::test]
async fn a_write_that_can_never_succeed_stops_writing() {
    let home = Home::new();
    let options = OpenOptions {
        journal: Journal::Delete,
        ..OpenOptions::default()
    };
    let store = Store::open(home.db(), options).await.unwrap();
    let session = begin(&store, "s", "cli", 1).await;
    let elsewhere = home.dir().join("elsewhere.db");
    std::fs::rename(home.db(), &elsewhere).unwrap();
    let append = || async { store.append(&session, &Message::user("x"), at(2)).await };
    let first = append().await.unwrap_err();
    assert_eq!(first.kind(), ErrorKind::ReadOnly);
    assert!(first.to_string().contains("state.db"), "{first}");
    assert_eq!(store.health(), Health::Degraded(first.clone()));
    // Even though it could be written again, the reason stands until the next start.
    std::fs::rename(&elsewhere, home.db()).unwrap();
    assert_eq!(append().await.unwrap_err(), first);
    assert_eq!(store.messages(&session).await.unwrap(), []);
    assert!(matches!(first, Error::ReadOnly { .. }));
}

mod support_log {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
    };

    #[derive(Clone, Default)]
    pub struct Log(Arc<Mutex<Vec<u8>>>);

    /// Everything logged from now on, by any thread of this process.
    pub fn capture() -> Log {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .init();
        log
    }

    impl Log {
        pub fn lines_with(&self, text: &str) -> Vec<String> {
            let bytes = self.0.lock().unwrap().clone();
            let all = String::from_utf8(bytes).unwrap();
            let lines = all.lines().filter(|line| line.contains(text));
            lines.map(str::to_owned).collect()
        }
    }

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
