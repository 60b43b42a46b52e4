//! The tables read, and say what the specification says.

use pretty_assertions::assert_eq;

use super::*;
use crate::route::{CacheLayout, EffortField, OutputField, SystemRole};

fn quirks(provider: &str, url: &str, model: &str) -> Quirks {
    let url: Url = url.parse().unwrap();
    let row = catalogue().by_id(provider).unwrap();
    let mode = catalogue().mode_of(row, &url, model);
    let mode = mode.unwrap_or(Mode::ChatCompletions);
    let place = Place {
        provider,
        url: &url,
        model,
        mode,
    };
    catalogue().quirks(&row.quirks, place)
}

#[test]
fn the_catalogue_reads_and_names_are_unique() {
    let rows = &catalogue().providers;
    assert!(rows.len() >= 34);
    let names = rows
        .iter()
        .flat_map(|row| row.aliases.iter().chain([&row.id]));
    let mut names: Vec<_> = names.collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for row in rows {
        let url: Url = row
            .base_url
            .parse()
            .unwrap_or_else(|_| "http://x".parse().unwrap());
        let place = Place {
            provider: &row.id,
            url: &url,
            model: "m",
            mode: row.mode.unwrap_or(Mode::ChatCompletions),
        };
        let read: Result<Quirks, _> = serde_json::from_value(match row.quirks.is_null() {
            true => serde_json::json!({}),
            false => row.quirks.clone(),
        });
        assert!(read.is_ok(), "{}: {read:?}", row.id);
        catalogue().quirks(&row.quirks, place);
    }
    for rule in &catalogue().rules {
        let read: Result<Quirks, _> = serde_json::from_value(rule.quirks.clone());
        assert!(read.is_ok(), "{rule:?}: {read:?}");
    }
}

#[test]
fn caching_by_route() {
    let check = |provider, url, model, expected| {
        assert_eq!(
            quirks(provider, url, model).cache,
            expected,
            "{provider} {model}"
        );
    };
    check(
        "anthropic",
        "https://api.anthropic.com",
        "claude-x",
        CacheLayout::Native,
    );
    check(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "anthropic/claude-x",
        CacheLayout::Envelope,
    );
    check(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "openai/gpt-5",
        CacheLayout::Automatic,
    );
    check(
        "nous",
        "https://inference-api.nousresearch.com/v1",
        "qwen/q",
        CacheLayout::Envelope,
    );
    check(
        "custom",
        "http://h/anthropic",
        "claude-x",
        CacheLayout::Native,
    );
    check(
        "custom",
        "http://h/anthropic",
        "other",
        CacheLayout::Automatic,
    );
    check("custom", "http://h/v1", "claude-x", CacheLayout::Automatic);
}

#[test]
fn rules_add_up() {
    let openai = quirks("openai", "https://api.openai.com/v1", "gpt-5.4");
    assert_eq!(openai.output_field, OutputField::MaxCompletionTokens);
    let proxy = quirks("custom", "https://proxy.test/v1", "gpt-5.4");
    assert_eq!(proxy.system_role, SystemRole::Developer);
    let router = quirks(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "anthropic/claude-x",
    );
    assert_eq!(router.effort, EffortField::Reasoning);
    assert_eq!(router.headers.len(), 4);
    let kimi = quirks("custom", "https://api.moonshot.ai/v1", "kimi-k2");
    assert!(kimi.echo_reasoning);
    let nous = quirks(
        "nous",
        "https://inference-api.nousresearch.com/v1",
        "Hermes-4",
    );
    assert!(
        nous.body["tags"][1]
            .as_str()
            .unwrap()
            .starts_with("client=hermes-client-v0.")
    );
}

#[test]
fn dialects_by_provider_address_and_name() {
    let check = |provider: &str, url: &str, model: &str, expected: &str| {
        let row = catalogue().by_id(provider).unwrap();
        let mode = catalogue().mode_of(row, &url.parse().unwrap(), model);
        let mode = mode.map(|mode| format!("{mode:?}")).unwrap_or_default();
        assert_eq!(mode, expected, "{provider} {url} {model}");
    };
    let (responses, messages) = ("CodexResponses", "AnthropicMessages");
    check("openai", "https://api.openai.com/v1", "gpt-4o", responses);
    check("custom", "https://api.openai.com/v1", "x", responses);
    check("custom", "https://api.x.ai/v1", "x", responses);
    check("xai", "http://proxy/v1", "grok-4", responses);
    check("custom", "http://h/v1", "gpt-5.4", "");
    check("nvidia", "http://h/v1", "gpt-5.4", responses);
    check("nous", "http://h/v1", "gpt-5.4", "");
    check(
        "azure-foundry",
        "https://x.azure.com/v1?api-version=1",
        "gpt-5.4",
        responses,
    );
    check(
        "azure-foundry",
        "https://x.azure.com/v1",
        "o3-mini",
        responses,
    );
    check("azure-foundry", "https://x.azure.com/v1", "gpt-4o", "");
    check(
        "azure-foundry",
        "https://x.azure.com/anthropic",
        "claude-x",
        messages,
    );
    check("copilot", "http://h", "gpt-5.3-codex", responses);
    check("copilot", "http://h", "gpt-5-mini", "ChatCompletions");
    check("copilot", "http://h", "gpt-4.1", "");
    check("opencode-zen", "http://h/v1", "claude-x", messages);
    check("opencode-zen", "http://h/v1", "gpt-5.4", responses);
    check("opencode-zen", "http://h/v1", "qwen3", "");
    check("opencode-go", "http://h/v1", "minimax-m2.7", messages);
    check("opencode-go", "http://h/v1", "glm-5", "");
    check("gemini", "http://h/v1beta", "gemini-3-pro", "Gemini");
    check(
        "gemini",
        "http://h/v1beta/openai",
        "gemini-3-pro",
        "ChatCompletions",
    );
    let bedrock = "BedrockConverse";
    check(
        "custom",
        "https://bedrock-runtime.eu-west-1.amazonaws.com",
        "m",
        bedrock,
    );
    check("custom", "https://my.elb.amazonaws.com/v1", "m", "");
    check(
        "kimi-coding",
        "https://api.kimi.com/coding",
        "kimi-k2",
        messages,
    );
    check("kimi-coding", "https://api.moonshot.ai/v1", "kimi-k2", "");
    check("custom", "http://h/anthropic/", "m", messages);
}
