//! Providers with several addresses for one kind of key: which one takes this key is tried once and kept in
//! `auth.json` under `providers.<id>.detected_endpoint`, as the Python program does.

use std::path::Path;

use hermes_home::{FileLock, Modes, replace_secret};
use reqwest::{Client, Url};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::catalogue::{Endpoint, Row};
use crate::route::Key;

/// The address this key belongs to, if it says so or was found out to.
pub(crate) fn of_key(home: &Path, row: &Row, key: &Key) -> Option<Url> {
    let mut urls = row.key_urls.iter();
    let by_key = urls.find(|url| key.expose().starts_with(&url.prefix));
    let by_key = by_key.map(|url| url.base_url.clone());
    let found = by_key.or_else(|| detected(home, row, key))?;
    found.trim_end_matches('/').parse().ok()
}

/// The address this key was found to belong to.
pub(crate) fn detected(home: &Path, row: &Row, key: &Key) -> Option<String> {
    if row.endpoints.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(home.join("auth.json")).ok()?;
    let store: Value = serde_json::from_str(&text).ok()?;
    let found = &store["providers"][&row.id]["detected_endpoint"];
    let is_this_key = found["key_hash"] == hash(key);
    let url = found["base_url"].as_str().filter(|_| is_this_key);
    url.map(str::to_owned)
}

/// Tries one address after the other with the smallest request there is.
pub(crate) async fn try_all<'e>(
    client: &Client,
    endpoints: &'e [Endpoint],
    key: &Key,
) -> Option<&'e Endpoint> {
    for endpoint in endpoints {
        if is_taken(client, endpoint, key).await {
            return Some(endpoint);
        }
    }
    None
}

async fn is_taken(client: &Client, endpoint: &Endpoint, key: &Key) -> bool {
    let Ok(url) = format!("{}/chat/completions", endpoint.base_url).parse::<Url>() else {
        return false;
    };
    let body = json!({"model": endpoint.model, "stream": false, "max_tokens": 1,
        "messages": [{"role": "user", "content": "ping"}]});
    let post = client.post(url).bearer_auth(key.expose()).json(&body);
    let answer = post.send().await;
    answer.is_ok_and(|response| response.status().is_success())
}

/// Keeps what was found. Everything else in the file stays; a file that can't be read is left alone.
pub(crate) fn keep(home: &Path, row: &Row, endpoint: &Endpoint, key: &Key) {
    if let Err(error) = write(home, row, endpoint, key) {
        tracing::warn!("the address of {} is not kept: {error}", row.id);
    }
}

fn write(home: &Path, row: &Row, endpoint: &Endpoint, key: &Key) -> hermes_home::Result<()> {
    let path = home.join("auth.json");
    let _lock = FileLock::acquire(&path.with_extension("lock"))?;
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
    let mut store: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_section = |value: &Value| value.is_object() || value.is_null();
    let providers = &store["providers"];
    if !store.is_object() || !is_section(providers) || !is_section(&providers[&row.id]) {
        return Ok(());
    }
    store["providers"][&row.id]["detected_endpoint"] =
        json!({"base_url": endpoint.base_url, "model": endpoint.model, "key_hash": hash(key)});
    let modes = Modes {
        dir: 0o700,
        secret: Some(0o600),
    };
    let text = format!("{store:#}\n");
    replace_secret(&path, text, &modes)
}

/// Enough to tell keys apart, too little to be one.
fn hash(key: &Key) -> String {
    let digest = digest(&SHA256, key.expose().as_bytes());
    let bytes = digest.as_ref().iter().take(8);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hermes_scripted::{Script, ScriptedModel};
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::catalogue::catalogue;
    use crate::http::Http;

    #[test]
    fn an_address_is_kept_for_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        let before = json!({"version": 1, "providers": {"nous": {"a": 1}, "zai": {"b": 2}}});
        std::fs::write(&path, before.to_string()).unwrap();
        let row = catalogue().by_id("zai").unwrap();
        let key = Key::new("key-1");
        assert_eq!(detected(dir.path(), row, &key), None);
        keep(dir.path(), row, &row.endpoints[2], &key);
        let url = row.endpoints[2].base_url.as_str();
        assert_eq!(detected(dir.path(), row, &key).as_deref(), Some(url));
        assert_eq!(detected(dir.path(), row, &Key::new("key-2")), None);
        let after: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(after["providers"]["nous"], json!({"a": 1}));
        assert_eq!(
            (&after["version"], &after["providers"]["zai"]["b"]),
            (&json!(1), &json!(2))
        );
        assert!(!after.to_string().contains("key-1"));

        std::fs::write(&path, "not json").unwrap();
        keep(dir.path(), row, &row.endpoints[0], &key);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "not json");
    }

    #[tokio::test]
    async fn the_first_address_that_takes_the_key() {
        let refuse = json!([{"status": 401, "repeat": true}]);
        let accept = json!([{"when": {"key": "key-1"}, "text": "pong"}]);
        let start = |script| ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
        let (refusing, taking) = (start(refuse), start(accept));
        let endpoints = [&refusing, &taking].map(|server| Endpoint {
            base_url: format!("{}/v4", server.url()),
            model: "glm-5".to_owned(),
        });
        let http = Http::new("test", Duration::from_secs(5));
        let url = taking.url().parse().unwrap();
        let client = http.client(&url).unwrap();
        let found = try_all(&client, &endpoints, &Key::new("key-1")).await;
        assert_eq!(found.unwrap().base_url, endpoints[1].base_url);
        assert_eq!(taking.calls()[0].body["max_tokens"], 1);
        let found = try_all(&client, &endpoints[..1], &Key::new("key-1")).await;
        assert!(found.is_none());
    }
}
