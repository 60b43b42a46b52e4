//! One key or login of a pool: an object of `auth.json` with names for what is in it. Fields nobody here knows
//! stay as they are.

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::cooldown::{self, Spent};
use crate::route::Key;

/// The fields that say how a credential is doing.
const STATUS: [&str; 6] = [
    "last_status",
    "last_status_at",
    "last_error_code",
    "last_error_reason",
    "last_error_message",
    "last_error_reset_at",
];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Credential {
    fields: Map<String, Value>,
}

/// What a credential is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ApiKey,
    /// A token that can be renewed.
    OAuth,
}

/// How a credential is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Good,
    /// It failed and is left alone for a while.
    Resting {
        until: Timestamp,
        code: Option<u16>,
    },
    /// Only a new login helps.
    Dead,
}

impl Credential {
    /// A new entry with everything the other program expects to find.
    pub fn new(source: &str, label: &str, kind: Kind) -> Self {
        let kind = match kind {
            Kind::ApiKey => "api_key",
            Kind::OAuth => "oauth",
        };
        let mut fields = Map::new();
        fields.insert(
            "id".to_owned(),
            json!(format!("{:06x}", fastrand::u32(..1 << 24))),
        );
        fields.insert("label".to_owned(), json!(label));
        fields.insert("auth_type".to_owned(), json!(kind));
        fields.insert("priority".to_owned(), json!(0));
        fields.insert("source".to_owned(), json!(source));
        for name in STATUS {
            fields.insert(name.to_owned(), Value::Null);
        }
        fields.insert("request_count".to_owned(), json!(0));
        Self { fields }
    }

    /// `None` for what is no entry. One without an id gets one that is the same for every reader.
    pub fn read(value: &Value) -> Option<Self> {
        let mut fields = value.as_object()?.clone();
        if fields
            .get("id")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            let id = short_id(&value.to_string());
            fields.insert("id".to_owned(), json!(id));
        }
        Some(Self { fields })
    }

    /// As it goes to the file: what belongs to a variable or to the settings stays there.
    pub fn written(&self) -> Value {
        let mut fields = self.fields.clone();
        if self.is_borrowed()
            && let Some(Value::String(key)) = fields.remove("access_token")
        {
            fields.insert("secret_fingerprint".to_owned(), json!(fingerprint(&key)));
        }
        Value::Object(fields)
    }

    pub fn text(&self, name: &str) -> &str {
        let text = self.fields.get(name).and_then(Value::as_str);
        text.unwrap_or_default().trim()
    }

    pub fn get(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&Value::Null)
    }

    pub fn set(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    pub fn id(&self) -> &str {
        self.text("id")
    }

    pub fn source(&self) -> &str {
        match self.text("source") {
            "" => "manual",
            source => source,
        }
    }

    pub fn label(&self) -> &str {
        match self.text("label") {
            "" => self.source(),
            label => label,
        }
    }

    pub fn priority(&self) -> i64 {
        self.get("priority").as_i64().unwrap_or_default()
    }

    pub fn uses(&self) -> u64 {
        self.get("request_count").as_u64().unwrap_or_default()
    }

    pub fn kind(&self) -> Kind {
        match self.text("auth_type") {
            "oauth" => Kind::OAuth,
            _ => Kind::ApiKey,
        }
    }

    /// What is sent to models. Of a Nous login that is the minted key, never the access token: that one is for
    /// the portal.
    pub fn key(&self, provider: &str) -> Key {
        Key::new(match provider {
            "nous" if self.kind() == Kind::OAuth => self.text("agent_key"),
            _ => self.text("access_token"),
        })
    }

    /// Where the key is good; empty if it says nothing.
    pub fn base_url(&self) -> &str {
        match self.text("inference_base_url") {
            "" => self.text("base_url"),
            url => url,
        }
    }

    /// The owner put it here by hand, or by logging in more than once.
    pub fn is_manual(&self) -> bool {
        self.source() == "manual" || self.source().starts_with("manual:")
    }

    /// Its key lies somewhere else and is only referred to.
    pub fn is_borrowed(&self) -> bool {
        let source = self.source();
        source.starts_with("env:") || source.starts_with("config:") || source == "model_config"
    }

    /// Whether two entries are about the same key: ids can differ between programs, sources of seeds don't.
    pub fn is_same(&self, other: &Self) -> bool {
        self.id() == other.id() || (!self.is_manual() && self.source() == other.source())
    }

    /// Recognises the key without telling it.
    pub fn fingerprint(&self) -> String {
        match self.text("access_token") {
            "" => self.text("secret_fingerprint").to_owned(),
            key => fingerprint(key),
        }
    }

    pub fn condition(&self, now: Timestamp) -> Condition {
        match self.text("last_status") {
            "dead" => Condition::Dead,
            "exhausted" => match self.rests_until() {
                Some(until) if until > now => Condition::Resting {
                    until,
                    code: self.code(),
                },
                _ => Condition::Good,
            },
            _ => Condition::Good,
        }
    }

    fn code(&self) -> Option<u16> {
        let code = self.get("last_error_code").as_u64()?;
        u16::try_from(code).ok()
    }

    fn rests_until(&self) -> Option<Timestamp> {
        let reset = cooldown::moment(self.get("last_error_reset_at"));
        reset.or_else(|| {
            let since = cooldown::moment(self.get("last_status_at"))?;
            since.checked_add(cooldown::rest(self.code())).ok()
        })
    }

    /// Notes that it failed.
    pub fn exhaust(&mut self, spent: &Spent, now: Timestamp) {
        let values = [
            json!("exhausted"),
            json!(seconds(now)),
            json!(spent.code),
            json!(spent.reason),
            json!(spent.message),
            json!(spent.reset_at.map(seconds)),
        ];
        for (name, value) in STATUS.into_iter().zip(values) {
            self.set(name, value);
        }
    }

    /// Forgets that it failed; whether there was anything to forget.
    pub fn clear(&mut self) -> bool {
        let had = STATUS.iter().any(|name| !self.get(name).is_null());
        for name in STATUS {
            self.set(name, Value::Null);
        }
        had
    }
}

