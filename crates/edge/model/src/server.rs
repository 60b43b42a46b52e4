//! What a server says about its models: the list every one has, and what servers on one's own machine tell beside
//! it. Whatever goes wrong, the answer is just missing.

use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};

use crate::dialect::auth_header;
use crate::family;
use crate::host;
use crate::listing::{self, ListedModel};
use crate::route::{Mode, Route};

/// The longest lists of models are a few megabytes.
const MAX_BODY: usize = 16 << 20;
/// Where Ollama listens if nobody says otherwise.
const OLLAMA_PORT: u16 = 11434;

/// The server's list of models.
pub(crate) async fn listing(client: &Client, route: &Route) -> Option<Vec<ListedModel>> {
    let get = authorized(client.get(list_url(route)), route);
    listing::read(&json_of(get).await?)
}

fn list_url(route: &Route) -> Url {
    let mut url = route.base_url.clone();
    let path = url.path().trim_end_matches('/').to_owned();
    let list = match route.mode {
        Mode::AnthropicMessages if !path.ends_with("/v1") => "v1/models",
        _ => "models",
    };
    url.set_path(&format!("{path}/{list}"));
    // These two give a first page only, unless asked for more.
    if host::is_under(&url, "anthropic.com") {
        url.query_pairs_mut().append_pair("limit", "1000");
    }
    if host::is_under(&url, "googleapis.com") {
        url.query_pairs_mut().append_pair("pageSize", "1000");
    }
    url
}

/// How much of a conversation Ollama could keep of this model; `None` if it isn't Ollama.
pub(crate) async fn ollama_window(client: &Client, route: &Route) -> Option<u64> {
    let url = at_root(route, "/api/show");
    let post = client.post(url).json(&json!({"model": route.model}));
    in_show(&json_of(authorized(post, route)).await?)
}

pub(crate) fn is_ollama_port(url: &Url) -> bool {
    url.port() == Some(OLLAMA_PORT)
}

/// What LM Studio tells about a model: its window as loaded, and the efforts it takes.
pub(crate) async fn in_lm_studio(client: &Client, route: &Route) -> Option<ListedModel> {
    let get = client.get(at_root(route, "/api/v1/models"));
    let listing = json_of(authorized(get, route)).await?;
    let mut models = listing["models"].as_array()?.iter();
    lm_studio_model(models.find(|entry| entry["key"] == route.model.as_str())?)
}

fn lm_studio_model(entry: &Value) -> Option<ListedModel> {
    let loaded = entry["loaded_instances"][0]["config"]["context_length"].as_u64();
    let efforts = entry["capabilities"]["reasoning"]["allowed_options"].as_array();
    let efforts = efforts.into_iter().flatten().filter_map(Value::as_str);
    Some(ListedModel {
        id: entry["key"].as_str()?.to_owned(),
        context_length: loaded.or_else(|| entry["max_context_length"].as_u64()),
        efforts: efforts.map(str::to_owned).collect(),
        price: None,
    })
}

/// How much llama.cpp was started with, whatever the model could take.
pub(crate) async fn llama_window(client: &Client, route: &Route) -> Option<u64> {
    let get = client.get(at_root(route, "/props"));
    let props = json_of(authorized(get, route)).await?;
    let settings = &props["default_generation_settings"];
    settings["n_ctx"].as_u64().filter(|tokens| *tokens > 0)
}

/// The bytes at an address, as long as they are not too many.
pub(crate) async fn fetch(client: &Client, url: Url) -> Option<Vec<u8>> {
    body_of(client.get(url)).await
}

/// The name to use where `wanted` is none: of the only model, or the newest of a family.
pub(crate) fn name_in(models: &[ListedModel], wanted: &str) -> Option<String> {
    let names: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    match names.as_slice() {
        [only] if wanted.is_empty() => Some((*only).to_owned()),
        _ => family::newest(&names, wanted).map(str::to_owned),
    }
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

fn at_root(route: &Route, path: &str) -> Url {
    let mut url = route.base_url.clone();
    url.set_path(path);
    url.set_query(None);
    url
}

fn authorized(mut request: RequestBuilder, route: &Route) -> RequestBuilder {
    if route.mode == Mode::AnthropicMessages {
        request = request.header("anthropic-version", "2023-06-01");
    }
    for (name, value) in &route.quirks.headers {
        request = request.header(name, value);
    }
    match auth_header(route) {
        Some((name, value)) => request.header(name, value),
        None => request,
    }
}

async fn json_of(request: RequestBuilder) -> Option<Value> {
    serde_json::from_slice(&body_of(request).await?).ok()
}

async fn body_of(request: RequestBuilder) -> Option<Vec<u8>> {
    let mut response = request.send().await.ok()?.error_for_status().ok()?;
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_BODY {
            return None;
        }
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

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
        let models = |ids: &[&str]| {
            let listed = ids.iter().map(|id| json!({"id": id}));
            listing::read(&json!({"data": listed.collect::<Vec<_>>()})).unwrap()
        };
        let (one, two) = (models(&["qwen3:4b"]), models(&["gpt-5.1", "gpt-5.4"]));
        let check = |models: &[ListedModel], wanted, expected: Option<&str>| {
            assert_eq!(name_in(models, wanted).as_deref(), expected, "{wanted}");
        };
        check(&one, "", Some("qwen3:4b"));
        check(&two, "", None);
        check(&two, "gpt", Some("gpt-5.4"));
        check(&one, "gpt", None);
    }

    #[test]
    fn models_as_lm_studio_tells_them() {
        let check = |entry: Value, window, efforts: &[&str]| {
            let found = lm_studio_model(&entry).unwrap();
            assert_eq!(found.context_length, window, "{entry}");
            assert_eq!(found.efforts, efforts, "{entry}");
        };
        check(
            json!({"key": "m", "max_context_length": 9, "loaded_instances": [],
                "capabilities": {"reasoning": {"allowed_options": ["low", "high"]}}}),
            Some(9),
            &["low", "high"],
        );
        check(
            json!({"key": "m", "max_context_length": 9,
                "loaded_instances": [{"config": {"context_length": 4}}]}),
            Some(4),
            &[],
        );
    }
}
