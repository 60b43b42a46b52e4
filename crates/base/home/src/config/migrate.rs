//! `config migrate`: bringing an older document up to date, key by key, comments kept.
//!
//! Only what a version moved or renamed is written, never a default.

use std::fs;

use serde_json::{Map, Value, json};

use super::document::Document;
use crate::{Env, Error, Home, Result, dotenv, yaml};

/// The version this program writes.
pub const CURRENT_VERSION: u64 = 23;

/// What a migration did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    pub from: u64,
    pub to: u64,
    /// One line for each change.
    pub changes: Vec<String>,
}

/// Runs every step the document hasn't seen. A document from a newer program is left alone.
pub fn migrate(home: &Home, env: &Env) -> Result<Migration> {
    let migration = Document::edit(home, |document| {
        let from = version(document);
        let mut steps = Steps {
            home,
            env,
            document,
            changes: Vec::new(),
        };
        steps.run(from)?;
        let changes = steps.changes;
        let to = from.max(CURRENT_VERSION);
        if from < to {
            document.set(&yaml::Path::parse("_config_version")?, &json!(to))?;
        }
        Ok(Migration { from, to, changes })
    })?;
    dotenv::edit(home, |file| Ok(file.repair()))?;
    Ok(migration)
}

/// The stored version; a document without one is the oldest.
pub fn version(document: &Document) -> u64 {
    yaml::Path::parse("_config_version")
        .ok()
        .and_then(|path| document.get(&path)?.as_u64())
        .unwrap_or(0)
}

/// The version a step leads to, and the step.
type Step<'a> = (u64, fn(&mut Steps<'a>) -> Result<()>);

struct Steps<'a> {
    home: &'a Home,
    env: &'a Env,
    document: &'a mut Document,
    changes: Vec<String>,
}

impl<'a> Steps<'a> {
    fn run(&mut self, from: u64) -> Result<()> {
        // 15 and 23 only wrote defaults, which ours never does.
        let steps: [Step<'a>; 9] = [
            (4, Self::tool_progress),
            (5, Self::timezone),
            (9, |steps| steps.forget("ANTHROPIC_TOKEN")),
            (12, Self::custom_providers),
            (13, |steps| {
                steps
                    .forget("LLM_MODEL")
                    .and_then(|()| steps.forget("OPENAI_MODEL"))
            }),
            (14, Self::speech_model),
            (16, Self::progress_overrides),
            (17, Self::summary_model),
            (21, Self::plugins),
        ];
        steps
            .into_iter()
            .filter(|(to, _)| from < *to)
            .try_for_each(|(_, step)| step(self))?;
        let curator_logs = self.home.logs_dir().join("curator");
        self.home
            .modes()
            .create_dir(&curator_logs)
            .map_err(Error::io("create", &curator_logs))
    }

    fn get(&self, key: &str) -> Option<Value> {
        self.document
            .get(&yaml::Path::parse(key).ok()?)
            .filter(|value| !value.is_null())
            .cloned()
    }

    fn set(&mut self, key: &str, value: &Value, why: &str) -> Result<()> {
        self.document.set(&yaml::Path::parse(key)?, value)?;
        self.changes.push(format!("{key}: {why}"));
        Ok(())
    }

    fn unset(&mut self, key: &str) -> Result<()> {
        self.document.unset(&yaml::Path::parse(key)?)
    }

    /// Moves a value unless the new place is taken; the old key goes either way.
    fn relocate(&mut self, old: &str, new: &str) -> Result<()> {
        let Some(value) = self.get(old) else {
            return Ok(());
        };
        if value != json!("") && self.get(new).is_none_or(|held| held == json!("")) {
            // Set first: a section emptied by the removal would lose its place in the file.
            self.set(new, &value, &format!("moved from {old}"))?;
        }
        self.unset(old)
    }

    fn forget(&mut self, name: &str) -> Result<()> {
        let changes = &mut self.changes;
        dotenv::edit(self.home, |file| {
            let removed = file.remove(name);
            if removed {
                changes.push(format!("{name} removed from .env: no longer used"));
            }
            Ok(removed)
        })
    }

