//! News of the chats, found by looking at `state.db` when somebody asks or waits; nobody looks otherwise.

use std::collections::{HashMap, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_store::{News, StoredMessage};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::debug;

use crate::messages;
use crate::records::Records;

/// How often somebody who waits has the files looked at.
const TICK: Duration = Duration::from_millis(200);
/// How much longer than wished a wait may take when the database is busy.
const BUSY_GRACE: Duration = Duration::from_secs(1);
/// Events kept for those who ask late.
const QUEUE: usize = 1000;
/// Characters of a message in an event.
const TEXT_LENGTH: usize = 500;
/// A new chat's first message may be there before its name is.
const UNCLAIMED_FOR: Duration = Duration::from_secs(10);
const UNCLAIMED: usize = 200;

#[derive(Debug)]
pub(crate) struct Events {
    records: Arc<Records>,
    watch: Mutex<Watch>,
}

/// What was seen so far.
#[derive(Debug)]
struct Watch {
    /// The newest message seen; `None` until the first look.
    mark: Option<i64>,
    look: Look,
    queue: VecDeque<Event>,
    /// Of the newest event. It begins at the time of day, so that a client that kept one from an earlier
    /// process does not wait for the numbers to catch up.
    cursor: u64,
    /// Messages of sessions that belong to no chat, or to none yet.
    unclaimed: VecDeque<Unclaimed>,
}

#[derive(Debug)]
struct Event {
    cursor: u64,
    key: String,
    fields: Value,
}

#[derive(Debug)]
struct Unclaimed {
    session: String,
    fields: Value,
    since: Instant,
}

impl Events {
    pub fn new(records: Arc<Records>) -> Self {
        let now = Timestamp::now().as_millisecond();
        let watch = Watch {
            mark: None,
            look: Look::default(),
            queue: VecDeque::new(),
            cursor: u64::try_from(now).unwrap_or_default(),
            unclaimed: VecDeque::new(),
        };
        Self {
            records,
            watch: Mutex::new(watch),
        }
    }

    /// From now on, what is said is news.
    pub async fn begin(&self) {
        self.watch.lock().await.refresh(&self.records).await;
    }

    /// Up to `limit` events after a cursor, of all chats or one.
    pub async fn after(&self, cursor: u64, key: Option<&str>, limit: usize) -> Vec<Value> {
        let mut watch = self.watch.lock().await;
        watch.refresh(&self.records).await;
        watch
            .after(cursor, key)
            .take(limit)
            .map(Event::json)
            .collect()
    }

    /// The first event after a cursor, of all chats or one, as soon as there is one.
    pub async fn next(&self, cursor: u64, key: Option<&str>, timeout: Duration) -> Option<Value> {
        let deadline = Instant::now() + timeout;
        loop {
            let patience = deadline.max(Instant::now() + BUSY_GRACE);
            if let Ok(events) = timeout_at(patience, self.after(cursor, key, 1)).await
                && let Some(event) = events.into_iter().next()
            {
                return Some(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            sleep(left.min(TICK)).await;
        }
    }
}

impl Watch {
    fn after(&self, cursor: u64, key: Option<&str>) -> impl Iterator<Item = &Event> {
        let wanted =
            move |event: &&Event| event.cursor > cursor && key.is_none_or(|key| event.key == key);
        self.queue.iter().filter(wanted)
    }

    /// Takes in what has happened since the last look. Whoever waits for it may give up: nothing is noted down
    /// before everything is read.
    async fn refresh(&mut self, records: &Records) {
        let now = Look::at(&records.home().state_db());
        if self.look.is_final(&now) {
            return;
        }
        if let Err(error) = self.read(records, now).await {
            debug!("no news from state.db: {error}");
        }
    }

    async fn read(&mut self, records: &Records, look: Look) -> Result<(), String> {
        let news = self.news(records).await?;
        let said = news.messages.iter();
        let unclaimed: Vec<_> = said
            .filter_map(|(session, message)| Unclaimed::new(session.as_str(), message))
            .collect();
        let keys = if unclaimed.is_empty() && self.unclaimed.is_empty() {
            HashMap::new()
        } else {
            keys(records).await?
        };
        self.look = look.after(&self.look);
        self.mark = Some(news.last_id);
        self.unclaimed.extend(unclaimed);
        self.claim(&keys);
        Ok(())
    }

    async fn news(&self, records: &Records) -> Result<News, String> {
        let Some(store) = records.store().await? else {
            return Ok(News {
                last_id: 0,
                messages: Vec::new(),
            });
        };
        let news = match self.mark {
            Some(mark) => store.said_since(mark, QUEUE).await,
            None => store.said_since(i64::MAX, 0).await, // only where the end is
        };
        news.map_err(|error| error.to_string())
    }

    /// Makes events of the messages whose chat is known.
    fn claim(&mut self, keys: &HashMap<String, String>) {
        for message in std::mem::take(&mut self.unclaimed) {
            match keys.get(&message.session) {
                Some(key) => self.push(key.clone(), message.fields),
                None if message.since.elapsed() < UNCLAIMED_FOR => {
                    self.unclaimed.push_back(message);
                }
                None => {}
            }
        }
        let surplus = self.unclaimed.len().saturating_sub(UNCLAIMED);
        self.unclaimed.drain(..surplus);
    }

    fn push(&mut self, key: String, fields: Value) {
        self.cursor += 1;
        self.queue.push_back(Event {
            cursor: self.cursor,
            key,
            fields,
        });
        if self.queue.len() > QUEUE {
            self.queue.pop_front();
        }
    }
}

impl Event {
    fn json(&self) -> Value {
        let mut event = json!({"cursor": self.cursor, "type": "message", "session_key": self.key});
        if let (Some(event), Some(fields)) = (event.as_object_mut(), self.fields.as_object()) {
            event.extend(fields.clone());
        }
        event
    }
}

impl Unclaimed {
    /// `None` if nothing was said that can be read.
    fn new(session: &str, message: &StoredMessage) -> Option<Self> {
        let text = messages::text(message, TEXT_LENGTH);
        (!text.is_empty()).then(|| Self {
            session: session.to_owned(),
            fields: json!({
                "role": message.message.role.as_str(),
                "content": text,
                "timestamp": messages::seconds(message),
                "message_id": message.id.to_string(),
            }),
            since: Instant::now(),
        })
    }
}

/// Chats by their sessions.
async fn keys(records: &Records) -> Result<HashMap<String, String>, String> {
    let all = records.conversations().await?;
    Ok(all
        .into_iter()
        .map(|chat| (chat.session, chat.key))
        .collect())
}

/// The state of the database's files, to see whether anything was written since.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Look {
    files: Option<[Option<Stamp>; 2]>,
    /// Looked at twice in this state. Two writes within a tick of the kernel's clock leave the same time, so the
    /// first look after a change may have come between them.
    twice: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Look {
    fn at(database: &Path) -> Self {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Self {
            files: Some([Stamp::of(database), Stamp::of(Path::new(&log))]),
            twice: false,
        }
    }

    /// Whether there can be nothing new in `now`.
    fn is_final(&self, now: &Self) -> bool {
        self.twice && self.files == now.files
    }

    fn after(self, before: &Self) -> Self {
        Self {
            twice: self.files == before.files,
            ..self
        }
    }
}

impl Stamp {
    /// `None` if there is no such file.
    fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Self {
            inode: meta.ino(),
            size: meta.size(),
            changed: (meta.mtime(), meta.mtime_nsec()),
        })
    }
}
