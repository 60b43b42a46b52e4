//! One notes file: read whole, changed behind its lock, replaced at once.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hermes_home::{FileLock, Modes, replace_file};
use jiff::Timestamp;

use super::PATIENCE;
use super::change::{Done, Refused, Wish, apply_all};
use super::entries::{join, length, parse, survives};
use super::tool::percent;
use crate::{Error, Result};

#[derive(Clone, Debug)]
pub struct Notes {
    path: PathBuf,
    /// In characters.
    pub limit: usize,
    modes: Modes,
}

/// A file after a change, or as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub entries: Vec<String>,
    pub done: Vec<Done>,
}

/// Why a file stays as it is.
#[derive(Debug)]
pub enum Stays {
    Refused {
        by: Refused,
        entries: Vec<String>,
    },
    /// Somebody gave it a shape of its own: what it is now was copied there.
    Misshapen {
        copy: PathBuf,
        entries: Vec<String>,
    },
    Failed(Error),
}

impl From<Error> for Stays {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Notes {
    pub fn new(path: PathBuf, limit: usize, modes: Modes) -> Self {
        Self { path, limit, modes }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is written now.
    pub fn entries(&self) -> Result<Vec<String>> {
        Ok(parse(&self.text()?))
    }

    /// How much of the room these take: `12% — 264/2,200 chars`.
    pub fn usage(&self, entries: &[String]) -> String {
        percent(length(entries), self.limit)
    }

    /// Does these, all of them or none.
    pub fn change(&self, wishes: &[Wish]) -> std::result::Result<Changed, Stays> {
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, &error))?;
        }
        let _lock = FileLock::within(&self.path, PATIENCE).map_err(Error::from)?;
        let before = match String::from_utf8(self.bytes()?) {
            Ok(text) => text,
            Err(broken) => {
                let copy = self.copy(broken.as_bytes())?;
                let entries = parse(&String::from_utf8_lossy(broken.as_bytes()));
                return Err(Stays::Misshapen { copy, entries });
            }
        };
        let entries = parse(&before);
        let only_adds = matches!(wishes, [Wish::Add(_)]);
        if !only_adds && self.is_misshapen(&before, &entries) {
            let copy = self.copy(before.as_bytes())?;
            return Err(Stays::Misshapen { copy, entries });
        }
        let (after, done) = match apply_all(&entries, wishes, self.limit) {
            Ok(done) => done,
            Err(by) => return Err(Stays::Refused { by, entries }),
        };
        if after == entries {
            return Ok(Changed { entries, done });
        }
        let text = match only_adds {
            // Below what is there, whatever shape that has.
            true if !before.trim().is_empty() => {
                join(&[before.trim_end().to_owned(), after[entries.len()].clone()])
            }
            _ => join(&after),
        };
        replace_file(&self.path, &text, &self.modes).map_err(Error::from)?;
        Ok(Changed {
            entries: after,
            done,
        })
    }

    fn is_misshapen(&self, text: &str, entries: &[String]) -> bool {
        !survives(text)
            || entries
                .iter()
                .any(|entry| length(std::slice::from_ref(entry)) > self.limit)
    }

    fn copy(&self, text: &[u8]) -> Result<PathBuf> {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".bak.{}", Timestamp::now().as_second()));
        let copy = PathBuf::from(name);
        replace_file(&copy, text, &self.modes)?;
        Ok(copy)
    }

    /// The file as it is, as far as it can be read; one that isn't there is empty.
    pub fn text(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::io("read", &self.path, &error)),
        }
    }
}
