//! One notes file: read whole, changed behind its lock, replaced at once.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use hermes_home::{Modes, replace_file};
use jiff::Timestamp;

use super::Memory;
use super::change::{Done, Refused, Wish, apply_all};
use super::entries::{join, length, parse, survives};
use super::tool::percent;
use crate::{Error, Result};

/// More than this was not written by us, and is not read into memory.
const LARGEST: u64 = 1 << 20;

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
        let _lock = Memory::lock(&self.path)?;
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
        self.misshapen(text, entries).is_some()
    }

    /// What keeps a text from being changed entry by entry.
    fn misshapen(&self, text: &str, entries: &[String]) -> Option<String> {
        let longest = entries.iter().map(|entry| entry.chars().count()).max();
        if text.contains('\0') {
            return Some("holds NUL bytes: remove them".to_owned());
        }
        if let Some(longest) = longest.filter(|longest| *longest > self.limit) {
            return Some(format!(
                "holds an entry of {longest} characters, more than the {} there is room for: shorten it, or put a \
                 line with only § between its parts",
                self.limit
            ));
        }
        let lost = "would lose something when it is written anew: put a line with only § between the entries, \
                    without spaces around them";
        (!survives(text)).then(|| lost.to_owned())
    }

    /// What is wrong with the file, and what to do about it.
    pub fn problem(&self) -> Option<String> {
        let why = match self.bytes() {
            Err(error) => return Some(error.to_string()),
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => self.misshapen(&text, &parse(&text))?,
                Err(_) => "is not UTF-8 text: convert it".to_owned(),
            },
        };
        Some(format!("{} {why}", self.path.display()))
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
        let read = fs::metadata(&self.path).and_then(|meta| match oddity(&meta) {
            Some(why) => Err(io::Error::other(why)),
            None => fs::read(&self.path),
        });
        let is_missing = |error: &io::Error| error.kind() == ErrorKind::NotFound;
        match read {
            Err(error) if is_missing(&error) && !self.path.is_symlink() => Ok(Vec::new()),
            Err(error) => Err(unreadable(&self.path, &error)),
            Ok(bytes) => Ok(bytes),
        }
    }
}

/// Why something is no file of notes, whatever is in it.
fn oddity(meta: &fs::Metadata) -> Option<String> {
    if meta.is_dir() {
        return Some("is a directory where a file of notes belongs: move it away".to_owned());
    }
    if !meta.is_file() {
        return Some("is no file: move it away".to_owned());
    }
    (meta.len() > LARGEST).then(|| {
        format!(
            "has {} bytes, far too many for notes: shorten it by hand",
            meta.len()
        )
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let why = match error.kind() {
        ErrorKind::NotFound => {
            let target = fs::read_link(path).unwrap_or_default();
            format!(
                "is a link to {}, which is not there: mend or remove the link",
                target.display()
            )
        }
        ErrorKind::PermissionDenied => {
            "may not be read: chmod u+rw gives the right back".to_owned()
        }
        ErrorKind::Other => error.to_string(),
        _ => return Error::io("read", path, error),
    };
    let path = path.display().to_string();
    Error::Notes { path, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Whoever runs the tests may be allowed to read everything.
    #[test]
    fn what_may_not_be_read_is_said_with_the_way_out() {
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        let told = unreadable(Path::new("/notes/MEMORY.md"), &denied).to_string();
        assert_eq!(
            told,
            "/notes/MEMORY.md may not be read: chmod u+rw gives the right back"
        );
    }
}
