//! From settings, variables and the command line to a route.

use hermes_model::{Mode, Overrides, Route};
use hermes_types::{ModelError, ModelErrorKind};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::Owner;

const MOCK: &str = "model: {default: mock-1, provider: custom, base_url: 'http://127.0.0.1:9/v1', api_key: sk-test-1234567}";
const ROUTER: (&str, &str) = ("OPENROUTER_API_KEY", "sk-or-1");

fn resolve(
    settings: &str,
    env: &[(&str, &str)],
    model: &str,
    provider: &str,
) -> Result<Route, ModelError> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let overrides = Overrides {
        model: given(model),
        provider: given(provider),
    };
    let models = Owner::new(settings, env).models(&overrides)?;
    Ok(models.route().clone())
}

/// Provider, model, address and key of a route.
#[track_caller]
fn check(found: Result<Route, ModelError>, expected: [&str; 4]) {
    let route = found.unwrap();
    let url = route.base_url.as_str();
    assert_eq!(
        [&*route.provider, &*route.model, url, route.key.expose()],
        expected
    );
}

#[track_caller]
fn check_error(found: Result<Route, ModelError>, parts: &[&str]) {
    let error = found.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::NotConfigured);
    for part in parts {
        assert!(error.message.contains(part), "{part:?} in {error}");
    }
}

#[test]
fn settings_and_the_command_line() {
    let url = "http://127.0.0.1:9/v1";
    let key = "sk-test-1234567";
    check(resolve(MOCK, &[], "", ""), ["custom", "mock-1", url, key]);
    check(
        resolve(MOCK, &[], "other:7b", ""),
        ["custom", "other:7b", url, key],
    );
    check(
        resolve(
            MOCK,
            &[
                ("HERMES_INFERENCE_MODEL", "m2"),
                ("OPENAI_BASE_URL", "http://stale"),
            ],
            "",
            "",
        ),
        ["custom", "m2", url, key],
    );
    // Another provider gets neither the address nor the key.
    let router = "https://openrouter.ai/api/v1";
    check(
        resolve(MOCK, &[ROUTER], "", "openrouter"),
        ["openrouter", "mock-1", router, "sk-or-1"],
    );
    check(
        resolve(MOCK, &[ROUTER], "openrouter:anthropic/claude-x:free", ""),
        ["openrouter", "anthropic/claude-x:free", router, "sk-or-1"],
    );
    check(
        resolve(MOCK, &[ROUTER], "or:gpt-5", ""),
        ["openrouter", "openai/gpt-5", router, "sk-or-1"],
    );
    check(
        resolve(
            "model: m",
            &[("HERMES_INFERENCE_PROVIDER", "lm-studio")],
            "",
            "",
        ),
        [
            "lmstudio",
            "m",
            "http://127.0.0.1:1234/v1",
            "no-key-required",
        ],
    );
    check(
        resolve(
            "model: m",
            &[("LM_BASE_URL", "http://h:1/v1/"), ("LM_API_KEY", "k-lm")],
            "",
            "lmstudio",
        ),
        ["lmstudio", "m", "http://h:1/v1", "k-lm"],
    );
}

#[test]
fn without_a_choice_the_keys_decide() {
    let openai = ("OPENAI_API_KEY", "sk-proj-1");
    let anthropic = ("ANTHROPIC_API_KEY", "sk-ant-api-1");
    let router = "https://openrouter.ai/api/v1";
    check(
        resolve("model: gpt-5", &[openai, ROUTER], "", ""),
        ["openrouter", "openai/gpt-5", router, "sk-or-1"],
    );
    check(
        resolve("model: gpt-5", &[openai, anthropic], "", ""),
        ["openai", "gpt-5", "https://api.openai.com/v1", "sk-proj-1"],
    );
    check(
        resolve("model: m", &[("OPENAI_API_KEY", "sk-or-2")], "", ""),
        ["openrouter", "m", router, "sk-or-2"],
    );
    check(
        resolve("model: claude-sonnet-4.5", &[anthropic], "", ""),
        [
            "anthropic",
            "claude-sonnet-4-5",
            "https://api.anthropic.com/",
            "sk-ant-api-1",
        ],
    );
    check(
        resolve(
            "model: {default: m, base_url: 'http://127.0.0.1:9/v1'}",
            &[ROUTER],
            "",
            "",
        ),
        ["custom", "m", "http://127.0.0.1:9/v1", "no-key-required"],
    );
    check_error(
        resolve("model: m", &[("OPENROUTER_API_KEY", "changeme")], "", ""),
        &[
            "hermes model list",
            "hermes config set model.provider ",
            "hermes config set model.default ",
            "hermes config set model.base_url ",
            "hermes config set OPENROUTER_API_KEY ",
            "OPENAI_API_KEY",
            ".env",
        ],
    );
}

