//! Choices nobody spelled out: which provider, which address for a key, which name, which window and price.

use std::fs;

use hermes_model::context::Source;
use hermes_model::{EffortField, Mode, Overrides, PriceSource, Route};
use hermes_scripted::{Script, ScriptedModel};
use hermes_types::{ModelErrorKind, Scope};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::Owner;

fn typed(model: &str) -> Overrides {
    Overrides {
        model: Some(model.to_owned()),
        provider: None,
    }
}

fn route(settings: &str, env: &[(&str, &str)]) -> Route {
    let models = Owner::new(settings, env).models(&Overrides::default());
    models.unwrap().route().clone()
}

#[track_caller]
fn check(route: &Route, provider: &str, url: &str) {
    let found = (&*route.provider, route.base_url.as_str());
    assert_eq!(found, (provider, url));
}

#[track_caller]
fn check_error(settings: &str, env: &[(&str, &str)], parts: &[&str]) {
    let found = Owner::new(settings, env).models(&Overrides::default());
    let error = found.map(|models| models.route().clone()).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::NotConfigured);
    for part in parts {
        assert!(error.message.contains(part), "{part:?} in {error}");
    }
}

#[test]
fn the_last_login_is_asked_first() {
    let owner = Owner::new("model: m", &[("OPENROUTER_API_KEY", "sk-or-1")]);
    let active = |provider: &str, until: &str| {
        let state = json!({"access_token": "token-1", "expires_at": until});
        let store = json!({"active_provider": provider, "providers": {"qwen-oauth": state}});
        fs::write(owner.dir.path().join("auth.json"), store.to_string()).unwrap();
        let models = owner.models(&Overrides::default()).unwrap();
        models.route().provider.clone()
    };
    assert_eq!(active("qwen-oauth", "2999-01-01T00:00:00Z"), "qwen-oauth");
    assert_eq!(active("qwen-oauth", "1999-01-01T00:00:00Z"), "openrouter");
    assert_eq!(active("nonsense", "2999-01-01T00:00:00Z"), "openrouter");
}

#[test]
fn keys_of_all_kinds_decide() {
    let auto = |env: &[(&str, &str)]| route("model: m", env).provider;
    assert_eq!(auto(&[("GLM_API_KEY", "glm-1")]), "zai");
    assert_eq!(auto(&[("Z_AI_API_KEY", "glm-1")]), "zai");
    assert_eq!(auto(&[("HF_TOKEN", "hf_1")]), "huggingface");
    let pair = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "S")];
    let region = ("AWS_REGION", "eu-central-1");
    let bedrock = route("model: m", &[pair[0], pair[1], region]);
    let url = "https://bedrock-runtime.eu-central-1.amazonaws.com/";
    check(&bedrock, "bedrock", url);
    let xai = ("XAI_API_KEY", "xai-1");
    assert_eq!(auto(&[pair[0], pair[1], xai]), "xai");
    let never = [("GH_TOKEN", "gho_1"), ("LM_API_KEY", "lm-1")];
    check_error("model: m", &never, &["hermes model list"]);
    for placeholder in ["***", "changeme", "your_api_key", "abc", "None"] {
        check_error(
            "model: m",
            &[("GLM_API_KEY", placeholder)],
            &["hermes model"],
        );
    }
}

#[test]
fn some_keys_belong_to_another_address() {
    let kimi = |key: &str, env: &[(&str, &str)]| {
        let env: Vec<_> = env.iter().copied().chain([("KIMI_API_KEY", key)]).collect();
        route("model: {default: kimi-k2.5, provider: kimi}", &env)
    };
    let usual = kimi("sk-1234", &[]);
    check(&usual, "kimi-coding", "https://api.moonshot.ai/v1");
    assert_eq!(
        (usual.mode, usual.quirks.effort),
        (Mode::ChatCompletions, EffortField::Thinking)
    );
    let coding = kimi("sk-kimi-1", &[]);
    check(&coding, "kimi-coding", "https://api.kimi.com/coding");
    assert_eq!(coding.mode, Mode::AnthropicMessages);
    let own = kimi("sk-kimi-1", &[("KIMI_BASE_URL", "http://proxy/v1")]);
    check(&own, "kimi-coding", "http://proxy/v1");

    let owner = Owner::new(
        "model: {default: glm-5, provider: glm}",
        &[("GLM_API_KEY", "glm-key-1")],
    );
    let url = "https://open.bigmodel.cn/api/coding/paas/v4";
    // The beginning of the SHA-256 of the key.
    let hash = "b5eaa9cb75500a2f";
    let store =
        json!({"providers": {"zai": {"detected_endpoint": {"base_url": url, "key_hash": hash}}}});
    fs::write(owner.dir.path().join("auth.json"), store.to_string()).unwrap();
    let models = owner.models(&Overrides::default()).unwrap();
    check(&models.route(), "zai", url);
}

