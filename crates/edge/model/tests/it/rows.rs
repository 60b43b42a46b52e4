//! Every provider of the catalogue: one turn with a tool against a scripted server, reached the way its owner would
//! reach a proxy. A new row is covered by being there.

use std::sync::Arc;

use hermes_model::{Http, Mode, Overrides, Route, RouteClient, list_providers};
use hermes_scripted::{Script, ScriptedModel};
use hermes_types::{Effort, Message, ModelRequest, Scope};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Owner, collect, hi, quick, with_tools};

const KEY: &str = "key-of-this-row-1234";

/// What a row declares, as far as the test has to know: its own words, read from the table itself.
struct Row {
    id: String,
    fields: Value,
}

fn rows() -> Vec<Row> {
    let text = include_str!("../../data/catalogue.yaml");
    let table = hermes_home::yaml::read(text).unwrap();
    let rows = table["providers"].as_array().unwrap().iter();
    rows.map(|fields| Row {
        id: fields["id"].as_str().unwrap().to_owned(),
        fields: fields.clone(),
    })
    .collect()
}

impl Row {
    fn text(&self, key: &str) -> &str {
        self.fields[key].as_str().unwrap_or_default()
    }

    /// The variable that overrides its address, and the one that may hold its key wherever that is.
    fn variables(&self) -> Option<(String, String)> {
        let usual = format!("{}_BASE_URL", self.id.to_uppercase().replace('-', "_"));
        let address = self.fields["base_url_env"].as_str().map(str::to_owned);
        let address = address.unwrap_or(usual);
        let mut keys = self.fields["keys"].as_array().into_iter().flatten();
        let key = keys.find(|key| key["host"].is_null() && key["prefix"].is_null())?;
        let key = key["name"].as_str().unwrap().to_owned();
        (!address.is_empty()).then_some((address, key))
    }

    /// A model of its own, so that rules about names apply as they would.
    fn model(&self) -> &str {
        match self.id.as_str() {
            "minimax" | "minimax-cn" => "MiniMax-M2.7",
            "xiaomi" => "MiMo-V2.5",
            "gemini" => "gemini-3-pro",
            "deepseek" => "deepseek-v4-pro",
            "anthropic" => "claude-sonnet-4.6",
            "xai" => "grok-4",
            _ => "some-model",
        }
    }

    /// The path of its address, which a proxy keeps.
    fn path(&self) -> String {
        let base = self.text("base_url").trim_end_matches('/');
        let after_host = base.splitn(4, '/').nth(3);
        after_host.map_or_else(String::new, |path| format!("/{path}"))
    }

    /// Its owner, with a proxy in place of the provider.
    fn owner(&self, proxy: &str) -> Owner {
        let url = format!("{proxy}{}", self.path());
        let model = self.model();
        match self.variables() {
            Some((address, key)) => {
                let settings = format!("model: {{default: {model}, provider: {}}}", self.id);
                Owner::new(&settings, &[(&address, &url), (&key, KEY)])
            }
            // Keys bound to a host, and logins: the owner gives the proxy a key of its own.
            None => Owner::new(
                &format!(
                    "model: {{default: {model}, provider: {}, base_url: '{url}', api_key: {KEY}}}",
                    self.id
                ),
                &[],
            ),
        }
    }

    fn quirk(&self, name: &str) -> &Value {
        &self.fields["quirks"][name]
    }
}