#[test]
fn what_is_missing_is_named() {
    check_error(
        resolve("", &[ROUTER], "", ""),
        &["model", "hermes config set model.default"],
    );
    for (provider, variable) in [
        ("openrouter", "OPENROUTER_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("claude", "ANTHROPIC_API_KEY"),
        ("nous", "NOUS_API_KEY"),
    ] {
        let hint = format!("hermes config set {variable}");
        check_error(resolve("", &[], "m", provider), &[variable, &hint]);
    }
    check_error(
        resolve("", &[], "m", "nonsense"),
        &["'nonsense'", "openrouter"],
    );
    check_error(resolve("", &[], "m", "custom"), &["model.base_url"]);
    check_error(
        resolve(
            "model: {provider: custom, base_url: 'ftp://x'}",
            &[],
            "m",
            "",
        ),
        &["'ftp://x' is not an http address"],
    );
    check_error(
        resolve(
            "model: {provider: custom, base_url: 'http://x', api_mode: telepathy}",
            &[],
            "m",
            "",
        ),
        &["telepathy", "chat_completions"],
    );
}

// spec: agent-loop §26.23
#[test]
fn a_key_is_not_sent_to_a_host_that_only_looks_right() {
    let evil = "http://openrouter.ai.evil.test/v1";
    for provider in ["custom", "auto"] {
        let settings = format!("model: {{default: m, provider: {provider}, base_url: '{evil}'}}");
        check(
            resolve(&settings, &[ROUTER], "", ""),
            ["custom", "m", evil, "no-key-required"],
        );
    }
    let settings = format!("model: {{default: m, provider: openrouter, base_url: '{evil}'}}");
    check_error(
        resolve(&settings, &[ROUTER], "", ""),
        &[
            "only sent to openrouter.ai, not to openrouter.ai.evil.test",
            "model.api_key",
        ],
    );
    let settings =
        "model: {default: m, provider: anthropic, base_url: 'https://proxy.test/anthropic'}";
    check_error(
        resolve(settings, &[("ANTHROPIC_API_KEY", "sk-ant-api-1")], "", ""),
        &["anthropic.com"],
    );
    let right = "model: {default: m, provider: custom, base_url: 'https://openrouter.ai/api/v1'}";
    check(
        resolve(right, &[ROUTER, ("OLLAMA_API_KEY", "ollama-1")], "", ""),
        ["custom", "m", "https://openrouter.ai/api/v1", "sk-or-1"],
    );
}

const OWN: &str = "
model: {default: d, provider: custom, base_url: 'http://main/v1', api_key: main-key}
providers:
  My Box: {base_url: 'http://box/v1', key_env: BOX_KEY, default_model: boxed, models: {big: {context_length: 99000}}}
  ollama: {url: 'http://ollama.test/v1', api_key: own-key}
  openrouter: {request_timeout_seconds: 5}
custom_providers:
  - {name: old, base_url: 'http://old/v1?api-version=7', api_mode: anthropic_messages, model: ancient}
";

#[test]
fn providers_of_ones_own() {
    let env = [("BOX_KEY", "box-1"), ROUTER];
    for name in ["my box", "custom:my-box", "My-Box"] {
        check(
            resolve(OWN, &env, "m", name),
            ["custom:my-box", "m", "http://box/v1", "box-1"],
        );
    }
    check(
        resolve(OWN, &env, "custom:my-box:qwen3:4b", ""),
        ["custom:my-box", "qwen3:4b", "http://box/v1", "box-1"],
    );
    check(
        resolve(OWN, &env, "qwen3:4b", ""),
        ["custom", "qwen3:4b", "http://main/v1", "main-key"],
    );
    // An own name wins over an alias, not over an id.
    check(
        resolve(OWN, &env, "ollama:m", ""),
        ["custom:ollama", "m", "http://ollama.test/v1", "own-key"],
    );
    check(
        resolve(OWN, &env, "openrouter:m", ""),
        ["openrouter", "m", "https://openrouter.ai/api/v1", "sk-or-1"],
    );
    let old = resolve(OWN, &env, "", "old").unwrap();
    assert_eq!(
        (old.mode, old.base_url.query()),
        (Mode::AnthropicMessages, Some("api-version=7"))
    );
    assert_eq!(
        resolve(OWN, &env, "big", "my box").unwrap().context.tokens,
        99_000
    );
}

#[test]
fn aliases() {
    let settings = format!(
        "{MOCK}\nmodel_aliases:\n  fast: {{model: m1, provider: openrouter}}\n  \
         here: {{model: m2, base_url: 'http://127.0.0.1:8/v1'}}\n  \
         there: {{model: m3, base_url: 'http://there.test/v1'}}\n"
    );
    check(
        resolve(&settings, &[ROUTER], "fast", ""),
        [
            "openrouter",
            "m1",
            "https://openrouter.ai/api/v1",
            "sk-or-1",
        ],
    );
    check(
        resolve(&settings, &[], "here", ""),
        ["custom", "m2", "http://127.0.0.1:8/v1", "sk-test-1234567"],
    );
    check(
        resolve(&settings, &[], "there", ""),
        ["custom", "m3", "http://there.test/v1", "no-key-required"],
    );
    let settings =
        "model: {default: x, provider: openrouter, aliases: {smart: openrouter/claude-x}}";
    check(
        resolve(settings, &[ROUTER], "smart", ""),
        [
            "openrouter",
            "anthropic/claude-x",
            "https://openrouter.ai/api/v1",
            "sk-or-1",
        ],
    );
}

#[test]
fn the_address_can_decide_about_the_dialect() {
    let mode = |url: &str, rest: &str| {
        let settings = format!("model: {{default: m, provider: custom, base_url: '{url}'{rest}}}");
        resolve(&settings, &[], "", "").unwrap().mode
    };
    assert_eq!(mode("http://h/v1", ""), Mode::ChatCompletions);
    assert_eq!(mode("http://h/anthropic", ""), Mode::AnthropicMessages);
    assert_eq!(mode("http://h/anthropic/", ""), Mode::AnthropicMessages);
    assert_eq!(
        mode("https://api.kimi.com/coding", ""),
        Mode::AnthropicMessages
    );
    assert_eq!(
        mode("http://h/v1", ", api_mode: anthropic_messages"),
        Mode::AnthropicMessages
    );
    assert_eq!(
        mode("http://h/anthropic", ", api_mode: chat_completions"),
        Mode::ChatCompletions
    );
}

#[test]
fn a_login_that_is_there_is_used() {
    let owner = Owner::new("model: Hermes-4-405B", &[]);
    let store = json!({"active_provider": "nous", "providers": {"nous": {"access_token": "never-this",
        "agent_key": "minted-1", "agent_key_expires_at": "2999-01-01T00:00:00Z",
        "inference_base_url": "https://inference.nousresearch.com/v1"}}});
    std::fs::write(owner.dir.path().join("auth.json"), store.to_string()).unwrap();
    let models = owner.models(&Overrides::default()).unwrap();
    check(
        Ok(models.route().clone()),
        [
            "nous",
            "Hermes-4-405B",
            "https://inference.nousresearch.com/v1",
            "minted-1",
        ],
    );
}
