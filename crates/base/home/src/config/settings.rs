//! The settings in force: defaults, the owner's document, `${VAR}` references; read only.

use serde_json::{Map, Value};

use super::defaults::{Kind, defaults};
use super::document::Document;
use crate::{Env, Error, Home, yaml};

/// Immutable once loaded; a reload makes a new one.
#[derive(Clone, Debug)]
pub struct Settings {
    effective: Value,
    warnings: Vec<String>,
    /// Why the owner's file was ignored, if it was.
    broken: Option<String>,
}

impl Settings {
    /// Never fails: what cannot be used is said in the warnings, and the default holds.
    pub fn load(home: &Home, env: &Env) -> Self {
        if env.is_on("HERMES_IGNORE_USER_CONFIG") {
            return Self::from_value(Value::Null, env);
        }
        match Document::load(&home.config_path()) {
            Ok(document) => Self::from_document(&document, env),
            Err(error) => Self::ignoring(&error),
        }
    }

    pub fn from_document(document: &Document, env: &Env) -> Self {
        match document.value() {
            Ok(value) => Self::from_value(value.clone(), env),
            Err(error) => Self::ignoring(&error),
        }
    }

    fn ignoring(error: &Error) -> Self {
        let broken = format!("{error}. All settings in that file are ignored until it is mended");
        Self {
            effective: defaults().clone(),
            warnings: vec![broken.clone()],
            broken: Some(broken),
        }
    }

    fn from_value(mut user: Value, env: &Env) -> Self {
        let mut warnings = Vec::new();
        normalise(&mut user);
        expand(&mut user, env);
        let mut effective = overlay(defaults(), user, "", &mut warnings);
        drop_negative_limits(&mut effective, &mut warnings);
        Self {
            effective,
            warnings,
            broken: None,
        }
    }

    /// What the owner should be told, once.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub fn value(&self) -> &Value {
        &self.effective
    }

    /// The value in force at a dotted key, for example `agent.max_turns`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        yaml::Path::parse(key).ok()?.get(&self.effective)
    }

    /// The text at `key`; empty if there is none.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn is_on(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The number at `key`; zero if there is none.
    pub fn number(&self, key: &str) -> f64 {
        self.get(key).and_then(Value::as_f64).unwrap_or_default()
    }
}

/// Brings older ways of writing things into today's shape.
fn normalise(user: &mut Value) {
    let Value::Object(root) = user else { return };
    if let Some(Value::String(name)) = root.get("model").cloned() {
        root.insert(
            "model".to_owned(),
            Value::Object(Map::from_iter([("default".to_owned(), Value::from(name))])),
        );
    }
    for key in ["provider", "base_url", "context_length"] {
        adopt(root, key, "model", key);
    }
    adopt(root, "max_turns", "agent", "max_turns");
    rename(root.get_mut("model"), "model", "default");
    if let Some(limit) = root
        .get_mut("limits")
        .and_then(|limits| limits.get_mut("max_cost_usd"))
        && let Some(amount) = coerce(Kind::Float, limit)
    {
        *limit = Value::Object(Map::from_iter([("session".to_owned(), amount)]));
    }
    rename(root.get_mut("terminal"), "env_type", "backend");
}

