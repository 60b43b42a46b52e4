//! `config set` and `config unset`: where a value belongs, and what its text means.

use serde_json::{Map, Value};

use super::defaults::{Kind, kind_of};
use super::document::Document;
use crate::{Error, Home, Result, dotenv, envvars, yaml};

/// Where a value went, for the message to the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// Into `.env`, under this name.
    EnvFile { name: String },
    Config {
        path: String,
        /// Whether Hermes knows such a key.
        known: bool,
        /// The secret itself went to `.env` under this name; the document holds a reference.
        secret: Option<String>,
        /// Repeated in `.env` for child processes under this name.
        mirrored: Option<String>,
    },
}

/// Stores a value under a dotted key or a variable name.
pub fn assign(home: &Home, key: &str, text: &str) -> Result<Assigned> {
    home.writable()?;
    if let Some(name) = env_name(key) {
        dotenv::save(home, &name, text)?;
        return Ok(Assigned::EnvFile { name });
    }
    let path = yaml::Path::parse(key)?;
    let kind = kind_of(&path);
    let secret = secret_name(&path).filter(|_| !text.contains("${") && !text.is_empty());
    let value = match &secret {
        Some(name) => Value::from(format!("${{{name}}}")),
        None => interpret(&path, kind, text)?,
    };
    Document::edit(home, |document| set(document, &path, &value))?;
    if let Some(name) = &secret {
        dotenv::save(home, name, text)?;
    }
    let mirrored = mirror_name(&path);
    if let Some(name) = &mirrored {
        dotenv::save(home, name, &plain(&value))?;
    }
    Ok(Assigned::Config {
        path: path.to_string(),
        known: kind.is_some(),
        secret,
        mirrored,
    })
}

/// Removes what [`assign`] stored.
pub fn unassign(home: &Home, key: &str) -> Result<Assigned> {
    home.writable()?;
    if let Some(name) = env_name(key) {
        remove_variable(home, &name, Missing::IsAnError)?;
        return Ok(Assigned::EnvFile { name });
    }
    let path = yaml::Path::parse(key)?;
    let old = Document::edit(home, |document| {
        let old = document.get(&path).cloned();
        document.unset(&path).map(|()| old)
    })?;
    let reference = |name: &String| old == Some(Value::from(format!("${{{name}}}")));
    let secret = secret_name(&path).filter(reference);
    let mirrored = mirror_name(&path);
    for name in [&secret, &mirrored].into_iter().flatten() {
        remove_variable(home, name, Missing::IsFine)?;
    }
    Ok(Assigned::Config {
        known: kind_of(&path).is_some(),
        path: path.to_string(),
        secret,
        mirrored,
    })
}

enum Missing {
    IsAnError,
    IsFine,
}

fn remove_variable(home: &Home, name: &str, missing: Missing) -> Result<()> {
    dotenv::edit(home, |file| match (file.remove(name), missing) {
        (false, Missing::IsAnError) => Err(Error::invalid(format!(
            "{name} is not set in {}",
            home.env_path().display()
        ))),
        (removed, _) => Ok(removed),
    })
}

fn env_name(key: &str) -> Option<String> {
    let name = key.to_uppercase();
    (!key.contains('.') && envvars::belongs_in_env_file(&name)).then_some(name)
}

/// The variable a secret-looking key is kept under.
fn secret_name(path: &yaml::Path) -> Option<String> {
    let last = path.segments().last()?;
    let secret = path.segments().len() > 1
        && ["api_key", "token", "secret", "password"]
            .iter()
            .any(|end| last == end || last.ends_with(&format!("_{end}")));
    secret.then(|| {
        let name = path.to_string().to_uppercase();
        name.chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect()
    })
}

