//! The environment as a value: the process's variables with the home's `.env` laid over them.
//!
//! Nothing in Hermes mutates the process environment; whoever needs a variable is handed an `Env`, and
//! children get theirs explicitly.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// An immutable snapshot once start-up is over.
#[derive(Clone, Debug, Default)]
pub struct Env {
    vars: BTreeMap<String, String>,
}

impl Env {
    /// The process's own variables. A value that isn't UTF-8 keeps what can be kept of it.
    pub fn from_process() -> Self {
        std::env::vars_os()
            .map(|(name, value)| {
                (
                    name.to_string_lossy().into_owned(),
                    value.to_string_lossy().into_owned(),
                )
            })
            .collect()
    }

    /// The value, if set. An empty value counts as set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// The trimmed value, if there is anything in it.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// Whether a switch variable is on: `1`, `true`, `yes` or `on`.
    pub fn is_on(&self, name: &str) -> bool {
        self.filled(name).is_some_and(|value| {
            ["1", "true", "yes", "on"]
                .iter()
                .any(|on| value.eq_ignore_ascii_case(on))
        })
    }

    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.vars.insert(name.into(), value.into());
    }

    pub fn remove(&mut self, name: &str) {
        self.vars.remove(name);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The user's home directory, from this environment or the password database.
    pub fn user_home(&self) -> PathBuf {
        match self.filled("HOME") {
            Some(home) => PathBuf::from(home),
            None => std::env::home_dir().unwrap_or_else(|| PathBuf::from("/")),
        }
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(vars: T) -> Self {
        Self {
            vars: vars.into_iter().collect(),
        }
    }
}

impl<'a, const N: usize> From<[(&'a str, &'a str); N]> for Env {
    fn from(vars: [(&'a str, &'a str); N]) -> Self {
        vars.into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}