/// Moves a root key into a section unless the section has its own.
fn adopt(root: &mut Map<String, Value>, key: &str, section: &str, name: &str) {
    let Some(value) = root.shift_remove(key) else {
        return;
    };
    let section = root
        .entry(section.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    if section.is_null() {
        *section = Value::Object(Map::new());
    }
    if let Value::Object(section) = section {
        section.entry(name.to_owned()).or_insert(value);
    }
}

fn rename(section: Option<&mut Value>, old: &str, new: &str) {
    if let Some(Value::Object(section)) = section
        && let Some(value) = section.shift_remove(old)
    {
        section.entry(new.to_owned()).or_insert(value);
    }
}

/// Less than nothing cannot be meant as a limit; better none, said aloud, than one that stops everything.
fn drop_negative_limits(effective: &mut Value, warnings: &mut Vec<String>) {
    let limits = effective
        .pointer_mut("/limits/max_cost_usd")
        .and_then(Value::as_object_mut);
    for (name, limit) in limits.into_iter().flatten() {
        if limit.as_f64().is_some_and(|amount| amount < 0.0) {
            warnings.push(format!(
                "config key 'limits.max_cost_usd.{name}' expects dollars, not {limit}; there is no such limit now"
            ));
            *limit = 0.0.into();
        }
    }
}

/// Fills in `${NAME}` in every text; an unset name stays as written.
fn expand(value: &mut Value, env: &Env) {
    match value {
        Value::String(text) if text.contains("${") => *text = expand_text(text, env),
        Value::Array(items) => items.iter_mut().for_each(|item| expand(item, env)),
        Value::Object(map) => map.values_mut().for_each(|value| expand(value, env)),
        _ => {}
    }
}

fn expand_text(text: &str, env: &Env) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match env.get(name) {
            Some(value) => out.push_str(value),
            None => out.extend(["${", name, "}"]),
        }
        rest = tail;
    }
    out + rest
}

/// The owner's value over the default: sections merge, everything else replaces. A value of the wrong
/// kind is put right if its meaning is clear, else the default holds and a warning says so.
fn overlay(default: &Value, user: Value, path: &str, warnings: &mut Vec<String>) -> Value {
    let kind = Kind::of_default(default);
    match (kind, user) {
        (Kind::Any, user) => user,
        // `key:` with nothing behind it means "not set".
        (_, Value::Null) => default.clone(),
        (Kind::Section, Value::Object(user)) => {
            let mut merged = default.as_object().cloned().unwrap_or_default();
            for (key, value) in user {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let value = match merged.get(&key) {
                    Some(default) => overlay(default, value, &path, warnings),
                    None => value,
                };
                merged.insert(key, value);
            }
            Value::Object(merged)
        }
        (Kind::FreeSection, user @ Value::Object(_)) | (Kind::List, user @ Value::Array(_)) => user,
        (kind, user) => coerce(kind, &user).unwrap_or_else(|| {
            warnings.push(format!(
                "config key '{path}' expects {}, not {}; using {default}",
                kind.name(),
                brief(&user)
            ));
            default.clone()
        }),
    }
}