#[test]
fn keys_that_are_not_for_us_are_not_used() {
    let claude = "model: {default: m, provider: anthropic}";
    let token = ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat-1");
    check_error(
        claude,
        &[token],
        &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN is not used"],
    );
    let key = ("ANTHROPIC_API_KEY", "sk-ant-api-1");
    assert_eq!(route(claude, &[token, key]).key.expose(), "sk-ant-api-1");
    let copilot = "model: {default: m, provider: github}";
    check_error(
        copilot,
        &[("GH_TOKEN", "ghp_1234")],
        &["COPILOT_GITHUB_TOKEN", "classic"],
    );
    let both = [("GH_TOKEN", "ghp_1234"), ("GITHUB_TOKEN", "gho_1234")];
    assert_eq!(route(copilot, &both).key.expose(), "gho_1234");
    let away = "model: {default: m, provider: copilot, base_url: 'https://proxy.test'}";
    check_error(away, &both, &["githubcopilot.com", "model.api_key"]);
    let codex = "model: {default: m, provider: codex}";
    check_error(
        codex,
        &[("OPENAI_API_KEY", "sk-1")],
        &["login", "hermes auth add openai-codex"],
    );
}

#[test]
fn a_typed_name_finds_who_has_it() {
    let settings = "model: {default: claude-opus-4.6, provider: anthropic}";
    let claude = ("ANTHROPIC_API_KEY", "sk-ant-api-1");
    let find = |model: &str, env: &[(&str, &str)]| {
        let models = Owner::new(settings, env).models(&typed(model)).unwrap();
        let route = models.route();
        format!("{}:{}", route.provider, route.model)
    };
    let gemini = ("GEMINI_API_KEY", "g-1234");
    let router = ("OPENROUTER_API_KEY", "sk-or-1");
    assert_eq!(
        find("claude-sonnet-4.6", &[claude, router]),
        "anthropic:claude-sonnet-4-6"
    );
    assert_eq!(
        find("gemini-3-pro", &[claude, gemini]),
        "gemini:gemini-3-pro"
    );
    assert_eq!(
        find("gemini-3-pro", &[claude, router]),
        "openrouter:google/gemini-3-pro"
    );
    assert_eq!(find("gemini-3-pro", &[claude]), "anthropic:gemini-3-pro");
    assert_eq!(
        find("unheard-of", &[claude, router]),
        "anthropic:unheard-of"
    );
    // A server of one's own may have anything.
    let own = Owner::new("model: {default: m, base_url: 'http://h/v1'}", &[gemini]);
    let models = own.models(&typed("gemini-3-pro")).unwrap();
    assert_eq!(models.route().provider, "custom");
}

#[test]
fn names_and_dialects_fit_together() {
    let zen = |model: &str| {
        let settings = format!("model: {{default: {model}, provider: opencode-zen}}");
        let route = route(&settings, &[("OPENCODE_ZEN_API_KEY", "zen-1")]);
        (route.mode, route.model)
    };
    let messages = Mode::AnthropicMessages;
    assert_eq!(
        zen("claude-sonnet-4.6"),
        (messages, "claude-sonnet-4.6".to_owned())
    );
    assert_eq!(zen("qwen3"), (Mode::ChatCompletions, "qwen3".to_owned()));
    let own = "model: {default: claude-opus-4.6, base_url: 'http://h/anthropic'}";
    assert_eq!(route(own, &[]).model, "claude-opus-4-6");
}

#[test]
fn the_owner_may_add_headers() {
    let settings = "model: {default: openrouter/pareto-code, provider: openrouter}\n\
        providers: {openrouter: {headers: {X-Mine: a}}, My Box: {base_url: 'http://b/v1', headers: {X-Box: b}}}";
    let router = ("OPENROUTER_API_KEY", "sk-or-1");
    let found = route(settings, &[router, ("HERMES_OPENROUTER_CACHE_TTL", "60")]);
    assert_eq!(found.quirks.headers["X-Mine"], "a");
    assert_eq!(found.quirks.headers["X-OpenRouter-Cache-TTL"], "60");
    assert_eq!(found.quirks.body["plugins"][0]["min_coding_score"], 0.65);
    let off = route(settings, &[router, ("HERMES_OPENROUTER_CACHE", "0")]);
    assert!(!off.quirks.headers.contains_key("X-OpenRouter-Cache"));
    let models = Owner::new(settings, &[])
        .models(&typed("my-box:m"))
        .unwrap();
    assert_eq!(models.route().quirks.headers["X-Box"], "b");
}

#[test]
fn a_left_over_address_is_warned_about() {
    let stale = ("OPENAI_BASE_URL", "http://old/v1");
    let warnings = |settings: &str| {
        let models = Owner::new(settings, &[stale, ("XAI_API_KEY", "xai-1")]);
        models.models(&Overrides::default()).unwrap().warnings()
    };
    let found = warnings("model: {default: m, base_url: 'http://h/v1'}");
    assert!(
        found[0].contains("OPENAI_BASE_URL (http://old/v1) is ignored"),
        "{found:?}"
    );
    assert_eq!(
        warnings("model: {default: m, base_url: 'http://old/v1/'}"),
        [""; 0]
    );
    assert_eq!(warnings("model: {default: m, provider: xai}"), [""; 0]);
}