    fn tool_progress(&mut self) -> Result<()> {
        let off = self
            .env
            .filled("HERMES_TOOL_PROGRESS")
            .is_some_and(|on| ["false", "0", "no"].contains(&on));
        let mode = if off {
            "off"
        } else {
            self.env
                .filled("HERMES_TOOL_PROGRESS_MODE")
                .unwrap_or("all")
        };
        if self.get("display.tool_progress").is_none() && ["off", "new"].contains(&mode) {
            self.set(
                "display.tool_progress",
                &json!(mode),
                "taken from the environment",
            )?;
        }
        Ok(())
    }

    fn timezone(&mut self) -> Result<()> {
        match self.env.filled("HERMES_TIMEZONE").map(Value::from) {
            Some(zone) if self.get("timezone").is_none() => {
                self.set("timezone", &zone, "taken from the environment")
            }
            _ => Ok(()),
        }
    }

    /// The list of custom providers became a map keyed by name.
    fn custom_providers(&mut self) -> Result<()> {
        let Some(Value::Array(old)) = self.get("custom_providers") else {
            return Ok(());
        };
        let mut providers = match self.get("providers") {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        for entry in old.iter().filter_map(Value::as_object) {
            if let Some((key, provider)) = provider(entry, &providers) {
                self.changes
                    .push(format!("providers.{key}: moved from custom_providers"));
                self.document
                    .set(&yaml::Path::parse(&format!("providers.{key}"))?, &provider)?;
                providers.insert(key, provider);
            }
        }
        self.unset("custom_providers")
    }

    fn speech_model(&mut self) -> Result<()> {
        let Some(Value::String(model)) = self.get("stt.model") else {
            return Ok(());
        };
        const WHISPER: &[&str] = &[
            "tiny", "base", "small", "medium", "large", "turbo", "distil",
        ];
        let local = WHISPER
            .iter()
            .any(|name| model.split(['-', '.']).next() == Some(name));
        let provider = self
            .get("stt.provider")
            .and_then(|p| p.as_str().map(str::to_owned))
            .filter(|p| !p.is_empty());
        let section = if local {
            "local".to_owned()
        } else {
            provider.unwrap_or_else(|| "openai".to_owned())
        };
        self.relocate("stt.model", &format!("stt.{section}.model"))
    }

    fn progress_overrides(&mut self) -> Result<()> {
        let Some(Value::Object(overrides)) = self.get("display.tool_progress_overrides") else {
            return Ok(());
        };
        for platform in overrides.keys() {
            let old = format!("display.tool_progress_overrides.{platform}");
            self.relocate(&old, &format!("display.platforms.{platform}.tool_progress"))?;
        }
        Ok(())
    }

    fn summary_model(&mut self) -> Result<()> {
        for name in ["model", "provider", "base_url"] {
            self.relocate(
                &format!("compression.summary_{name}"),
                &format!("auxiliary.compression.{name}"),
            )?;
        }
        Ok(())
    }

    /// Plugins became opt-in; those already installed stay on.
    fn plugins(&mut self) -> Result<()> {
        let disabled = self.get("plugins.disabled").unwrap_or_default();
        let is_disabled = |name: &str| {
            disabled
                .as_array()
                .is_some_and(|list| list.contains(&json!(name)))
        };
        let mut installed: Vec<String> = fs::read_dir(self.home.dir().join("plugins"))
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with(['.', '_']) && !is_disabled(name))
            .collect();
        installed.sort();
        if installed.is_empty() || self.get("plugins.enabled").is_some() {
            return Ok(());
        }
        self.set(
            "plugins.enabled",
            &json!(installed),
            "the plugins already installed",
        )
    }
}

/// One list entry as a map entry with a key of its own.
fn provider(entry: &Map<String, Value>, taken: &Map<String, Value>) -> Option<(String, Value)> {
    let text = |key: &str| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    let url = text("base_url")
        .or_else(|| text("url"))
        .or_else(|| text("api"))?;
    let name = text("name");
    let base = name
        .map(provider_key)
        .filter(|key| !key.is_empty())
        .unwrap_or_else(|| host_key(url));
    let key = (2..)
        .map(|n| format!("{base}-{n}"))
        .find(|key| !taken.contains_key(key));
    let key = if taken.contains_key(&base) {
        key?
    } else {
        base
    };
    let mut provider = Map::from_iter([("api".to_owned(), Value::from(url))]);
    let fields = [
        ("name", name),
        (
            "api_key",
            text("api_key").filter(|key| !["no-key", "none", "dummy"].contains(key)),
        ),
        (
            "default_model",
            text("model").or_else(|| text("default_model")),
        ),
        ("transport", text("api_mode").or_else(|| text("transport"))),
    ];
    provider.extend(
        fields
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?)))),
    );
    // What else the owner wrote there is not ours to drop.
    let handled = [
        "name",
        "base_url",
        "url",
        "api",
        "api_key",
        "model",
        "default_model",
        "api_mode",
        "transport",
    ];
    provider.extend(
        entry
            .iter()
            .filter(|(key, _)| !handled.contains(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone())),
    );
    Some((key, Value::Object(provider)))
}

