//! How large a model's window is: what the owner says, what was learned before, what the server says, what its
//! name suggests.

use std::path::{Path, PathBuf};

use hermes_home::config::Settings;
use hermes_home::{FileLock, Modes, replace_file, yaml};
use serde_json::{Map, Value, json};

use crate::limits;
use crate::providers::Provider;
use crate::route::Mode;

/// With less there is no room for a system prompt, tools and a conversation.
pub const SMALLEST_WINDOW: u64 = 64_000;

/// A window and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLength {
    pub tokens: u64,
    pub source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Settings,
    /// An earlier error message of the server.
    Learned,
    /// The server itself.
    Server,
    /// A registry or another provider's list.
    Registry,
    /// The model's name.
    Family,
    Guess,
}

impl ContextLength {
    /// Nobody has to ask the server.
    pub fn is_certain(&self) -> bool {
        matches!(
            self.source,
            Source::Settings | Source::Learned | Source::Server
        )
    }
}

/// Why a model can't be used, if its window is too small.
pub fn refusal(model: &str, context: ContextLength) -> Option<String> {
    (context.tokens < SMALLEST_WINDOW).then(|| {
        format!(
            "The model {model} takes {} tokens at a time; Hermes needs at least 64,000. Choose another model, \
             start the server with a larger window, or, if the number is wrong, set it with \
             `hermes config set model.context_length <tokens>`",
            with_commas(context.tokens)
        )
    })
}

/// What the owner says.
pub(crate) fn configured(
    settings: &Settings,
    provider: &Provider,
    model: &str,
    is_main: bool,
) -> Option<u64> {
    let main = settings.get("model.context_length").filter(|_| is_main);
    let main = main.filter(|value| !value.is_null());
    let own = || provider.model_setting(model, "context_length");
    let value = main.or_else(own)?;
    let tokens = value.as_u64().filter(|tokens| *tokens > 0);
    if tokens.is_none() {
        tracing::warn!("context_length {value} is not a whole number of tokens; ignored");
    }
    tokens
}

/// What a window is looked up by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub home: &'a Path,
    pub provider: &'a str,
    pub model: &'a str,
    pub base_url: &'a str,
    pub mode: Mode,
}

/// The best answer without a network.
pub(crate) fn offline(known: Known<'_>, configured: Option<u64>) -> ContextLength {
    let found = |tokens: Option<u64>, source| tokens.map(|tokens| ContextLength { tokens, source });
    let by_name = || match known.mode {
        Mode::BedrockConverse | Mode::BedrockAnthropic => Some(limits::on_bedrock(known.model)),
        _ => limits::known_context(known.model),
    };
    found(configured, Source::Settings)
        .or_else(|| found(learned(known), Source::Learned))
        .or_else(|| found(by_name(), Source::Family))
        .unwrap_or(ContextLength {
            tokens: limits::DEFAULT_CONTEXT,
            source: Source::Guess,
        })
}

fn cache_path(home: &Path) -> PathBuf {
    home.join("context_length_cache.yaml")
}

fn read_cache(home: &Path) -> Value {
    let text = std::fs::read_to_string(cache_path(home)).unwrap_or_default();
    yaml::read(&text).unwrap_or_default()
}

fn learned(known: Known<'_>) -> Option<u64> {
    // Both say themselves what they take, and may say something else tomorrow.
    if matches!(known.provider, "lmstudio" | "nous") {
        return None;
    }
    let cache = read_cache(known.home);
    let entry = entry_name(known.model, known.base_url);
    let tokens = cache["context_lengths"].get(&entry)?.as_u64()?;
    // Old mistakes of the Python program's, still in many caches.
    let is_wrong = (known.model.contains("kimi") && tokens <= 32_768)
        || (known.provider == "openai-codex" && tokens >= 400_000);
    (!is_wrong && tokens > 0).then_some(tokens)
}

fn entry_name(model: &str, base_url: &str) -> String {
    format!("{model}@{}", base_url.trim_end_matches('/'))
}

