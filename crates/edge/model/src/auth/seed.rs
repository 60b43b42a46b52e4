//! Keys that lie somewhere else: in variables, in the settings, in what a login left behind. A pool begins with
//! them, without writing anything down.

use serde_json::{Map, Value, json};

use super::claims;
use super::entry::{Credential, Kind, short_id};
use super::file::Document;
use crate::route::Key;

/// What a login leaves in the pool.
pub(crate) const DEVICE_CODE: &str = "device_code";

/// A key that is used from where it lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seed {
    /// `env:<VAR>`, `config:<name>` or `model_config`.
    pub source: String,
    pub label: String,
    pub key: Key,
    pub base_url: String,
}

/// A provider's credentials: those in the file, with the seeds' keys in them, and the seeds that are not there
/// yet. Entries whose variable or setting is not among the seeds are left out.
pub(crate) fn merge(document: &Document, provider: &str, seeds: &[Seed]) -> Vec<Credential> {
    let mut entries = document.pool(provider);
    let suppressed = document.suppressed(provider);
    let seeds = seeds
        .iter()
        .filter(|seed| !suppressed.contains(&seed.source));
    entries.retain(|entry| {
        let is_there =
            !entry.is_borrowed() || seeds.clone().any(|seed| seed.source == entry.source());
        is_there && !is_foreign(provider, entry)
    });
    for seed in seeds {
        plant(&mut entries, provider, seed);
    }
    if !suppressed.iter().any(|source| source == DEVICE_CODE)
        && let Some(login) = document
            .login(provider)
            .and_then(|login| from_login(provider, login))
    {
        adopt(&mut entries, provider, login);
    }
    entries
}

/// A subscription's token. Its vendor allows it in its own programs only.
pub(crate) fn is_subscription(provider: &str, key: &str) -> bool {
    provider == "anthropic" && key.starts_with("sk-ant-oat")
}

/// Logins of other programs, and tokens that are not meant for this one.
fn is_foreign(provider: &str, entry: &Credential) -> bool {
    let is_borrowed_login = matches!(entry.source(), "claude_code" | "hermes_pkce");
    is_borrowed_login
        || is_subscription(provider, entry.text("access_token"))
        || (provider == "anthropic" && entry.kind() == Kind::OAuth && entry.is_manual())
}

fn plant(entries: &mut Vec<Credential>, provider: &str, seed: &Seed) {
    let found = entries
        .iter_mut()
        .find(|entry| entry.source() == seed.source);
    let mut fresh = Credential::new(&seed.source, &seed.label, Kind::ApiKey);
    fresh.set("access_token", json!(seed.key.expose()));
    match found {
        Some(entry) => {
            // Another key in the same place has not failed yet.
            if entry.fingerprint() != fresh.fingerprint() {
                entry.clear();
            }
            entry.set("access_token", json!(seed.key.expose()));
            entry.set("base_url", json!(seed.base_url));
        }
        None => {
            fresh.set(
                "id",
                json!(short_id(&format!("{provider} {}", seed.source))),
            );
            fresh.set("priority", json!(next_priority(entries)));
            fresh.set("base_url", json!(seed.base_url));
            entries.push(fresh);
        }
    }
}

/// A login's entry is as new as the login: whichever program renewed it, the newest tokens count.
fn adopt(entries: &mut Vec<Credential>, provider: &str, login: Credential) {
    let found = entries
        .iter_mut()
        .find(|entry| entry.source() == DEVICE_CODE);
    let Some(entry) = found else {
        let mut login = login;
        login.set("id", json!(short_id(&format!("{provider} {DEVICE_CODE}"))));
        login.set("priority", json!(next_priority(entries)));
        return entries.push(login);
    };
    let is_renewed = entry.text("access_token") != login.text("access_token")
        || entry.key(provider) != login.key(provider);
    if is_renewed {
        entry.clear();
    }
    for name in LOGIN_FIELDS {
        if !login.get(name).is_null() {
            entry.set(name, login.get(name).clone());
        }
    }
}

/// What of a login is also in its entry.
pub(crate) const LOGIN_FIELDS: [&str; 17] = [
    "access_token",
    "refresh_token",
    "expires_at",
    "token_type",
    "scope",
    "client_id",
    "portal_base_url",
    "inference_base_url",
    "agent_key",
    "agent_key_expires_at",
    "obtained_at",
    "expires_in",
    "agent_key_id",
    "agent_key_expires_in",
    "agent_key_reused",
    "agent_key_obtained_at",
    "last_refresh",
];

/// The entry of what a login left behind; `None` if there is no token in it.
fn from_login(provider: &str, login: &Map<String, Value>) -> Option<Credential> {
    let mut entry = Credential::new(DEVICE_CODE, "", Kind::OAuth);
    let tokens = match provider {
        // One level deeper, as that vendor's own program has it.
        "openai-codex" => login.get("tokens")?.as_object()?,
        _ => login,
    };
    for (place, name) in [login, tokens]
        .into_iter()
        .flat_map(|place| LOGIN_FIELDS.map(|name| (place, name)))
    {
        if let Some(value) = place.get(name).filter(|value| !value.is_null()) {
            entry.set(name, value.clone());
        }
    }
    let token = entry.text("access_token").to_owned();
    if token.is_empty() {
        return None;
    }
    let own = login
        .get("label")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let label = own
        .filter(|label| !label.is_empty())
        .or_else(|| claims::owner(&token));
    entry.set(
        "label",
        json!(label.unwrap_or_else(|| DEVICE_CODE.to_owned())),
    );
    Some(entry)
}

