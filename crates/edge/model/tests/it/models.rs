//! Clients by purpose, and what a server says about its models.

use std::time::{Duration, Instant};

use hermes_model::context::{self, Source};
use hermes_model::{Overrides, list_providers};
use hermes_scripted::{Script, ScriptedModel};
use hermes_types::{ModelErrorKind, Models, Purpose, Scope};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::Owner;

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
    let providers = list_providers(&owner.settings(), owner.env());
    let ids: Vec<_> = providers
        .iter()
        .map(|provider| (&*provider.id, provider.is_configured))
        .collect();
    assert_eq!(
        ids,
        [
            ("nous", false),
            ("openrouter", true),
            ("openai", false),
            ("anthropic", false),
            ("custom", false),
            ("lmstudio", true),
            ("custom:mine", true),
        ]
    );
}