/// Keeps a window that a server's error message told and a success confirmed. What else is in the file stays;
/// if it can't be written, it is learned again another time.
pub fn remember(home: &Path, model: &str, base_url: &str, tokens: u64) {
    if let Err(error) = write_entry(home, &entry_name(model, base_url), tokens) {
        tracing::warn!("the window of {model} is not kept: {error}");
    }
}

fn write_entry(home: &Path, entry: &str, tokens: u64) -> hermes_home::Result<()> {
    let path = cache_path(home);
    let _lock = FileLock::for_file(&path)?;
    let mut cache = match read_cache(home) {
        Value::Object(cache) => cache,
        _ => Map::new(),
    };
    match cache.get_mut("context_lengths") {
        Some(Value::Object(entries)) => {
            entries.insert(entry.to_owned(), tokens.into());
        }
        _ => {
            cache.insert("context_lengths".to_owned(), json!({ entry: tokens }));
        }
    }
    // Nothing secret is in it.
    let modes = Modes {
        dir: 0o700,
        secret: None,
    };
    replace_file(&path, yaml::write(&cache.into()), &modes)
}

/// A window at a glance: `128K`, `1M`.
pub fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}K", tokens / 1_000),
        _ if (tokens / 100_000).is_multiple_of(10) => format!("{}M", tokens / 1_000_000),
        _ => format!("{:.1}M", (tokens / 100_000) as f64 / 10.0),
    }
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_was_learned_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let path = cache_path(dir.path());
        std::fs::write(&path, "note: mine\ncontext_lengths: {other@http://x: 9}\n").unwrap();
        remember(dir.path(), "mock-1", "http://a/v1", 70_000);
        remember(dir.path(), "mock-1", "http://b/v1/", 8_000);
        let look = |provider, model, base_url, configured| {
            let known = Known {
                home: dir.path(),
                provider,
                model,
                base_url,
                mode: match provider {
                    "bedrock" => Mode::BedrockConverse,
                    _ => Mode::ChatCompletions,
                },
            };
            let found = offline(known, configured);
            (found.tokens, found.source)
        };
        let mock = |url, configured| look("custom", "mock-1", url, configured);
        assert_eq!(mock("http://a/v1", None), (70_000, Source::Learned));
        assert_eq!(mock("http://b/v1", None), (8_000, Source::Learned));
        assert_eq!(mock("http://b/v1", Some(5)), (5, Source::Settings));
        assert_eq!(mock("http://c/v1", None), (256_000, Source::Guess));
        let text = std::fs::read_to_string(&path).unwrap();
        for line in [
            "note: mine",
            "other@http://x: 9",
            "mock-1@http://a/v1: 70000",
        ] {
            assert!(text.contains(line), "{text}");
        }

        let guess = (256_000, Source::Guess);
        assert_eq!(look("lmstudio", "mock-1", "http://a/v1", None), guess);
        assert_eq!(look("nous", "mock-1", "http://a/v1", None), guess);
        remember(dir.path(), "gpt-5-codex", "http://a", 400_000);
        let codex = look("openai-codex", "gpt-5-codex", "http://a", None);
        assert_eq!(codex.1, Source::Family);
        remember(dir.path(), "kimi-k2", "http://a", 32_768);
        let kimi = look("custom", "kimi-k2", "http://a", None);
        assert_eq!(kimi, (262_144, Source::Family));
        let bedrock = |model| look("bedrock", model, "http://a", None).0;
        assert_eq!(bedrock("us.anthropic.claude-opus-4-6-v1"), 200_000);
        assert_eq!(bedrock("amazon.nova-pro-v1:0"), 300_000);
        assert_eq!(bedrock("meta.llama3"), 128_000);
    }

    #[test]
    fn windows_at_a_glance() {
        let found = [999, 131_072, 1_000_000, 1_048_576, 2_500_000].map(short);
        assert_eq!(found, ["999", "131K", "1M", "1M", "2.5M"]);
    }

    #[test]
    fn small_windows_are_refused() {
        let context = |tokens| ContextLength {
            tokens,
            source: Source::Server,
        };
        let text = refusal("m", context(32_000)).unwrap();
        for part in ["32,000", "64,000", "model.context_length"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(refusal("m", context(64_000)), None);
    }
}
