//! What a server says about its models: the list every one has, and what Ollama tells beside it. Whatever goes
//! wrong, the answer is just missing.

use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};

use crate::dialect;
use crate::family;
use crate::route::{Mode, Route};

/// The longest lists of models are a few megabytes.
const MAX_BODY: usize = 16 << 20;
/// Where Ollama listens if nobody says otherwise.
const OLLAMA_PORT: u16 = 11434;

/// The server's list of models.
pub(crate) async fn listing(client: &Client, route: &Route) -> Option<Value> {
    if matches!(route.mode, Mode::BedrockConverse | Mode::BedrockAnthropic) {
        // The list is elsewhere, and says nothing about windows.
        return None;
    }
    let mut url = route.base_url.clone();
    let path = url.path().trim_end_matches('/').to_owned();
    let list = match route.mode {
        Mode::AnthropicMessages if !path.ends_with("/v1") => "v1/models",
        _ => "models",
    };
    url.set_path(&format!("{path}/{list}"));
    let mut get = authorized(client.get(url), route);
    if route.mode == Mode::AnthropicMessages {
        get = get.header("anthropic-version", "2023-06-01");
    }
    json_of(get).await
}

/// How much of a conversation Ollama could keep of this model; `None` if it isn't Ollama.
pub(crate) async fn ollama_window(client: &Client, route: &Route) -> Option<u64> {
    let mut url = route.base_url.clone();
    url.set_path("/api/show");
    url.set_query(None);
    let post = client.post(url).json(&json!({"model": route.model}));
    in_show(&json_of(authorized(post, route)).await?)
}

pub(crate) fn is_ollama_port(url: &Url) -> bool {
    url.port() == Some(OLLAMA_PORT)
}

/// The name to use where `wanted` is none: of the only model, or the newest of a family.
pub(crate) fn name_in(listing: &Value, wanted: &str) -> Option<String> {
    let names: Vec<&str> = models(listing)?.iter().filter_map(name).collect();
    match names.as_slice() {
        [only] if wanted.is_empty() => Some((*only).to_owned()),
        _ => family::newest(&names, wanted).map(str::to_owned),
    }
}

/// The window of `model` in a list of models; of the only one, if there is only one.
pub(crate) fn window_in(listing: &Value, model: &str) -> Option<u64> {
    let models = models(listing)?;
    let named = models
        .iter()
        .find(|entry| entry["id"] == model || name(entry) == Some(model));
    let entry = match models.as_slice() {
        [only] => named.or(Some(only)),
        _ => named,
    }?;
    window_of(entry).or_else(|| window_of(&entry["meta"]))
}

fn models(listing: &Value) -> Option<&Vec<Value>> {
    let list = listing["data"].as_array();
    list.or_else(|| listing["models"].as_array())
}

fn name(entry: &Value) -> Option<&str> {
    let name = entry["id"].as_str().or_else(|| entry["name"].as_str())?;
    // Gemini's are paths.
    Some(name.strip_prefix("models/").unwrap_or(name))
}

fn window_of(entry: &Value) -> Option<u64> {
    const NAMES: [&str; 13] = [
        "context_length",
        "context_window",
        "context_size",
        "max_context_length",
        "max_position_embeddings",
        "max_model_len",
        "max_input_tokens",
        "max_sequence_length",
        "max_seq_len",
        "n_ctx_train",
        "n_ctx",
        "ctx_size",
        "inputTokenLimit",
    ];
    NAMES
        .iter()
        .find_map(|name| entry[*name].as_u64())
        .filter(|tokens| *tokens > 0)
}

/// What the model's own file sets comes before what the model was made for.
fn in_show(shown: &Value) -> Option<u64> {
    let parameters = shown["parameters"].as_str().unwrap_or_default().lines();
    let mut set = parameters.filter_map(|line| {
        let (name, value) = line.trim().split_once(char::is_whitespace)?;
        (name == "num_ctx").then(|| value.trim().parse().ok())?
    });
    let made_for = || {
        let info = shown["model_info"].as_object()?.iter();
        let mut lengths = info.filter(|(name, _)| name.ends_with(".context_length"));
        lengths.find_map(|(_, value)| value.as_u64())
    };
    set.next_back()
        .or_else(made_for)
        .filter(|tokens| *tokens > 0)
}

fn authorized(request: RequestBuilder, route: &Route) -> RequestBuilder {
    match dialect::auth_header(route) {
        Some((name, value)) => request.header(name, value),
        None => request,
    }
}

async fn json_of(request: RequestBuilder) -> Option<Value> {
    let mut response = request.send().await.ok()?.error_for_status().ok()?;
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_BODY {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn windows_in_listings() {
        let check =
            |listing: Value, expected| assert_eq!(window_in(&listing, "m"), expected, "{listing}");
        check(json!({"data": [{"id": "m", "context_length": 5}]}), Some(5));
        check(
            json!({"data": [{"id": "x", "n_ctx": 1}, {"id": "m", "max_model_len": 7}]}),
            Some(7),
        );
        check(
            json!({"data": [{"id": "x"}, {"id": "y", "n_ctx": 1}]}),
            None,
        );
        check(
            json!({"data": [{"id": "other.gguf", "meta": {"n_ctx_train": 9}}]}),
            Some(9),
        );
        check(
            json!({"models": [{"name": "m", "max_context_length": 3}]}),
            Some(3),
        );
        check(json!({"data": "odd"}), None);
    }

    #[test]
    fn windows_as_ollama_tells_them() {
        let check = |shown: Value, expected| assert_eq!(in_show(&shown), expected, "{shown}");
        let info = json!({"general.architecture": "qwen3", "qwen3.context_length": 40_960});
        check(json!({"model_info": info}), Some(40_960));
        let parameters = "temperature 0.7\nnum_ctx                        65536\nstop \"x\"";
        check(
            json!({"model_info": info, "parameters": parameters}),
            Some(65_536),
        );
        check(json!({"error": "not found"}), None);
    }

    #[test]
    fn a_name_where_there_was_none() {
        let one = json!({"data": [{"id": "qwen3:4b"}]});
        let two = json!({"data": [{"id": "gpt-5.1"}, {"id": "gpt-5.4"}]});
        let check = |listing: &Value, wanted, expected: Option<&str>| {
            assert_eq!(name_in(listing, wanted).as_deref(), expected, "{wanted}");
        };
        check(&one, "", Some("qwen3:4b"));
        check(&two, "", None);
        check(&two, "gpt", Some("gpt-5.4"));
        check(&one, "gpt", None);
    }
}
