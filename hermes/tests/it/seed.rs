//! Conversations for tests, written through the store as the program would.

use hermes_store::{NewSession, OpenOptions, Store};
use hermes_testkit::TempHome;
use hermes_types::{Message, SessionId};
use jiff::{SignedDuration, Timestamp};

/// A session to be written.
pub struct Seed<'a> {
    pub id: &'a str,
    pub source: &'a str,
    pub title: Option<&'a str>,
    pub parent: Option<&'a str>,
    pub days_ago: i64,
    pub ended: Option<&'a str>,
    pub messages: &'a [&'a str],
}

impl Default for Seed<'_> {
    fn default() -> Self {
        Self {
            id: "",
            source: "cli",
            title: None,
            parent: None,
            days_ago: 0,
            ended: None,
            messages: &[],
        }
    }
}

/// Writes the sessions in order, one minute apart; messages alternate between user and assistant.
pub fn sessions(home: &TempHome, seeds: &[Seed<'_>]) {
    std::fs::create_dir_all(home.hermes()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(home.hermes().join("state.db"), OpenOptions::default())
            .await
            .unwrap();
        let now = Timestamp::now();
        for (index, seed) in seeds.iter().enumerate() {
            let start = now
                - SignedDuration::from_hours(24 * seed.days_ago)
                // In the middle of a minute: a slow test must not see the next one.
                - SignedDuration::from_secs(30 * 60 - 30)
                + SignedDuration::from_mins(i64::try_from(index).unwrap());
            write(&store, seed, start).await;
        }
        store.close().await;
    });
}

async fn write(store: &Store, seed: &Seed<'_>, start: Timestamp) {
    let id = SessionId::new(seed.id);
    let session = NewSession {
        parent: seed.parent.map(SessionId::from),
        started_at: start,
        model: Some("test/model".to_owned()),
        ..NewSession::new(seed.id, seed.source)
    };
    store.ensure_session(session).await.unwrap();
    for (index, text) in seed.messages.iter().enumerate() {
        let message = if index % 2 == 0 {
            Message::user(*text)
        } else {
            Message::assistant(*text)
        };
        let at = start + SignedDuration::from_secs(i64::try_from(index).unwrap());
        store.append(&id, &message, at).await.unwrap();
    }
    if let Some(title) = seed.title {
        store.set_title(&id, title).await.unwrap();
    }
    if let Some(reason) = seed.ended {
        store
            .end_session(&id, reason, start + SignedDuration::from_secs(50))
            .await
            .unwrap();
    }
}
