//! Writes answers into the home: one key at a time, and a copy of the settings before the first of them.

use std::path::{Path, PathBuf};

use hermes_home::config::{self, Document, Settings};
use hermes_home::{Env, Home, dotenv, replace_secret, yaml};
use serde_json::Value;

use super::Result;

/// Writes to one home.
#[derive(Debug)]
pub struct Pen<'a> {
    home: &'a Home,
    /// The process's own variables; what `.env` says is laid over them anew each time.
    env: &'a Env,
    copies: Copies,
}

#[derive(Debug)]
enum Copies {
    None,
    /// Before the first change, if there is something to copy.
    Wanted,
    Made(PathBuf),
}

impl<'a> Pen<'a> {
    pub fn new(home: &'a Home, env: &'a Env) -> Self {
        Self {
            home,
            env,
            copies: Copies::None,
        }
    }

    /// Whether answers could be written at all: nobody should hear that only after the last question.
    pub fn ready(&self) -> Result<()> {
        Ok(dotenv::edit(self.home, |_| Ok(false))?)
    }

    /// Keeps `config.yaml` as it was before the first change.
    pub fn with_copy(mut self) -> Self {
        self.copies = Copies::Wanted;
        self
    }

    /// Where `config.yaml` is as it was.
    pub fn copy(&self) -> Option<&Path> {
        match &self.copies {
            Copies::Made(path) => Some(path),
            Copies::None | Copies::Wanted => None,
        }
    }

    pub fn home(&self) -> &Home {
        self.home
    }

    /// Variables as they are now.
    pub fn env(&self) -> Env {
        let mut env = self.env.clone();
        dotenv::overlay(self.home, &mut env); // warnings were given at the start
        env
    }

    /// Settings as they are now.
    pub fn settings(&self) -> Settings {
        Settings::load(self.home, &self.env())
    }

    /// Stores what was typed as `hermes config set` would; nothing if that is in force already.
    pub fn assign(&mut self, key: &str, text: &str) -> Result<bool> {
        let settings = self.settings();
        let now = settings.get(key).map(shown).unwrap_or_default();
        if now == text {
            return Ok(false);
        }
        self.before_writing()?;
        config::assign(self.home, key, text)?;
        Ok(true)
    }

    /// Stores a whole value.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        let path = yaml::Path::parse(key).map_err(hermes_home::Error::from)?;
        self.before_writing()?;
        Ok(Document::edit(self.home, |document| {
            document.set(&path, value)
        })?)
    }

    /// Takes a key out of `config.yaml`, if it is there, and out of `.env` what was kept there for it.
    pub fn unset(&mut self, key: &str) -> Result<()> {
        let path = yaml::Path::parse(key).map_err(hermes_home::Error::from)?;
        let document = Document::load(&self.home.config_path())?;
        if document.get(&path).is_none() {
            return Ok(());
        }
        self.before_writing()?;
        config::unassign(self.home, key)?;
        Ok(())
    }

    /// Takes out a whole entry, whatever its name has in it.
    pub fn remove(&mut self, path: &yaml::Path) -> Result<()> {
        self.before_writing()?;
        Ok(Document::edit(self.home, |document| document.unset(path))?)
    }

    /// Everything as if nothing had ever been set; keys in `.env` stay.
    pub fn reset(&mut self) -> Result<()> {
        self.before_writing()?;
        let fresh = format!("_config_version: {}\n", config::CURRENT_VERSION);
        self.home.writable()?;
        Ok(replace_secret(
            &self.home.config_path(),
            fresh,
            self.home.modes(),
        )?)
    }

    /// Brings an older file up to date; what changed.
    pub fn migrate(&mut self) -> Result<Vec<String>> {
        let document = Document::load(&self.home.config_path())?;
        let is_old = config::version(&document) < config::CURRENT_VERSION;
        if document.text().is_empty() || !is_old {
            return Ok(Vec::new());
        }
        self.before_writing()?;
        Ok(config::migrate(self.home, &self.env())?.changes)
    }

    /// Stores a secret in `.env`.
    pub fn keep_secret(&mut self, name: &str, value: &str) -> Result<()> {
        Ok(dotenv::save(self.home, name, value)?)
    }

    /// Takes a variable out of `.env`; whether it was there.
    pub fn forget(&mut self, name: &str) -> Result<bool> {
        let mut was_there = false;
        dotenv::edit(self.home, |file| {
            was_there = file.remove(name);
            Ok(was_there)
        })?;
        Ok(was_there)
    }

    fn before_writing(&mut self) -> Result<()> {
        self.home.writable()?;
        let path = self.home.config_path();
        if !matches!(self.copies, Copies::Wanted) || !path.exists() {
            return Ok(());
        }
        let text = Document::load(&path)?.text().to_owned();
        let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
        let copy = path.with_file_name(format!("config.yaml.bak.{stamp}"));
        replace_secret(&copy, text, self.home.modes())?;
        self.copies = Copies::Made(copy);
        Ok(())
    }
}

/// A value as one would type it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
