//! What a skill needs from outside: variables, files with credentials, settings of its own.

use std::path::{Component, Path};

use serde_json::{Map, Value};

use super::{Document, text};

/// A variable a skill wants to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub prompt: Option<String>,
    /// Where to get a value.
    pub help: Option<String>,
    pub required_for: Option<String>,
    pub optional: bool,
}

/// A setting of a skill, kept under `skills.config`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigKey {
    pub key: String,
    pub description: String,
    pub default: Value,
}

impl Document {
    /// The variables it asks for, each once, whichever of the three ways it uses.
    pub fn variables(&self) -> Vec<Variable> {
        let mut all: Vec<Variable> = Vec::new();
        let setup = self.front.get("setup");
        let listed = [
            self.front.get("required_environment_variables"),
            setup.and_then(|setup| setup.get("collect_secrets")),
            self.front
                .get("prerequisites")
                .and_then(|old| old.get("env_vars")),
        ];
        for entry in listed.into_iter().flatten().flat_map(items) {
            if let Some(variable) = variable(entry)
                && all.iter().all(|known| known.name != variable.name)
            {
                all.push(variable);
            }
        }
        all
    }

    /// Files with credentials, relative to the home. Those that lead elsewhere are left out and named.
    pub fn credential_files(&self) -> (Vec<String>, Vec<String>) {
        let listed = self.front.get("required_credential_files");
        let path = |entry: &Value| {
            let named = ["path", "file", "name"]
                .iter()
                .find_map(|key| entry.get(key));
            text(named.unwrap_or(entry)).filter(|path| !path.is_empty())
        };
        let paths = listed.into_iter().flat_map(items).filter_map(path);
        paths.partition(|path| is_inside(path))
    }

    /// What the author says about setting it up.
    pub fn setup_help(&self) -> Option<String> {
        self.front.get("setup")?.get("help").and_then(text)
    }

    pub fn config_keys(&self) -> Vec<ConfigKey> {
        let listed = self.hermes("config").into_iter().flat_map(items);
        let key = |entry: &Value| {
            Some(ConfigKey {
                key: text(entry.get("key")?)?,
                description: entry.get("description").and_then(text).unwrap_or_default(),
                default: entry.get("default").cloned().unwrap_or(Value::Null),
            })
        };
        listed
            .filter_map(key)
            .filter(|entry| !entry.key.is_empty())
            .collect()
    }
}

/// The entries of a list; a single one is a list of one.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

fn variable(entry: &Value) -> Option<Variable> {
    let empty = Map::new();
    let map = entry.as_object().unwrap_or(&empty);
    let part = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| map.get(*key)).and_then(text);
        found.filter(|text| !text.is_empty())
    };
    let name = if entry.is_object() {
        part(&["name", "env_var"])?
    } else {
        text(entry)?
    };
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| Variable {
        name,
        prompt: part(&["prompt"]),
        help: part(&["help", "provider_url", "url"]),
        required_for: part(&["required_for"]),
        optional: map
            .get("optional")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
    })
}

/// Whether a path stays below the directory it is joined to.
pub(crate) fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    let mut parts = path.components();
    path.components().next().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn variables_from_everywhere_each_once() {
        let document = Document::parse(
            "---\nrequired_environment_variables:\n  - A_KEY\n  - {env_var: B_KEY, prompt: Your B, url: https://b, optional: true}\n  - 'not a name'\n\
             setup:\n  help: see docs\n  collect_secrets: [{env_var: C_KEY}]\nprerequisites:\n  env_vars: [A_KEY]\n---\n",
        );
        let names: Vec<String> = document.variables().into_iter().map(|v| v.name).collect();
        assert_eq!(names, ["A_KEY", "B_KEY", "C_KEY"]);
        let b = &document.variables()[1];
        assert_eq!(
            (b.prompt.as_deref(), b.help.as_deref()),
            (Some("Your B"), Some("https://b"))
        );
        assert!(b.optional);
        assert_eq!(document.setup_help().as_deref(), Some("see docs"));
    }

    #[test]
    fn files_outside_the_home_are_not_for_skills() {
        let document = Document::parse(
            "---\nrequired_credential_files: [google.json, {path: keys/a.json}, ../../.ssh/id_rsa, /etc/shadow]\n---\n",
        );
        let (files, refused) = document.credential_files();
        assert_eq!(files, ["google.json", "keys/a.json"]);
        assert_eq!(refused, ["../../.ssh/id_rsa", "/etc/shadow"]);
    }
}