fn server(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

async fn asked(owner: &Owner) -> Route {
    let models = owner.models(&Overrides::default()).unwrap();
    models.context(&Scope::new("test".into())).await;
    models.route().clone()
}

#[tokio::test]
async fn local_servers_say_what_they_were_started_with() {
    let loaded = json!([{"key": "m", "max_context_length": 200_000, "loaded_instances":
        [{"config": {"context_length": 90_000}}],
        "capabilities": {"reasoning": {"allowed_options": ["low", "high"]}}}]);
    let studio = server(json!({"models": ["m", "x"], "steps": [],
        "get": {"/api/v1/models": {"models": loaded}}}));
    let address = format!("{}/v1", studio.url());
    let settings = "model: {default: m, provider: lmstudio}";
    let found = asked(&Owner::new(settings, &[("LM_BASE_URL", &address)])).await;
    assert_eq!(
        (found.context.tokens, found.context.source),
        (90_000, Source::Server)
    );
    assert_eq!(found.quirks.efforts, ["low", "high"]);

    let trained = json!([{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 262_144}}]);
    let props = json!({"default_generation_settings": {"n_ctx": 65_536}});
    let llama = server(json!({"models": trained, "steps": [], "get": {"/props": props}}));
    let settings = format!("model: {{default: m, base_url: '{}/v1'}}", llama.url());
    let found = asked(&Owner::new(&settings, &[])).await;
    assert_eq!(
        (found.context.tokens, found.context.source),
        (65_536, Source::Server)
    );
}

#[tokio::test]
async fn anthropics_list_knows_better_than_the_table() {
    let listed = json!([{"id": "claude-next", "max_input_tokens": 777_000}, "claude-old"]);
    let server = server(json!({"models": listed, "steps": []}));
    let settings = format!(
        "model: {{default: claude-next, provider: anthropic, base_url: '{}', api_key: sk-ant-api-1}}",
        server.url()
    );
    let found = asked(&Owner::new(&settings, &[])).await;
    assert_eq!(
        (found.context.tokens, found.context.source),
        (777_000, Source::Server)
    );
    let request = &server.requests()[0];
    assert_eq!(
        (&*request.path, &*request.headers["x-api-key"]),
        ("/v1/models", "sk-ant-api-1")
    );
}

#[tokio::test]
async fn prices_and_windows_come_with_the_list_or_the_registry() {
    let pricing = json!({"prompt": "0.000002", "completion": "0.000004"});
    let listed = json!([{"id": "m", "context_length": 99_000, "pricing": pricing}, "x"]);
    let server = server(json!({"models": listed, "steps": []}));
    let settings = format!("model: {{default: m, base_url: '{}/v1'}}", server.url());
    let priced = asked(&Owner::new(&settings, &[]))
        .await
        .quirks
        .price
        .unwrap();
    assert_eq!(
        (priced.price.input, priced.source),
        (Some(2.0), PriceSource::Provider)
    );

    let owner = Owner::new(
        "model: {default: grok-9, provider: xai}",
        &[("XAI_API_KEY", "xai-1")],
    );
    let registry = json!({"xai": {"models": {"grok-9": {"limit": {"context": 555_000},
        "cost": {"input": 3, "output": 9}}}}});
    fs::write(
        owner.dir.path().join("models_dev_cache.json"),
        registry.to_string(),
    )
    .unwrap();
    let found = asked(&owner).await;
    assert_eq!(
        (found.context.tokens, found.context.source),
        (555_000, Source::Registry)
    );
    let priced = found.quirks.price.unwrap();
    assert_eq!(
        (priced.price.output, priced.source),
        (Some(9.0), PriceSource::Registry)
    );
}

#[tokio::test]
async fn an_unknown_host_may_have_what_a_router_lists() {
    // A server that lists names only.
    let server = server(json!({"models": [{"id": "strange-1"}, {"id": "x"}], "steps": []}));
    let settings = format!(
        "model: {{default: strange-1, base_url: '{}/v1'}}",
        server.url()
    );
    let owner = Owner::new(&settings, &[]);
    let kept = json!({"fetched_at": 1, "base_url": "https://openrouter.ai/api/v1",
        "models": [{"id": "maker/strange-1", "context_length": 123_000}]});
    let dir = owner.dir.path().join("cache/models");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("openrouter.json"), kept.to_string()).unwrap();
    let found = asked(&owner).await;
    assert_eq!(
        (found.context.tokens, found.context.source),
        (123_000, Source::Registry)
    );

    // And its bare names are found there.
    let router = Owner::new(
        "model: {default: strange-1, provider: openrouter}",
        &[("OPENROUTER_API_KEY", "sk-or-1")],
    );
    let dir = router.dir.path().join("cache/models");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("openrouter.json"), kept.to_string()).unwrap();
    let models = router.models(&Overrides::default()).unwrap();
    assert_eq!(models.route().model, "maker/strange-1");
}
