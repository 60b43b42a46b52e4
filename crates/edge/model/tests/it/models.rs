//! Clients by purpose, and what a server says about its models.

use std::time::{Duration, Instant};

use futures::StreamExt;
use hermes_model::context::{self, Source};
use hermes_model::{Overrides, list_providers};
use hermes_scripted::{Script, ScriptedModel};
use hermes_types::{ModelErrorKind, Models, Purpose, Scope};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Owner, hi};

fn server(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

fn settings(server: &ScriptedModel, rest: &str) -> String {
    let url = server.url();
    format!(
        "model: {{default: mock-1, provider: custom, base_url: '{url}/v1', api_key: sk-1234{rest}}}"
    )
}

#[tokio::test]
async fn a_server_is_asked_for_its_window_once() {
    let server =
        server(json!({"models": [{"id": "mock-1", "context_length": 32_000}, "x"], "steps": []}));
    let scope = Scope::new("test".into());
    let owner = Owner::new(&settings(&server, ""), &[]);
    let models = owner.models(&Overrides::default()).unwrap();
    let found = models.context(&scope).await;
    assert_eq!((found.tokens, found.source), (32_000, Source::Server));
    assert!(
        context::refusal("mock-1", found)
            .unwrap()
            .contains("64,000")
    );
    assert_eq!(models.context(&scope).await, found);
    assert_eq!(
        models.client(&Purpose::Main).unwrap().info().context_length,
        32_000
    );
    let asked = server.requests();
    assert_eq!((asked.len(), asked[0].path.as_str()), (1, "/v1/models"));
    assert_eq!(asked[0].headers["authorization"], "Bearer sk-1234");

    let owner = Owner::new(&settings(&server, ", context_length: 131072"), &[]);
    let models = owner.models(&Overrides::default()).unwrap();
    assert_eq!(models.context(&scope).await.source, Source::Settings);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_away_holds_nobody_up() {
    let url = "http://127.0.0.1:9/v1";
    let owner = Owner::new(
        &format!("model: {{default: qwen3:4b, provider: custom, base_url: '{url}'}}"),
        &[],
    );
    let models = owner.models(&Overrides::default()).unwrap();
    let began = Instant::now();
    let found = models.context(&Scope::new("test".into())).await;
    assert_eq!((found.tokens, found.source), (131_072, Source::Family));
    assert!(began.elapsed() < Duration::from_secs(2));
}

fn body_of(server: &ScriptedModel) -> Value {
    server.calls().pop().unwrap().body
}

/// What is asked of the server before anything is said to the model, and the first request then.
async fn first_request(server: &ScriptedModel, settings: &str) -> (Vec<String>, Value) {
    let owner = Owner::new(settings, &[]);
    let models = owner.models(&Overrides::default()).unwrap();
    let scope = Scope::new("test".into());
    models.context(&scope).await;
    let asked = server.requests();
    let client = models.client(&Purpose::Main).unwrap();
    let mut events = client.stream(hi(), scope);
    while events.next().await.is_some() {}
    let paths = asked.into_iter().map(|request| request.path).collect();
    (paths, body_of(server))
}

fn ollama() -> ScriptedModel {
    let shown = json!({"model_info": {"qwen3.context_length": 262_144}});
    server(
        json!({"models": ["qwen3:4b"], "ollama": {"qwen3:4b": shown}, "steps": [],
        "otherwise": {"text": "ok"}}),
    )
}

#[tokio::test]
async fn an_ollama_server_is_told_how_much_to_keep() {
    let check = async |rest: &str, asked: &[&str], kept: Value| {
        let server = ollama();
        let url = server.url();
        let settings =
            format!("model: {{default: 'qwen3:4b', provider: ollama, base_url: '{url}/v1'{rest}}}");
        let (paths, body) = first_request(&server, &settings).await;
        assert_eq!(paths, asked, "{rest}");
        assert_eq!(body["options"], kept, "{rest}");
    };
    let both = ["/v1/models", "/api/show"];
    check("", &both, json!({"num_ctx": 262_144})).await;
    check(", ollama_num_ctx: 65536", &[], json!({"num_ctx": 65_536})).await;
    let less = ", ollama_num_ctx: 100000, context_length: 80000";
    check(less, &[], json!({"num_ctx": 80_000})).await;
    // Nothing says that it is Ollama, and nothing has to be asked.
    check(", context_length: 80000", &[], Value::Null).await;

    let server = server(json!([{"text": "ok"}]));
    let (paths, body) = first_request(&server, &settings(&server, "")).await;
    assert_eq!(
        paths,
        ["/v1/models"],
        "the only model's window is in the list"
    );
    assert_eq!(body["options"], Value::Null);
}

#[tokio::test]
async fn the_only_model_of_a_server_needs_no_name() {
    let server = ollama();
    let nameless = format!("model: {{base_url: '{}/v1'}}", server.url());
    let (_, body) = first_request(&server, &nameless).await;
    assert_eq!(body["model"], "qwen3:4b");
    assert_eq!(body["options"]["num_ctx"], 262_144);

    for (script, url) in [
        (json!({"models": ["a", "b"], "steps": []}), None),
        (json!([]), Some("http://127.0.0.1:9/v1")),
    ] {
        let server = self::server(script);
        let url = url.map_or_else(|| format!("{}/v1", server.url()), str::to_owned);
        let owner = Owner::new(&format!("model: {{base_url: '{url}'}}"), &[]);
        let models = owner.models(&Overrides::default()).unwrap();
        models.context(&Scope::new("test".into())).await;
        let error = models.client(&Purpose::Main).err().unwrap();
        assert_eq!(error.kind, ModelErrorKind::NotConfigured);
        assert!(error.message.contains("model.default"), "{error}");
    }
    // A server elsewhere may have hundreds.
    let owner = Owner::new("model: {base_url: 'https://models.example/v1'}", &[]);
    assert!(owner.models(&Overrides::default()).is_err());
}

#[tokio::test]
async fn a_familys_name_means_its_newest_model() {
    let models = json!([{"id": "claude-sonnet-4.5", "context_length": 100_000},
        {"id": "claude-sonnet-4.6", "context_length": 900_000}, "claude-opus-4.7"]);
    let server = server(json!({"models": models, "steps": [], "otherwise": {"text": "ok"}}));
    let url = server.url();
    let settings = format!("model: {{default: sonnet, provider: custom, base_url: '{url}/v1'}}");
    let (_, body) = first_request(&server, &settings).await;
    assert_eq!(body["model"], "claude-sonnet-4.6");

    let owner = Owner::new(&settings, &[]);
    let wanted = Overrides {
        model: Some("haiku".to_owned()),
        provider: None,
    };
    let models = owner.models(&wanted).unwrap();
    models.context(&Scope::new("test".into())).await;
    assert_eq!(
        models.route().model,
        "haiku",
        "there is none: the server says so"
    );
}

#[test]
fn side_tasks_use_the_main_model_or_their_own() {
    let server = server(json!([]));
    let side = format!(
        "{}\nauxiliary:\n  title_generation: {{model: small-1, extra_body: {{top_k: 1}}}}\n  \
         compression: {{base_url: 'http://127.0.0.1:8/v1', api_key: aux-key, model: c}}\n  \
         vision: {{provider: openrouter, model: gpt-4o}}\n  approval: {{provider: my-box}}\n\
         providers: {{my-box: {{base_url: 'http://box/v1', api_key: box-key}}}}\n",
        settings(&server, "")
    );
    let owner = Owner::new(&side, &[]);
    let models = owner.models(&Overrides::default()).unwrap();
    let check = |task: &'static str, expected: [&str; 3]| {
        let client = models.client(&Purpose::Aux(task)).unwrap();
        let info = client.info();
        assert_eq!(
            [&*info.provider, &*info.model, &*info.base_url],
            expected,
            "{task}"
        );
    };
    let url = format!("{}/v1", server.url());
    check("session_search", ["custom", "mock-1", &url]);
    check("title_generation", ["custom", "small-1", &url]);
    check("compression", ["custom", "c", "http://127.0.0.1:8/v1"]);
    check("approval", ["custom:my-box", "mock-1", "http://box/v1"]);
    // A provider that was asked for by name isn't silently replaced.
    let error = models.client(&Purpose::Aux("vision")).err().unwrap();
    assert_eq!(error.kind, ModelErrorKind::NotConfigured);
    assert!(error.message.contains("OPENROUTER_API_KEY"), "{error}");
}

#[test]
fn providers_are_listed() {
    let owner = Owner::new(
        "providers: {mine: {base_url: 'http://x/v1'}}",
        &[("OPENROUTER_API_KEY", "sk-or-1")],
    );
    let providers = list_providers(owner.dir.path(), &owner.settings(), owner.env());
    let ids: Vec<_> = providers.iter().map(|provider| &*provider.id).collect();
    assert_eq!(ids[..4], ["nous", "openrouter", "openai", "openai-codex"]);
    assert_eq!(ids.last(), Some(&"custom:mine"));
    let ready = providers.iter().filter(|provider| provider.is_configured);
    let ready: Vec<_> = ready.map(|provider| &*provider.id).collect();
    assert_eq!(ready, ["openrouter", "lmstudio", "custom:mine"]);
}

#[tokio::test]
async fn settings_and_keys_are_read_again() {
    let answers = || server(json!([{"text": "here", "repeat": true}]));
    let (before, after) = (answers(), answers());
    let of = |server: &ScriptedModel, key: &str| {
        let settings = settings(server, ", context_length: 99000");
        Owner::new(&settings.replace("sk-1234", key), &[])
    };
    let owner = of(&before, "sk-old-12345");
    let models = owner.models(&Overrides::default()).unwrap();
    let scope = || Scope::new("test".into());
    let old = models.client(&Purpose::Main).unwrap();

    // What cannot be used changes nothing.
    let broken = Owner::new("model: {default: m, provider: openrouter}", &[]);
    let (settings, env) = (broken.settings(), broken.env().clone());
    let refused = models.reload(&owner.home(), settings, env, &scope()).await;
    assert_eq!(refused.err().unwrap().kind, ModelErrorKind::NotConfigured);
    assert_eq!(models.route().base_url.port(), Some(before.addr().port()));

    let changed = of(&after, "sk-new-12345");
    let (settings, env) = (changed.settings(), changed.env().clone());
    let reloaded = models.reload(&owner.home(), settings, env, &scope()).await;
    let side = models.client(&Purpose::Aux("title_generation")).unwrap();
    for client in [reloaded.unwrap(), side] {
        let mut events = client.stream(hi(), scope());
        while events.next().await.is_some() {}
    }
    let keys: Vec<_> = after
        .calls()
        .iter()
        .map(|call| call.headers["authorization"].clone())
        .collect();
    assert_eq!(keys, ["Bearer sk-new-12345"; 2]);
    // Who was asked before still is where they were.
    let mut events = old.stream(hi(), scope());
    while events.next().await.is_some() {}
    assert_eq!(before.calls().len(), 1);
}
