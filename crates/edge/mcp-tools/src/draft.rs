//! A server somebody wants to have: what is written about it into `config.yaml`, and what into `.env`.

use serde_json::{Map, Value, json};

/// What was said about the new server.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub name: String,
    pub place: Place,
    /// Seconds.
    pub connect_timeout: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    Url {
        url: String,
        login: Login,
    },
    Program {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
}

/// How the server lets us in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    Open,
    OAuth,
    /// With this key; `None` leaves the one that is stored.
    Key(Option<String>),
}

/// The two halves: the entry refers to the variables by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub entry: Value,
    /// For `.env`.
    pub variables: Vec<(String, String)>,
}

impl Draft {
    pub fn written(&self) -> Written {
        let mut entry = Map::new();
        let mut variables = Vec::new();
        match &self.place {
            Place::Url { url, login } => {
                entry.insert("url".to_owned(), url.as_str().into());
                self.let_in(login, &mut entry, &mut variables);
            }
            Place::Program { command, args, env } => {
                entry.insert("command".to_owned(), command.as_str().into());
                if !args.is_empty() {
                    entry.insert("args".to_owned(), json!(args));
                }
                if !env.is_empty() {
                    let env = env.iter().map(|pair| self.kept(pair, &mut variables));
                    entry.insert("env".to_owned(), Value::Object(env.collect()));
                }
            }
        }
        if let Some(seconds) = self.connect_timeout {
            entry.insert("connect_timeout".to_owned(), whole_if_possible(seconds));
        }
        Written {
            entry: Value::Object(entry),
            variables,
        }
    }

    fn let_in(
        &self,
        login: &Login,
        entry: &mut Map<String, Value>,
        variables: &mut Vec<(String, String)>,
    ) {
        match login {
            Login::Open => {}
            Login::OAuth => drop(entry.insert("auth".to_owned(), "oauth".into())),
            Login::Key(key) => {
                let name = key_variable(&self.name);
                let value = format!("Bearer ${{{name}}}");
                entry.insert("headers".to_owned(), json!({"Authorization": value}));
                variables.extend(key.clone().map(|key| (name, key)));
            }
        }
    }

    /// One variable of a program: what is named like a secret is kept where secrets are.
    fn kept(
        &self,
        (name, value): &(String, String),
        variables: &mut Vec<(String, String)>,
    ) -> (String, Value) {
        if !hermes_home::redact::is_secret_name(name) || value.contains("${") || value.is_empty() {
            return (name.clone(), value.as_str().into());
        }
        let kept = format!("MCP_{}_{}", shouted(&self.name), shouted(name));
        variables.push((kept.clone(), value.clone()));
        (name.clone(), format!("${{{kept}}}").into())
    }
}

/// Servers that need no more than their name.
pub fn preset(name: &str) -> Option<Place> {
    let (command, args) = PRESETS
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, command, args)| (*command, *args))?;
    Some(Place::Program {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: Vec::new(),
    })
}

const PRESETS: &[(&str, &str, &[&str])] = &[("codex", "codex", &["mcp-server"])];

pub fn presets() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, ..)| *name)
}

/// The variable that holds the key of a server.
pub fn key_variable(server: &str) -> String {
    format!("MCP_{}_API_KEY", shouted(server))
}

/// A key as it was pasted: people copy the word in front of it along. `None` if nothing is left.
pub fn key(pasted: &str) -> Option<String> {
    let pasted = pasted.trim();
    let bare = match pasted.split_once(char::is_whitespace) {
        Some((word, rest)) if word.eq_ignore_ascii_case("bearer") => rest.trim(),
        _ => pasted,
    };
    let is_word_alone = bare.eq_ignore_ascii_case("bearer");
    (!bare.is_empty() && !is_word_alone).then(|| bare.to_owned())
}

/// Why a new server cannot have that name.
pub fn name_problem(name: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    match () {
        () if name.is_empty() => Some("a server needs a name"),
        () if name.chars().count() > 64 => Some("a server's name has at most 64 characters"),
        () if !name.chars().all(is_plain) => {
            Some("a server's name has only letters, digits, '-' and '_'")
        }
        () => None,
    }
}

/// `K=V` for a program's environment.
pub fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| "expects NAME=VALUE".to_owned())?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok((name.to_owned(), value.to_owned()));
    }
    Err(format!("'{name}' is no name of a variable"))
}

fn shouted(name: &str) -> String {
    let safe = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    name.chars().map(safe).collect()
}

fn whole_if_possible(seconds: f64) -> Value {
    match seconds.fract() == 0.0 && seconds.abs() < 1e9 {
        true => (seconds as i64).into(),
        false => seconds.into(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn written(place: Place) -> (Value, Vec<(String, String)>) {
        let draft = Draft {
            name: "my-s".to_owned(),
            place,
            connect_timeout: None,
        };
        let Written { entry, variables } = draft.written();
        (entry, variables)
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn keys_go_to_the_variables_and_are_referred_to() {
        let url = |login| Place::Url {
            url: "https://h/mcp".to_owned(),
            login,
        };
        assert_eq!(
            written(url(Login::Open)),
            (json!({"url": "https://h/mcp"}), vec![])
        );
        assert_eq!(
            written(url(Login::OAuth)),
            (json!({"url": "https://h/mcp", "auth": "oauth"}), vec![])
        );
        let entry = json!({
            "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${MCP_MY_S_API_KEY}"},
        });
        assert_eq!(
            written(url(Login::Key(Some("k".to_owned())))),
            (entry.clone(), vec![pair("MCP_MY_S_API_KEY", "k")])
        );
        assert_eq!(written(url(Login::Key(None))), (entry, vec![]));
    }

    #[test]
    fn programs_keep_their_secrets_elsewhere_too() {
        let program = Place::Program {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "x".to_owned()],
            env: vec![
                pair("MODE", "fast"),
                pair("API_TOKEN", "hunter2"),
                pair("OTHER_TOKEN", "${MINE}"),
            ],
        };
        let entry = json!({
            "command": "npx", "args": ["-y", "x"],
            "env": {"MODE": "fast", "API_TOKEN": "${MCP_MY_S_API_TOKEN}", "OTHER_TOKEN": "${MINE}"},
        });
        assert_eq!(
            written(program),
            (entry, vec![pair("MCP_MY_S_API_TOKEN", "hunter2")])
        );
        let codex = written(preset("codex").unwrap());
        assert_eq!(codex.0, json!({"command": "codex", "args": ["mcp-server"]}));
        assert_eq!(preset("x"), None);
    }

    #[test]
    fn pasted_keys_lose_the_word_in_front() {
        let check = |pasted: &str, expected: Option<&str>| {
            assert_eq!(key(pasted).as_deref(), expected, "{pasted:?}");
        };
        check(" abc \n", Some("abc"));
        check("Bearer abc", Some("abc"));
        check("bearer\tabc", Some("abc"));
        check("bearerabc", Some("bearerabc"));
        check("", None);
        check("Bearer ", None);
    }

    #[test]
    fn names_and_variables() {
        for good in ["a", "git-hub_2", "né"] {
            assert_eq!(name_problem(good), None, "{good}");
        }
        for bad in ["", "a.b", "a b", "a/b", "a\u{7}", &"x".repeat(65)] {
            assert!(name_problem(bad).is_some(), "{bad:?}");
        }
        assert_eq!(variable("A_1=x=y"), Ok(pair("A_1", "x=y")));
        assert_eq!(variable("_A="), Ok(pair("_A", "")));
        for bad in ["A", "=x", "1A=x", "A B=x", "A-B=x"] {
            assert!(variable(bad).is_err(), "{bad}");
        }
    }
}
