//! How large a model's window is: what the owner says, what was learned before, what the server says, what its
//! name suggests.

use std::path::{Path, PathBuf};

use hermes_home::config::Settings;
use hermes_home::{Modes, replace_file, yaml};
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

    /// A place that offers less, or more, than a model's name suggests.
    pub(crate) fn place(&mut self, mode: Mode, model: &str) {
        let is_bedrock = matches!(mode, Mode::BedrockConverse | Mode::BedrockAnthropic);
        if is_bedrock && !self.is_certain() {
            self.tokens = limits::bedrock_context(model);
            self.source = Source::Family;
        }
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

/// The best answer without a network.
pub(crate) fn offline(
    home: &Path,
    model: &str,
    base_url: &str,
    configured: Option<u64>,
) -> ContextLength {
    let found = |tokens: Option<u64>, source| tokens.map(|tokens| ContextLength { tokens, source });
    found(configured, Source::Settings)
        .or_else(|| found(learned(home, model, base_url), Source::Learned))
        .or_else(|| found(limits::known_context(model), Source::Family))
        .unwrap_or(ContextLength {
            tokens: limits::DEFAULT_CONTEXT,
            source: Source::Guess,
        })
}

fn cache_path(home: &Path) -> PathBuf {
    home.join("context_length_cache.yaml")
}

fn read_cache(home: &Path) -> Map<String, Value> {
    let text = std::fs::read_to_string(cache_path(home)).unwrap_or_default();
    let mut cache = yaml::read(&text).unwrap_or_default();
    match cache["context_lengths"].take() {
        Value::Object(entries) => entries,
        _ => Map::new(),
    }
}

fn learned(home: &Path, model: &str, base_url: &str) -> Option<u64> {
    let tokens = read_cache(home)
        .get(&entry_name(model, base_url))?
        .as_u64()?;
    // An old mistake of the Python program's, still in many caches.
    let is_wrong = model.contains("kimi") && tokens <= 32_768;
    (!is_wrong && tokens > 0).then_some(tokens)
}

fn entry_name(model: &str, base_url: &str) -> String {
    format!("{model}@{}", base_url.trim_end_matches('/'))
}

/// Keeps a window that a server's error message told and a success confirmed.
pub fn remember(
    home: &Path,
    modes: &Modes,
    info: &hermes_types::ModelInfo,
    tokens: u64,
) -> hermes_home::Result<()> {
    let mut entries = read_cache(home);
    entries.insert(entry_name(&info.model, &info.base_url), tokens.into());
    let text = yaml::write(&json!({"context_lengths": entries}));
    replace_file(&cache_path(home), text, modes)
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
        let modes = Modes {
            dir: 0o700,
            secret: Some(0o600),
        };
        let info = |base_url: &str| hermes_types::ModelInfo {
            provider: "custom".to_owned(),
            model: "mock-1".to_owned(),
            base_url: base_url.to_owned(),
            context_length: 1,
        };
        remember(dir.path(), &modes, &info("http://a/v1"), 70_000).unwrap();
        remember(dir.path(), &modes, &info("http://b/v1/"), 8_000).unwrap();
        let look = |url, configured| offline(dir.path(), "mock-1", url, configured);
        let found = |tokens, source| ContextLength { tokens, source };
        assert_eq!(look("http://a/v1", None), found(70_000, Source::Learned));
        assert_eq!(look("http://b/v1", None), found(8_000, Source::Learned));
        assert_eq!(look("http://b/v1", Some(5)), found(5, Source::Settings));
        assert_eq!(look("http://c/v1", None), found(256_000, Source::Guess));
        let text = std::fs::read_to_string(cache_path(dir.path())).unwrap();
        assert!(text.contains("mock-1@http://a/v1: 70000"), "{text}");
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