/// `"5"` is five and a bare `off` is the text "off" where a text is wanted: YAML 1.1 made it a boolean.
fn coerce(kind: Kind, user: &Value) -> Option<Value> {
    match (kind, user) {
        (Kind::Bool, Value::Bool(_)) | (Kind::Text, Value::String(_)) => Some(user.clone()),
        (Kind::Integer | Kind::Float, Value::Number(_)) => Some(user.clone()),
        (Kind::Bool, Value::Number(number)) => match number.as_i64() {
            Some(0) => Some(false.into()),
            Some(1) => Some(true.into()),
            _ => None,
        },
        (Kind::Bool, Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true.into()),
            "false" | "no" | "off" | "0" => Some(false.into()),
            _ => None,
        },
        (Kind::Integer, Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        (Kind::Float, Value::String(text)) => text.trim().parse::<f64>().ok().map(Value::from),
        (Kind::Text, Value::Bool(on)) => Some(if *on { "on" } else { "off" }.into()),
        (Kind::Text, Value::Number(number)) => Some(number.to_string().into()),
        (Kind::List, Value::String(text)) => Some(
            text.split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(Value::from)
                .collect(),
        ),
        _ => None,
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a section".to_owned(),
        // Not shown: a misplaced secret would end up on the screen and in the log.
        Value::String(_) => "this text".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn settings(text: &str) -> Settings {
        let env = Env::from([("FOO", "bar"), ("EMPTY", "")]);
        Settings::from_document(
            &Document::parse(Path::new("/h/config.yaml"), text.to_owned()),
            &env,
        )
    }

    fn check(text: &str, key: &str, expected: Value) {
        assert_eq!(
            settings(text).get(key),
            Some(&expected),
            "{key} of {text:?}"
        );
    }

    // spec: state §13.17
    #[test]
    fn the_document_is_laid_over_the_defaults() {
        check("", "agent.max_turns", json!(90));
        check("agent: {max_turns: 5}", "agent.max_turns", json!(5));
        check("agent: {max_turns: 5}", "agent.api_max_retries", json!(3));
        check("toolsets: [a]", "toolsets", json!(["a"]));
        check("x_unknown: {k: 1}", "x_unknown.k", json!(1));
        check("agent:", "agent.max_turns", json!(90));
        check("display: {compact: true}", "display.streaming", json!(null));
    }

    #[test]
    fn older_shapes_are_understood() {
        check("model: a/b", "model.default", json!("a/b"));
        check("model: a/b", "model.provider", json!("auto"));
        check("model: {model: a/b}", "model.default", json!("a/b"));
        check(
            "provider: x\nbase_url: http://h",
            "model.provider",
            json!("x"),
        );
        check(
            "model: {provider: y}\nprovider: x",
            "model.provider",
            json!("y"),
        );
        check("max_turns: 7", "agent.max_turns", json!(7));
        check(
            "max_turns: 7\nagent: {max_turns: 8}",
            "agent.max_turns",
            json!(8),
        );
        check(
            "terminal: {env_type: docker}",
            "terminal.backend",
            json!("docker"),
        );
    }

    #[test]
    fn references_are_filled_in_for_reading_only() {
        check("timezone: a ${FOO} b", "timezone", json!("a bar b"));
        check(
            "toolsets: ['${FOO}', '$FOO', '${UNSET}', '${EMPTY}', '${open']",
            "toolsets",
            json!(["bar", "$FOO", "${UNSET}", "", "${open"]),
        );
        check(
            "quick_commands: {\"${FOO}\": 1}",
            "quick_commands",
            json!({"${FOO}": 1}),
        );
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_put_right_or_warned_about() {
        check("agent: {max_turns: '5'}", "agent.max_turns", json!(5));
        check("approvals: {mode: off}", "approvals.mode", json!("off"));
        check("display: {compact: 'yes'}", "display.compact", json!(true));
        check("toolsets: a, b", "toolsets", json!(["a", "b"]));
        let odd = settings("agent: {max_turns: [1]}\ndisplay: 5\nmodel: {default: x}\n");
        assert_eq!(odd.get("agent.max_turns"), Some(&json!(90)));
        assert_eq!(odd.text("model.default"), "x");
        assert_eq!(odd.warnings().len(), 2, "{:?}", odd.warnings());
        assert!(odd.warnings()[0].contains("'agent.max_turns' expects a whole number"));
    }

    #[test]
    fn limits_in_dollars() {
        let key = "limits.max_cost_usd";
        check("", "limits.max_cost_usd.day", json!(0.0));
        check(
            "limits: {max_cost_usd: 5}",
            key,
            json!({"turn": 0.0, "session": 5, "day": 0.0}),
        );
        check(
            "limits: {max_cost_usd: '2.5'}",
            "limits.max_cost_usd.session",
            json!(2.5),
        );
        check(
            "limits: {max_cost_usd: {day: 3}}",
            "limits.max_cost_usd.day",
            json!(3),
        );
        let warned = |text: &str| {
            let odd = settings(text);
            let none = json!({"turn": 0.0, "session": 0.0, "day": 0.0});
            assert_eq!(odd.get(key), Some(&none), "{text}");
            assert_eq!(odd.warnings().len(), 1, "{:?}", odd.warnings());
            assert!(odd.warnings()[0].contains(key), "{:?}", odd.warnings());
        };
        warned("limits: {max_cost_usd: -1}");
        warned("limits: {max_cost_usd: {day: -0.5}}");
        warned("limits: {max_cost_usd: {turn: plenty}}");
        warned("limits: {max_cost_usd: plenty}");
        warned("limits: {max_cost_usd: [1]}");
    }

    #[test]
    fn a_broken_file_leaves_the_defaults_and_one_warning() {
        let broken = settings("a: 1\n: : bad\n");
        assert_eq!(broken.get("agent.max_turns"), Some(&json!(90)));
        assert_eq!(broken.warnings().len(), 1);
        assert!(
            broken.warnings()[0].starts_with("/h/config.yaml:2:"),
            "{:?}",
            broken.warnings()
        );
        assert!(settings("[a, b]").broken().is_some());
    }
}
