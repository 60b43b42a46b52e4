//! The owner's `config.yaml`, as text.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::migrate::{CURRENT_VERSION, version};
use crate::{Error, FileLock, Home, Result, write, yaml};

/// The file as it is on disk, with what it says or why it cannot be read.
#[derive(Clone, Debug)]
pub struct Document {
    path: PathBuf,
    text: String,
    content: std::result::Result<Value, yaml::Error>,
}

impl Document {
    /// An absent file is an empty document.
    pub fn load(path: &Path) -> Result<Self> {
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        Ok(Self::parse(path, text))
    }

    pub fn parse(path: &Path, text: String) -> Self {
        let content = yaml::read(text.strip_prefix('\u{feff}').unwrap_or(&text)).and_then(
            |value| match value {
                Value::Null | Value::Object(_) => Ok(value),
                _ => Err(yaml::Error {
                    line: 1,
                    column: 1,
                    message: "the file must be a mapping of keys to values".to_owned(),
                }),
            },
        );
        Self {
            path: path.to_owned(),
            text,
            content,
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the owner wrote, unexpanded; `Null` for an empty file.
    pub fn value(&self) -> Result<&Value> {
        self.content.as_ref().map_err(|error| Error::Yaml {
            path: self.path.clone(),
            error: error.clone(),
        })
    }

    /// The value at a dotted path, as written.
    pub fn get(&self, path: &yaml::Path) -> Option<&Value> {
        path.get(self.content.as_ref().ok()?)
    }

    pub fn set(&mut self, path: &yaml::Path, value: &Value) -> Result<()> {
        self.value()?;
        self.replace(yaml::set(&self.text, path, value)?);
        Ok(())
    }

    pub fn unset(&mut self, path: &yaml::Path) -> Result<()> {
        self.value()?;
        self.replace(yaml::unset(&self.text, path)?);
        Ok(())
    }

    fn replace(&mut self, text: String) {
        *self = Self::parse(&self.path, text);
    }

    /// Changes the file under its lock, atomically. A file that doesn't parse is never written.
    pub fn edit<T>(home: &Home, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        home.writable()?;
        let path = home.config_path();
        let _lock = FileLock::for_file(&path)?;
        let is_new = !path.exists();
        let mut document = Self::load(&path)?;
        document.value()?;
        let before = document.text.clone();
        let result = change(&mut document)?;
        if document.text != before {
            if is_new && version(&document) == 0 {
                // A file we make needs no migration, and should say so.
                document.replace(format!(
                    "_config_version: {CURRENT_VERSION}\n{}",
                    document.text
                ));
            }
            write::replace_secret(&path, &document.text, home.modes())?;
        }
        Ok(result)
    }
}
