//! A store in a directory of its own, and a look at its file from outside.

use std::path::{Path, PathBuf};

use hermes_store::{NewSession, Occasion, OpenOptions, Store};
use hermes_types::{Message, SessionId};
use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;

pub struct Home {
    dir: TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
        }
    }

    /// A home whose database is a copy of a committed one.
    pub fn with_fixture(name: &str) -> Self {
        let home = Self::new();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
        std::fs::copy(fixtures.join(name), home.db()).unwrap();
        home
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn db(&self) -> PathBuf {
        self.dir.path().join("state.db")
    }

    pub async fn open(&self) -> Store {
        Store::open(self.db(), OpenOptions::default())
            .await
            .unwrap()
    }

    pub fn sql(&self) -> Connection {
        Connection::open(self.db()).unwrap()
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.sql().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub fn text(&self, sql: &str) -> String {
        self.sql().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub fn assert_intact(&self) {
        assert_eq!(self.text("PRAGMA integrity_check"), "ok");
        let messages = self.number("SELECT COUNT(*) FROM messages");
        for table in ["messages_fts", "messages_fts_trigram"] {
            assert_eq!(
                self.number(&format!("SELECT COUNT(*) FROM {table}")),
                messages
            );
        }
    }
}

pub fn id(text: &str) -> SessionId {
    SessionId::new(text)
}

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// A session that begins at `start`.
pub async fn begin(store: &Store, name: &str, source: &str, start: i64) -> SessionId {
    let mut new = NewSession::new(name, source);
    new.started_at = at(start);
    store.ensure_session(new).await.unwrap();
    id(name)
}

pub async fn begin_child(store: &Store, name: &str, parent: &str, start: i64) -> SessionId {
    let mut new = NewSession::new(name, "cli");
    new.started_at = at(start);
    new.parent = Some(id(parent));
    store.ensure_session(new).await.unwrap();
    id(name)
}

pub async fn say(store: &Store, session: &SessionId, text: &str, when: i64) -> i64 {
    store
        .append(session, &Message::user(text), at(when))
        .await
        .unwrap()
}

/// A call of the conversation itself, on some day.
pub fn today() -> Occasion {
    on("2026-02-03")
}

pub fn on(day: &str) -> Occasion {
    Occasion {
        day: day.parse().unwrap(),
        task: "",
    }
}