pub(crate) fn next_priority(entries: &[Credential]) -> i64 {
    entries
        .iter()
        .map(Credential::priority)
        .max()
        .map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use pretty_assertions::assert_eq;

    use super::super::cooldown::Spent;
    use super::super::entry::Condition;
    use super::*;

    fn document(value: Value) -> Document {
        Document::parse(&value.to_string()).unwrap()
    }

    fn seed(variable: &str, key: &str) -> Seed {
        Seed {
            source: format!("env:{variable}"),
            label: variable.to_owned(),
            key: Key::new(key),
            base_url: "https://p/v1".to_owned(),
        }
    }

    fn keys(entries: &[Credential], provider: &str) -> Vec<String> {
        let key = |entry: &Credential| entry.key(provider).expose().to_owned();
        entries.iter().map(key).collect()
    }

    #[test]
    fn the_file_comes_first_then_what_is_new() {
        let file = document(json!({"credential_pool": {"p": [
            {"id": "b", "source": "manual", "access_token": "second", "priority": 1},
            {"id": "a", "source": "manual", "access_token": "first", "priority": 0},
            {"id": "c", "source": "env:GONE", "access_token": "stale", "priority": 2},
        ]}}));
        let merged = merge(&file, "p", &[seed("NEW", "third")]);
        assert_eq!(keys(&merged, "p"), ["first", "second", "third"]);
        assert_eq!(merged[2].priority(), 2);
        assert_eq!(
            merge(&file, "p", &[seed("NEW", "third")])[2].id(),
            merged[2].id()
        );
    }

    #[test]
    fn a_removed_source_stays_removed() {
        let file = document(
            json!({"suppressed_sources": {"p": ["env:A"], "nous": ["device_code"]},
            "providers": {"nous": {"access_token": "t", "agent_key": "ak"}}}),
        );
        let merged = merge(&file, "p", &[seed("A", "one"), seed("B", "two")]);
        assert_eq!(keys(&merged, "p"), ["two"]);
        assert_eq!(merge(&file, "nous", &[]), []);
    }

    #[test]
    fn a_mark_is_about_the_key_not_the_variable() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let mut marked = merge(&Document::default(), "p", &[seed("A", "old")]).remove(0);
        marked.exhaust(
            &Spent {
                code: Some(401),
                ..Spent::default()
            },
            now,
        );
        let mut file = Document::default();
        file.put("p", &marked);
        let same = merge(&file, "p", &[seed("A", "old")]).remove(0);
        assert!(matches!(
            same.condition(now),
            Condition::Resting {
                code: Some(401),
                ..
            }
        ));
        let other = merge(&file, "p", &[seed("A", "new")]).remove(0);
        assert_eq!(other.condition(now), Condition::Good);
        assert_eq!(keys(&[other], "p"), ["new"]);
    }

    #[test]
    fn logins_are_credentials() {
        let token = claims::token(&json!({"email": "me@x.y"}));
        let file = document(json!({"providers": {
            "nous": {"access_token": "t", "agent_key": "ak-1", "label": "mine", "inference_base_url": "https://i/v1"},
            "openai-codex": {"tokens": {"access_token": token, "refresh_token": "r"}, "last_refresh": "2026-01-01T00:00:00Z"},
            "empty": {"agent_key": "ak"},
        }}));
        let nous = merge(&file, "nous", &[]);
        assert_eq!(
            (keys(&nous, "nous"), nous[0].label(), nous[0].base_url()),
            (vec!["ak-1".to_owned()], "mine", "https://i/v1")
        );
        let codex = merge(&file, "openai-codex", &[]);
        assert_eq!(
            (codex[0].label(), codex[0].text("refresh_token")),
            ("me@x.y", "r")
        );
        assert_eq!(merge(&file, "empty", &[]), []);
    }

    #[test]
    fn a_newer_login_replaces_the_entrys_tokens_and_its_marks() {
        let file = document(json!({
            "providers": {"nous": {"access_token": "new", "agent_key": "ak-new"}},
            "credential_pool": {"nous": [{"id": "abc123", "source": "device_code", "auth_type": "oauth",
                "access_token": "old", "agent_key": "ak-old", "last_status": "dead"}]}}));
        let merged = merge(&file, "nous", &[]);
        assert_eq!(keys(&merged, "nous"), ["ak-new"]);
        assert_eq!(
            (merged[0].id(), merged[0].text("last_status")),
            ("abc123", "")
        );
    }

    #[test]
    fn subscriptions_of_other_programs_are_left_alone() {
        let entry = |source: &str, token: &str, kind: &str| json!({"source": source, "access_token": token, "auth_type": kind});
        let file = document(json!({"credential_pool": {"anthropic": [
            entry("claude_code", "x", "oauth"), entry("hermes_pkce", "x", "oauth"),
            entry("manual", "sk-ant-oat01-x", "api_key"), entry("manual:hermes_pkce", "y", "oauth"),
            entry("manual", "sk-ant-api-1", "api_key"),
        ]}}));
        assert_eq!(
            keys(&merge(&file, "anthropic", &[]), "anthropic"),
            ["sk-ant-api-1"]
        );
    }
}