fn provider_key(name: &str) -> String {
    let spaced = name
        .to_lowercase()
        .replace(['(', ')'], "")
        .replace([' ', '.'], "-");
    spaced
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

fn host_key(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', ':'])
        .next()
        .unwrap_or_default()
        .replace('.', "-")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::Resolved;

    fn check(
        config: &str,
        env_file: &str,
        vars: &[(&str, &str)],
        expected: &str,
        expected_env: &str,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut env = Env::from([("HERMES_HOME", dir.path().to_str().unwrap())]);
        vars.iter().for_each(|(name, value)| env.set(*name, *value));
        let home = Resolved::from(None, &env).unwrap().home(&env);
        fs::create_dir_all(dir.path().join("plugins/mine")).unwrap();
        fs::write(home.config_path(), config).unwrap();
        fs::write(home.env_path(), env_file).unwrap();
        for _ in 0..2 {
            migrate(&home, &env).unwrap();
            assert_eq!(
                fs::read_to_string(home.config_path()).unwrap(),
                expected,
                "{config}"
            );
            assert_eq!(fs::read_to_string(home.env_path()).unwrap(), expected_env);
        }
        assert!(home.logs_dir().join("curator").is_dir());
    }

    // spec: state §13.19
    #[test]
    fn custom_providers_become_a_map() {
        check(
            "# mine\n_config_version: 11\nplugins: {enabled: []}\ncustom_providers: [{name: \"My LLM (x)\", base_url: \"http://h:1/v1\", model: m}]\n",
            "",
            &[],
            "# mine\n_config_version: 23\nplugins: {enabled: []}\nproviders:\n  my-llm-x:\n    api: http://h:1/v1\n    name: My LLM (x)\n    default_model: m\n",
            "",
        );
    }

    #[test]
    fn each_step_moves_only_its_keys() {
        check(
            "compression: {summary_model: m, enabled: true} # c\nauxiliary: {compression: {model: \"\"}}\nstt:\n  model: base\ndisplay:\n  tool_progress_overrides:\n    slack: off\n",
            "A=1\nANTHROPIC_TOKEN=x\nLLM_MODEL=y\n",
            &[("HERMES_TIMEZONE", "Europe/Oslo")],
            "compression: {enabled: true} # c\nauxiliary: {compression: {model: m}}\nstt:\n  local:\n    model: base\ndisplay:\n  platforms:\n    slack:\n      tool_progress: false\ntimezone: Europe/Oslo\nplugins:\n  enabled:\n    - mine\n_config_version: 23\n",
            "A=1\n",
        );
    }

    #[test]
    fn a_newer_document_is_left_alone() {
        let newer = "_config_version: 33\ncustom_providers: [{name: a, base_url: u}]\n";
        check(newer, "", &[], newer, "");
    }

    #[test]
    fn keys_for_providers() {
        let check = |entry: Value, taken: Value, expected: Option<&str>| {
            let (entry, taken) = (
                entry.as_object().cloned().unwrap(),
                taken.as_object().cloned().unwrap(),
            );
            assert_eq!(
                provider(&entry, &taken).map(|(key, _)| key).as_deref(),
                expected
            );
        };
        check(
            json!({"name": "A  B--c", "base_url": "u"}),
            json!({}),
            Some("a-b-c"),
        );
        check(
            json!({"base_url": "https://api.x.io:1/v1"}),
            json!({}),
            Some("api-x-io"),
        );
        check(
            json!({"name": "a", "base_url": "u"}),
            json!({"a": 1, "a-2": 1}),
            Some("a-3"),
        );
        check(json!({"name": "a"}), json!({}), None);
    }
}