/// Six digits that are the same wherever the text is.
pub(crate) fn short_id(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref(), 3)
}

fn fingerprint(key: &str) -> String {
    format!(
        "sha256:{}",
        hex(digest(&SHA256, key.as_bytes()).as_ref(), 8)
    )
}

fn hex(bytes: &[u8], count: usize) -> String {
    bytes
        .iter()
        .take(count)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// As the other program writes moments.
pub(crate) fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    fn read(value: Value) -> Credential {
        Credential::read(&value).unwrap()
    }

    #[test]
    fn conditions() {
        let check = |value: Value, until: Option<i64>| {
            let found = match read(value.clone()).condition(now()) {
                Condition::Good => None,
                Condition::Resting { until, .. } => Some(until.as_second() - now().as_second()),
                Condition::Dead => Some(-1),
            };
            assert_eq!(found, until, "{value}");
        };
        let at = |ago: i64| now().as_second() - ago;
        check(json!({}), None);
        check(json!({"last_status": "ok", "last_error_code": 401}), None);
        check(
            json!({"last_status": "exhausted", "last_status_at": at(60), "last_error_code": 401}),
            Some(240),
        );
        check(
            json!({"last_status": "exhausted", "last_status_at": at(301), "last_error_code": 401}),
            None,
        );
        check(
            json!({"last_status": "exhausted", "last_status_at": at(60), "last_error_code": 429}),
            Some(3540),
        );
        check(
            json!({"last_status": "exhausted", "last_status_at": at(60), "last_error_code": 429,
            "last_error_reset_at": at(-20)}),
            Some(20),
        );
        check(
            json!({"last_status": "exhausted", "last_status_at": at(0), "last_error_reset_at": "2027-01-15T08:00:30Z"}),
            Some(30),
        );
        check(json!({"last_status": "exhausted"}), None);
        check(json!({"last_status": "dead"}), Some(-1));
    }

    #[test]
    fn a_borrowed_key_is_not_written_down() {
        let mut entry = Credential::new("env:X_KEY", "X_KEY", Kind::ApiKey);
        entry.set("access_token", json!("sk-secret-123"));
        let written = entry.written();
        assert!(!written.to_string().contains("sk-secret"), "{written}");
        assert_eq!(written["secret_fingerprint"], entry.fingerprint());
        assert_eq!(read(written).fingerprint(), entry.fingerprint());
        let mut manual = Credential::new("manual", "mine", Kind::ApiKey);
        manual.set("access_token", json!("sk-secret-123"));
        assert_eq!(manual.written()["access_token"], "sk-secret-123");
    }

    #[test]
    fn a_portals_access_token_is_no_key() {
        let login = json!({"auth_type": "oauth", "access_token": "portal", "agent_key": "ak-1",
            "base_url": "https://a", "inference_base_url": "https://b"});
        let login = read(login);
        assert_eq!(login.key("nous").expose(), "ak-1");
        assert_eq!(login.key("openai-codex").expose(), "portal");
        assert_eq!(login.base_url(), "https://b");
        assert!(
            read(json!({"auth_type": "oauth", "access_token": "portal"}))
                .key("nous")
                .is_empty()
        );
    }
}
