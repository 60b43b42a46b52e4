//! What the home knows of chats: `state.db`, or `sessions.json` where an older program left only that.

use std::io;
use std::path::Path;

use hermes_home::Home;
use hermes_store::{GatewaySession, OpenOptions, Store};
use hermes_types::SessionId;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt;
use tracing::{debug, warn};

/// An index of chats is far smaller.
const LARGEST_FILE: u64 = 16 << 20;

/// A chat of some platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation {
    pub key: String,
    pub session: String,
    pub platform: String,
    pub chat_type: String,
    pub display_name: String,
    pub chat_name: String,
    pub user_name: String,
    pub chat_id: String,
    pub thread_id: Option<String>,
    /// Local time without a zone, as `sessions.json` has it.
    pub created_at: String,
    pub updated_at: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub total_tokens: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Records {
    home: Home,
}

impl Records {
    pub fn new(home: Home) -> Self {
        Self { home }
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The database, if there is one. Opened for each use: it may be made, migrated or replaced while we run.
    pub async fn store(&self) -> Result<Option<Store>, String> {
        Store::open_existing(self.home.state_db(), OpenOptions::read_only())
            .await
            .map_err(|error| error.to_string())
    }

    /// The database, for what cannot be found elsewhere.
    pub async fn messages(&self) -> Result<Store, String> {
        let store = self.store().await?;
        store.ok_or_else(|| "There is no session database yet".to_owned())
    }

    /// All chats, the most recently active first.
    pub async fn conversations(&self) -> Result<Vec<Conversation>, String> {
        let stored = self.stored().await;
        match stored {
            Ok(found) if !found.is_empty() => return Ok(found),
            Ok(_) => {}
            Err(ref error) => debug!("no chats from state.db: {error}"),
        }
        let listed = self.listed().await;
        if listed.is_empty() {
            stored
        } else {
            Ok(listed)
        }
    }

    pub async fn conversation(&self, key: &str) -> Result<Conversation, String> {
        let all = self.conversations().await?;
        all.into_iter()
            .find(|conversation| conversation.key == key)
            .ok_or_else(|| format!("Conversation not found: {key}"))
    }

    /// A JSON file of the home; `Null` if it is not there or cannot be understood.
    pub async fn json(&self, path: &Path) -> Value {
        match read(path).await {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                warn!("{}: {error}", path.display());
                Value::Null
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Value::Null,
            Err(error) => {
                warn!("{}: {error}", path.display());
                Value::Null
            }
        }
    }

    async fn stored(&self) -> Result<Vec<Conversation>, String> {
        let Some(store) = self.store().await? else {
            return Ok(Vec::new());
        };
        let rows = store.gateway_sessions().await;
        let rows = rows.map_err(|error| error.to_string())?;
        Ok(rows.into_iter().map(Conversation::from).collect())
    }

    async fn listed(&self) -> Vec<Conversation> {
        let path = self.home.sessions_dir().join("sessions.json");
        let Value::Object(entries) = self.json(&path).await else {
            return Vec::new();
        };
        let chats = entries.iter().filter(|(key, _)| !key.starts_with('_'));
        let mut found: Vec<_> = chats
            .filter_map(|(key, entry)| Some(Conversation::listed(key, entry.as_object()?)))
            .collect();
        found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
        found
    }
}

impl Conversation {
    /// The session its messages are in.
    pub fn session(&self) -> SessionId {
        SessionId::new(self.session.as_str())
    }

    pub fn is_on(&self, platform: &str) -> bool {
        self.platform.eq_ignore_ascii_case(platform)
    }

    /// Whether a name of it contains `text`, which is lower case.
    pub fn matches(&self, text: &str) -> bool {
        [&self.display_name, &self.chat_name, &self.key]
            .iter()
            .any(|name| name.to_lowercase().contains(text))
    }

    pub fn brief(&self) -> Value {
        json!({
            "session_key": self.key,
            "session_id": self.session,
            "platform": self.platform,
            "chat_type": self.chat_type,
            "display_name": self.display_name,
            "chat_name": self.chat_name,
            "user_name": self.user_name,
            "updated_at": self.updated_at,
        })
    }

    pub fn full(&self) -> Value {
        let mut all = self.brief();
        all["chat_id"] = self.chat_id.as_str().into();
        all["thread_id"] = self.thread_id.clone().into();
        all["created_at"] = self.created_at.as_str().into();
        all["input_tokens"] = self.input_tokens.into();
        all["output_tokens"] = self.output_tokens.into();
        all["total_tokens"] = self.total_tokens.into();
        all
    }

