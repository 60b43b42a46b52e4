//! Keys that a login left in `auth.json`. Logging in is not here yet; a key that is there is used.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use crate::route::Key;

/// A key from a login, and the address it is good for.
#[derive(Debug, PartialEq)]
pub(crate) struct Minted {
    pub key: Key,
    pub base_url: Option<String>,
}

/// The minted key of `provider`, unless it is about to expire. Never the access token: that one is for the
/// portal, not for models.
pub(crate) fn minted(home: &Path, provider: &str, now: Timestamp) -> Option<Minted> {
    let text = std::fs::read_to_string(home.join("auth.json")).ok()?;
    let store: Value = serde_json::from_str(&text).ok()?;
    let pool = store["credential_pool"][provider]
        .as_array()
        .into_iter()
        .flatten();
    let states = std::iter::once(&store["providers"][provider]).chain(pool);
    states.into_iter().find_map(|state| usable(state, now))
}

fn usable(state: &Value, now: Timestamp) -> Option<Minted> {
    let key = state["agent_key"].as_str().filter(|key| key.len() >= 4)?;
    let expires = state["agent_key_expires_at"].as_str();
    let is_over = expires
        .and_then(|text| text.parse::<Timestamp>().ok())
        .is_some_and(|at| at <= now);
    let base_url = state["inference_base_url"]
        .as_str()
        .filter(|url| !url.is_empty());
    (!is_over).then(|| Minted {
        key: Key::new(key),
        base_url: base_url.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_minted_key_is_used_until_it_expires() {
        let dir = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let check = |store: Value, expected: Option<&str>| {
            std::fs::write(dir.path().join("auth.json"), store.to_string()).unwrap();
            let found = minted(dir.path(), "nous", now);
            assert_eq!(
                found.as_ref().map(|found| found.key.expose()),
                expected,
                "{store}"
            );
        };
        let state = |until: &str| json!({"access_token": "t", "agent_key": "ak-1", "agent_key_expires_at": until});
        check(
            json!({"providers": {"nous": state("2026-01-02T00:00:00Z")}}),
            Some("ak-1"),
        );
        check(
            json!({"providers": {"nous": state("2025-12-31T00:00:00+00:00")}}),
            None,
        );
        check(
            json!({"credential_pool": {"nous": [state("2027-01-01T00:00:00Z")]}}),
            Some("ak-1"),
        );
        check(
            json!({"providers": {"nous": {"access_token": "token"}}}),
            None,
        );
        check(json!({}), None);
        assert_eq!(minted(Path::new("/nowhere"), "nous", now), None);
    }
}