/// Children of the Python program read these terminal settings from the environment.
fn mirror_name(path: &yaml::Path) -> Option<String> {
    const MIRRORED: &[&str] = &[
        "modal_mode",
        "docker_image",
        "singularity_image",
        "modal_image",
        "daytona_image",
        "vercel_runtime",
        "docker_mount_cwd_to_workspace",
        "docker_run_as_host_user",
        "docker_env",
        "timeout",
        "sandbox_dir",
        "persistent_shell",
        "container_cpu",
        "container_memory",
        "container_disk",
        "container_persistent",
    ];
    match path.segments() {
        [section, key] if section == "terminal" && key == "backend" => {
            Some("TERMINAL_ENV".to_owned())
        }
        [section, key] if section == "terminal" && MIRRORED.contains(&key.as_str()) => {
            Some(format!("TERMINAL_{}", key.to_uppercase()))
        }
        _ => None,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What the typed text means for this key: by its kind if it is known, else by its looks.
fn interpret(path: &yaml::Path, kind: Option<Kind>, text: &str) -> Result<Value> {
    let wrong = |kind: Kind| {
        Err(Error::invalid(format!(
            "'{path}' expects {}, not '{text}'",
            kind.name()
        )))
    };
    match kind {
        // `model` takes a bare name; the document decides where that goes.
        Some(Kind::Section) if path.to_string() == "model" => Ok(Value::from(text)),
        Some(kind @ Kind::Bool) => boolean(text).map_or_else(|| wrong(kind), |on| Ok(on.into())),
        Some(kind @ Kind::Integer) => text
            .parse::<i64>()
            .map_or_else(|_| wrong(kind), |n| Ok(n.into())),
        Some(kind @ Kind::Float) => text
            .parse::<f64>()
            .ok()
            .filter(|n| n.is_finite())
            .map_or_else(|| wrong(kind), |n| Ok(n.into())),
        Some(Kind::Text) => Ok(Value::from(text)),
        Some(Kind::List) => Ok(match collection(text) {
            Some(list @ Value::Array(_)) => list,
            _ => text
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(Value::from)
                .collect(),
        }),
        Some(kind @ (Kind::Section | Kind::FreeSection)) => match collection(text) {
            Some(map @ Value::Object(_)) => Ok(map),
            _ => Err(Error::invalid(format!(
                "'{path}' is {}; set {path}.<key> instead",
                kind.name()
            ))),
        },
        Some(Kind::Any) | None => Ok(by_looks(text)),
    }
}

fn by_looks(text: &str) -> Value {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = || {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let number = digits(whole) && digits(fraction);
        number.then(|| {
            if text.contains('.') {
                text.parse::<f64>().ok().map(Value::from)
            } else {
                text.parse::<i64>().ok().map(Value::from)
            }
        })?
    };
    boolean(text)
        .map(Value::from)
        .or_else(number)
        .or_else(|| collection(text))
        .unwrap_or_else(|| Value::from(text))
}

fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// `[a, b]` and `{k: v}` as people type them.
fn collection(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    yaml::read(text)
        .ok()
        .filter(|value| value.is_array() || value.is_object())
}

/// The `model` key is a name or a section; setting one must not lose the other.
fn set(document: &mut Document, path: &yaml::Path, value: &Value) -> Result<()> {
    let model = yaml::Path::parse("model")?;
    let held = document.get(&model).cloned();
    match (path.segments(), held) {
        ([only], Some(Value::Object(_))) if only == "model" && value.is_string() => {
            document.set(&yaml::Path::parse("model.default")?, value)
        }
        ([first, ..], Some(Value::String(name)))
            if first == "model" && path.segments().len() > 1 =>
        {
            document.set(
                &model,
                &Value::Object(Map::from_iter([("default".to_owned(), Value::from(name))])),
            )?;
            document.set(path, value)
        }
        _ => document.set(path, value),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::{Env, Resolved};

    struct Case {
        _dir: tempfile::TempDir,
        home: Home,
    }

    fn home_with(config: &str) -> Case {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([("HERMES_HOME", dir.path().to_str().unwrap())]);
        let home = Resolved::from(None, &env).unwrap().home(&env);
        fs::write(home.config_path(), config).unwrap();
        Case { _dir: dir, home }
    }

    impl Case {
        fn config(&self) -> String {
            fs::read_to_string(self.home.config_path()).unwrap()
        }
        fn env(&self) -> String {
            fs::read_to_string(self.home.env_path()).unwrap_or_default()
        }
    }

    fn check(config: &str, key: &str, text: &str, expected_config: &str, expected_env: &str) {
        let case = home_with(config);
        assign(&case.home, key, text).unwrap();
        assert_eq!(
            (case.config().as_str(), case.env().as_str()),
            (expected_config, expected_env),
            "{key} {text}"
        );
    }

    #[test]
    fn values_go_where_they_belong() {
        check("", "agent.max_turns", "5", "agent:\n  max_turns: 5\n", "");
        check(
            "",
            "openrouter_api_key",
            "sk-1",
            "",
            "OPENROUTER_API_KEY=sk-1\n",
        );
        check(
            "",
            "providers.mine.api_key",
            "s3cret",
            "providers:\n  mine:\n    api_key: ${PROVIDERS_MINE_API_KEY}\n",
            "PROVIDERS_MINE_API_KEY=s3cret\n",
        );
        check(
            "",
            "model.api_key",
            "${OTHER}",
            "model:\n  api_key: ${OTHER}\n",
            "",
        );
        check(
            "",
            "terminal.backend",
            "docker",
            "terminal:\n  backend: docker\n",
            "TERMINAL_ENV=docker\n",
        );
        check("", "terminal.cwd", "/srv", "terminal:\n  cwd: /srv\n", "");
        check(
            "model: a/b # main\n",
            "model.provider",
            "x",
            "model:\n  default: a/b # main\n  provider: x\n",
            "",
        );
        check(
            "model:\n  default: a\n",
            "model",
            "b",
            "model:\n  default: b\n",
            "",
        );
        check("", "model", "a/b", "model: a/b\n", "");
    }

    #[test]
    fn the_meaning_of_a_text_follows_the_key() {
        let check = |key: &str, text: &str, expected: Value| {
            let path = yaml::Path::parse(key).unwrap();
            assert_eq!(
                interpret(&path, kind_of(&path), text).unwrap(),
                expected,
                "{key}={text}"
            );
        };
        check("display.compact", "yes", json!(true));
        check("approvals.mode", "off", json!("off"));
        check("display.skin", "1.50", json!("1.50"));
        check("compression.threshold", "1", json!(1.0));
        check("toolsets", "a, b", json!(["a", "b"]));
        check("toolsets", "[a, 1]", json!(["a", 1]));
        check("hooks", "{x: 1}", json!({"x": 1}));
        for (text, expected) in [
            ("off", json!(false)),
            ("12", json!(12)),
            ("1.5", json!(1.5)),
            ("1.", json!("1.")),
            ("-3", json!("-3")),
            ("[x]", json!(["x"])),
            ("[broken", json!("[broken")),
            ("a b", json!("a b")),
        ] {
            check("x_unknown", text, expected);
        }
    }

    #[test]
    fn a_value_that_cannot_be_right_is_refused_and_nothing_is_written() {
        let check = |key: &str, text: &str, part: &str| {
            let case = home_with("a: 1\n");
            let error = assign(&case.home, key, text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert_eq!(
                (case.config().as_str(), case.env().as_str()),
                ("a: 1\n", "")
            );
        };
        check("agent.max_turns", "many", "expects a whole number");
        check("display.compact", "maybe", "expects true or false");
        check("agent", "5", "set agent.<key> instead");
        check("a.b", "5", "single value");
    }

    #[test]
    fn unset_takes_back_what_set_stored() {
        let case = home_with("# top\n");
        for (key, value) in [
            ("providers.m.api_key", "k"),
            ("terminal.timeout", "9"),
            ("FOO_API_KEY", "x"),
        ] {
            assign(&case.home, key, value).unwrap();
        }
        for key in ["providers.m.api_key", "terminal.timeout", "foo_api_key"] {
            unassign(&case.home, key).unwrap();
        }
        assert_eq!(
            (case.config().as_str(), case.env().as_str()),
            ("# top\n", "")
        );
        assert!(unassign(&case.home, "FOO_API_KEY").is_err());
        assert!(unassign(&case.home, "agent.max_turns").is_err());
    }
}