    /// An entry of `sessions.json`.
    fn listed(key: &str, entry: &Map<String, Value>) -> Self {
        let nothing = Map::new();
        let origin = entry.get("origin").and_then(Value::as_object);
        let origin = origin.unwrap_or(&nothing);
        let number = |name: &str| entry.get(name).and_then(Value::as_i64).unwrap_or_default();
        let either = |name: &str| first([text(entry, name), text(origin, name)]);
        let tokens = number("input_tokens") + number("output_tokens");
        Self {
            key: key.to_owned(),
            session: text(entry, "session_id"),
            platform: either("platform"),
            chat_type: either("chat_type"),
            display_name: text(entry, "display_name"),
            chat_name: text(origin, "chat_name"),
            user_name: text(origin, "user_name"),
            chat_id: text(origin, "chat_id"),
            thread_id: Some(text(origin, "thread_id")).filter(|id| !id.is_empty()),
            created_at: text(entry, "created_at"),
            updated_at: text(entry, "updated_at"),
            input_tokens: number("input_tokens"),
            output_tokens: number("output_tokens"),
            total_tokens: number("total_tokens").max(tokens),
        }
    }
}

impl From<GatewaySession> for Conversation {
    fn from(row: GatewaySession) -> Self {
        let origin = match row.origin {
            Some(Value::Object(origin)) => origin,
            _ => Map::new(),
        };
        let or_origin = |column: Option<String>, name: &str| {
            first([column.unwrap_or_default(), text(&origin, name)])
        };
        let chat_name = text(&origin, "chat_name");
        let local = |time: jiff::Timestamp| {
            let local = time.to_zoned(TimeZone::system()).datetime();
            local.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string()
        };
        Self {
            session: row.id.as_str().to_owned(),
            platform: row.source,
            chat_type: or_origin(row.chat_type, "chat_type"),
            display_name: first([row.display_name.unwrap_or_default(), chat_name.clone()]),
            user_name: text(&origin, "user_name"),
            chat_id: or_origin(row.chat_id, "chat_id"),
            thread_id: Some(or_origin(row.thread_id, "thread_id")).filter(|id| !id.is_empty()),
            created_at: local(row.started_at),
            updated_at: local(row.last_active),
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            total_tokens: row.input_tokens + row.output_tokens,
            key: row.key,
            chat_name,
        }
    }
}

/// A field as text; ids come as numbers, too.
pub(crate) fn text(fields: &Map<String, Value>, name: &str) -> String {
    match fields.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The first that says something.
pub(crate) fn first<const N: usize>(texts: [String; N]) -> String {
    let mut filled = texts.into_iter().filter(|text| !text.is_empty());
    filled.next().unwrap_or_default()
}

async fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = tokio::fs::File::open(path).await?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).await?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(io::Error::other("larger than any index of chats"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn row(origin: Option<Value>) -> GatewaySession {
        let at = jiff::Timestamp::from_second(1_800_000_000).unwrap();
        GatewaySession {
            key: "k".into(),
            id: SessionId::new("s"),
            source: "telegram".into(),
            user_id: None,
            display_name: None,
            chat_id: Some("7".into()),
            chat_type: None,
            thread_id: None,
            origin,
            started_at: at,
            last_active: at,
            input_tokens: 3,
            output_tokens: 4,
        }
    }

    #[test]
    fn a_row_is_completed_by_where_it_came_from() {
        let origin = json!({"chat_id": 9, "chat_name": "Team", "chat_type": "group", "thread_id": 5,
            "user_name": "ada"});
        let chat = Conversation::from(row(Some(origin)));
        assert_eq!(
            (chat.chat_id.as_str(), chat.thread_id.as_deref()),
            ("7", Some("5"))
        );
        assert_eq!(
            (chat.display_name.as_str(), chat.chat_type.as_str()),
            ("Team", "group")
        );
        assert_eq!((chat.user_name.as_str(), chat.total_tokens), ("ada", 7));
        assert_eq!(chat.created_at.len(), "2027-01-15T08:00:00.000000".len());
        for origin in [None, Some(json!("odd"))] {
            let chat = Conversation::from(row(origin));
            assert_eq!((chat.display_name.as_str(), chat.thread_id), ("", None));
        }
    }
}
