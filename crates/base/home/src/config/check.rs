//! What is structurally wrong with a document that parses: advice, never a reason to stop.

use serde_json::Value;

use super::defaults::{Kind, defaults};
use super::document::Document;
use crate::dotenv::DotEnv;

/// Something in the document that will not do what the owner meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub text: String,
    pub fix: String,
}

impl Problem {
    fn new(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            fix: fix.into(),
        }
    }
}

/// Looks at shapes only; unknown keys are [`unknown_keys`].
pub fn problems(document: &Document, env_file: &DotEnv) -> Vec<Problem> {
    let empty = Value::Null;
    let root = document.value().unwrap_or(&empty);
    let mut found = Vec::new();
    custom_providers(root, &mut found);
    fallback_model(root, &mut found);
    misplaced_keys(root, &mut found);
    for name in ["MESSAGING_CWD", "TERMINAL_CWD"] {
        if env_file.get(name).is_some() {
            found.push(Problem::new(
                format!("{name} in .env is deprecated"),
                format!(
                    "run `hermes config set terminal.cwd DIR` and `hermes config unset {name}`"
                ),
            ));
        }
    }
    for key in unknown_keys(root) {
        found.push(Problem::new(
            format!("unknown key '{key}'"),
            format!("kept as it is; check the spelling or run `hermes config unset {key}`"),
        ));
    }
    found
}

fn custom_providers(root: &Value, found: &mut Vec<Problem>) {
    let entries = match root.get("custom_providers") {
        None | Some(Value::Null) => return,
        Some(Value::Array(entries)) => entries,
        Some(_) => {
            found.push(Problem::new(
                "custom_providers is not a list",
                "write it as a list of entries, each with name and base_url, or move it to `providers`",
            ));
            return;
        }
    };
    for (index, entry) in entries.iter().enumerate() {
        if !entry.is_object() {
            found.push(Problem::new(
                format!("custom_providers.{index} is not a section"),
                "give it name and base_url",
            ));
            continue;
        }
        for key in ["name", "base_url"] {
            if text(entry, key).is_empty() {
                found.push(Problem::new(
                    format!("custom_providers.{index} has no {key}"),
                    format!("add {key}"),
                ));
            }
        }
        if entry.get("fallback_model").is_some() {
            found.push(Problem::new(
                format!("fallback_model stands inside custom_providers.{index}"),
                "move it to the top level of config.yaml",
            ));
        }
    }
    let named = root.get("model").is_some_and(|model| !model.is_null());
    if !entries.is_empty() && !named {
        found.push(Problem::new(
            "custom_providers is set but no model is chosen",
            "run `hermes config set model NAME`",
        ));
    }
}

fn fallback_model(root: &Value, found: &mut Vec<Problem>) {
    let entries: Vec<&Value> = match root.get("fallback_model") {
        None | Some(Value::Null) => return,
        Some(Value::Array(entries)) => entries.iter().collect(),
        Some(one) => vec![one],
    };
    for entry in entries {
        if !entry.is_object() {
            found.push(Problem::new(
                "fallback_model is not a section",
                "give it provider and model",
            ));
            continue;
        }
        for key in ["provider", "model"] {
            if text(entry, key).is_empty() {
                found.push(Problem::new(
                    format!("fallback_model has no {key}"),
                    format!("set fallback_model.{key}"),
                ));
            }
        }
    }
}

fn misplaced_keys(root: &Value, found: &mut Vec<Problem>) {
    for key in ["base_url", "api_key", "rate_limit_delay", "api_mode"] {
        if root.get(key).is_some() {
            found.push(Problem::new(
                format!("'{key}' stands at the top level"),
                format!("move it to model.{key} or into an entry of `providers`"),
            ));
        }
    }
}

/// Dotted names of keys Hermes has no use for.
pub fn unknown_keys(root: &Value) -> Vec<String> {
    // Legacy and misplaced root keys have their own handling.
    const HANDLED: &[&str] = &[
        "max_turns",
        "provider",
        "base_url",
        "context_length",
        "api_key",
        "rate_limit_delay",
        "api_mode",
    ];
    let mut unknown = Vec::new();
    collect_unknown(defaults(), root, "", &mut unknown);
    unknown.retain(|key| {
        !HANDLED.contains(&key.as_str()) && !matches!(key.as_str(), "model.model" | "stt.model")
    });
    unknown
}

fn collect_unknown(default: &Value, user: &Value, path: &str, unknown: &mut Vec<String>) {
    let (Kind::Section, Value::Object(user)) = (Kind::of_default(default), user) else {
        return;
    };
    for (key, value) in user {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        match default.get(key) {
            Some(default) => collect_unknown(default, value, &path, unknown),
            None => unknown.push(path),
        }
    }
}

fn text<'v>(entry: &'v Value, key: &str) -> &'v str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn shapes_that_will_not_work_are_named() {
        let check = |config: &str, env: &str, expected: &[&str]| {
            let document = Document::parse(Path::new("c"), config.to_owned());
            let found: Vec<_> = problems(&document, &DotEnv::parse(env))
                .into_iter()
                .map(|p| p.text)
                .collect();
            assert_eq!(found, expected, "{config}");
        };
        check("model: x\nagent: {max_turns: 3}\n", "", &[]);
        check(
            "custom_providers: {a: 1}",
            "",
            &["custom_providers is not a list"],
        );
        check(
            "model: m\ncustom_providers: [x, {name: n}]",
            "",
            &[
                "custom_providers.0 is not a section",
                "custom_providers.1 has no base_url",
            ],
        );
        check(
            "custom_providers: [{name: n, base_url: u, fallback_model: {}}]",
            "",
            &[
                "fallback_model stands inside custom_providers.0",
                "custom_providers is set but no model is chosen",
            ],
        );
        check(
            "fallback_model: x",
            "",
            &["fallback_model is not a section"],
        );
        check(
            "fallback_model: {provider: p}",
            "",
            &["fallback_model has no model"],
        );
        check("api_key: x", "", &["'api_key' stands at the top level"]);
        check(
            "",
            "TERMINAL_CWD=/x",
            &["TERMINAL_CWD in .env is deprecated"],
        );
        check(
            "agnet: 1\ndisplay: {skinn: x}\nhooks: {mine: 1}",
            "",
            &["unknown key 'agnet'", "unknown key 'display.skinn'"],
        );
    }
}