fn server() -> ScriptedModel {
    let call = json!({"tool_calls": [{"name": "terminal", "arguments": {"command": "echo hi"}}]});
    let script = json!({"steps": [call, {"when": {"after_tool": true}, "text": "done"}]});
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

fn client(route: Route) -> RouteClient {
    let timing = quick();
    let http = Http::new("HermesAgent/test", timing.connect);
    RouteClient::new(route, timing, Arc::new(http))
}

fn request(messages: Vec<Message>) -> ModelRequest {
    with_tools(ModelRequest {
        messages,
        effort: Effort::High,
        ..hi()
    })
}

/// Where the requests of the two oldest dialects go, below the base address.
fn path_of(mode: Mode, base: &str) -> Option<String> {
    let base = base.trim_end_matches('/');
    match mode {
        Mode::ChatCompletions => Some(format!("{base}/chat/completions")),
        Mode::AnthropicMessages if base.ends_with("/v1") => Some(format!("{base}/messages")),
        Mode::AnthropicMessages => Some(format!("{base}/v1/messages")),
        _ => None,
    }
}

#[tokio::test]
async fn a_turn_with_a_tool_at_every_provider() {
    let rows = rows();
    assert!(rows.len() >= 34, "{}", rows.len());
    for row in rows {
        let server = server();
        let owner = row.owner(&server.url());
        let models = owner.models(&Overrides::default());
        let models = models.unwrap_or_else(|error| panic!("{}: {error}", row.id));
        let route = models.route().clone();
        assert_eq!(route.provider, row.id);
        let client = client(route.clone());
        let scope = || Scope::new("test".into());

        let first = collect(&client, request(vec![Message::user("go")]), scope()).await;
        let reply = first
            .result
            .unwrap_or_else(|error| panic!("{}: {error}", row.id));
        let call = &reply.message.tool_calls[0];
        assert_eq!(call.function.name, "terminal", "{}", row.id);
        let result = Message::tool(&call.id, "terminal", "hi");
        let messages = vec![Message::user("go"), reply.message.clone(), result];
        let second = collect(&client, request(messages), scope()).await;
        assert_eq!(second.content(), "done", "{}", row.id);

        check_requests(&row, &route, &server);
    }
}

fn check_requests(row: &Row, route: &Route, server: &ScriptedModel) {
    let calls = server.calls();
    assert_eq!(calls.len(), 2, "{}", row.id);
    for call in calls {
        let base = route.base_url.path();
        match path_of(route.mode, base) {
            Some(path) => assert_eq!(call.path, path, "{}", row.id),
            None => assert!(call.path.starts_with(base), "{}: {}", row.id, call.path),
        }
        let sent = ["authorization", "x-api-key", "x-goog-api-key"]
            .into_iter()
            .filter_map(|name| Some((name, call.headers.get(name)?.as_str())));
        let bearer = format!("Bearer {KEY}");
        let expected = match format!("{:?}", route.mode).as_str() {
            "Gemini" => ("x-goog-api-key", KEY),
            _ if row.id == "anthropic" => ("x-api-key", KEY),
            _ => ("authorization", bearer.as_str()),
        };
        assert_eq!(sent.collect::<Vec<_>>(), [expected], "{}", row.id);
        let agent = &call.headers["user-agent"];
        assert!(agent.starts_with("HermesAgent/"), "{}: {agent}", row.id);
        for (name, value) in row.quirk("headers").as_object().into_iter().flatten() {
            let value = value.as_str().unwrap();
            let value = value.replace("{version}", env!("CARGO_PKG_VERSION"));
            assert_eq!(call.headers[&name.to_lowercase()], value, "{}", row.id);
        }
        check_body(row, route, &call.body);
    }
}

/// What the row says about bodies, in the dialects that have the field.
fn check_body(row: &Row, route: &Route, body: &Value) {
    for (name, value) in row.quirk("body").as_object().into_iter().flatten() {
        let text = value.to_string();
        let value = text.replace("{version}", env!("CARGO_PKG_VERSION"));
        assert_eq!(body[name].to_string(), value, "{}", row.id);
    }
    if route.mode != Mode::ChatCompletions {
        return;
    }
    let limits = ["max_tokens", "max_completion_tokens"];
    let sent: Vec<_> = limits
        .iter()
        .filter(|name| !body[**name].is_null())
        .collect();
    match row.quirk("output_default").as_u64() {
        Some(limit) => assert_eq!(body["max_tokens"], limit, "{}", row.id),
        None => assert_eq!(sent, [&""; 0], "{}", row.id),
    }
    let high = json!({"enabled": true, "effort": "high"});
    let effort = match row.id.as_str() {
        "kimi-coding" | "kimi-coding-cn" => "thinking",
        _ => row.quirk("effort").as_str().unwrap_or_default(),
    };
    let (reasoning, word, thinking) = match effort {
        "reasoning" | "reasoning_unless_off" => (high, Value::Null, Value::Null),
        "reasoning_effort" => (Value::Null, json!("high"), Value::Null),
        "thinking" => (Value::Null, json!("high"), json!({"type": "enabled"})),
        "" | "think" => Default::default(),
        other => panic!("the test knows nothing of effort {other}"),
    };
    let sent = [
        &body["reasoning"],
        &body["reasoning_effort"],
        &body["thinking"],
    ];
    assert_eq!(sent, [&reasoning, &word, &thinking], "{}", row.id);
}

#[test]
fn every_row_says_what_is_missing() {
    for row in rows() {
        let settings = format!("model: {{default: {}, provider: {}}}", row.model(), row.id);
        let owner = Owner::new(&settings, &[]);
        let is_free = row.fields["key_is_optional"] == true || !row.fields["credentials"].is_null();
        let found = owner.models(&Overrides::default());
        let keys: Vec<_> = row.fields["keys"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        match found {
            Ok(models) => {
                assert!(is_free, "{}", row.id);
                assert_eq!(models.route().provider, row.id);
            }
            Err(error) if row.text("base_url").is_empty() => {
                assert!(
                    error.message.contains("model.base_url"),
                    "{}: {error}",
                    row.id
                );
            }
            Err(error) if keys.is_empty() => {
                let hint = format!("hermes auth add {}", row.id);
                assert!(error.message.contains(&hint), "{}: {error}", row.id);
            }
            Err(error) => {
                let is_named = |key: &&Value| error.message.contains(key["name"].as_str().unwrap());
                assert!(keys.iter().any(is_named), "{}: {error}", row.id);
            }
        }
    }
}

#[test]
fn every_variable_of_a_row_has_its_place_in_the_env_file() {
    let owner = Owner::new("", &[]);
    let known = |name: &str| hermes_home::envvars::belongs_in_env_file(name);
    for info in list_providers(owner.dir.path(), &owner.settings(), owner.env()) {
        for key in &info.keys {
            assert!(known(key), "{key}");
        }
    }
    for row in rows() {
        if let Some((address, _)) = row.variables() {
            assert!(known(&address), "{address}");
        }
    }
}
