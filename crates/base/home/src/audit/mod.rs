//! What was done: an append-only log in which every line vouches for the one before.
//!
//! `audit/YYYY-MM.log` holds lines of `<hash> <json>`. The hash is the SHA-256 of the JSON, and the JSON names the
//! hash of the line before, across months. `audit/head` names the newest line, so that a log that was cut
//! off at its end is noticed too.

mod head;
mod read;
mod verify;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::redact::Redactor;
use crate::{Error, FileLock, Home, Modes, Result};
use head::Head;

pub use read::{Line, lines};
pub use verify::{Report, verify};

/// Nobody reads more of one action.
const ABOUT_CHARS: usize = 500;
const CHANGED: usize = 50;

/// One action of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Action {
    pub session: String,
    pub tool: String,
    /// What it was about, in one line.
    pub about: String,
    /// The directory it happened in.
    pub place: String,
    /// Who or what allowed or refused it; empty where nobody had to decide.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub decision: String,
    /// `done`, `failed`, `denied`, `cancelled`.
    pub outcome: String,
    pub took_ms: u64,
    /// Files it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// An action with its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: u64,
    pub at: Timestamp,
    /// The hash of the line before; zeros for the first.
    pub prev: String,
    #[serde(flatten)]
    pub action: Action,
}

/// Writes to the log of one home. Any number of processes may have it open.
#[derive(Debug)]
pub struct Audit {
    dir: PathBuf,
    redactor: Redactor,
}

/// Where a home keeps its log.
pub fn dir(home: &Home) -> PathBuf {
    home.dir().join("audit")
}

impl Audit {
    pub fn open(home: &Home) -> Result<Self> {
        Self::in_dir(dir(home), home.modes())
    }

    fn in_dir(dir: PathBuf, modes: &Modes) -> Result<Self> {
        modes.create_dir(&dir).map_err(Error::io("create", &dir))?;
        Ok(Self {
            dir,
            redactor: Redactor::default(),
        })
    }

    /// Adds an action to the chain. It is in the file, though not yet forced to the disk, when this returns.
    pub fn record(&self, action: &Action, at: Timestamp) -> Result<()> {
        let _lock = FileLock::acquire(&self.dir.join(".lock"))?;
        let head = Head::find(&self.dir)?;
        let entry = Entry {
            seq: head.seq + 1,
            at,
            prev: head.hash,
            action: self.tidy(action),
        };
        let json =
            serde_json::to_string(&entry).map_err(|error| Error::invalid(error.to_string()))?;
        let hash = hash(json.as_bytes());
        self.append(at, head.is_torn, &format!("{hash} {json}\n"))?;
        Head::write(&self.dir, entry.seq, &hash)
    }

    /// Without secrets, line breaks and what nobody needs to that length.
    fn tidy(&self, action: &Action) -> Action {
        let clean = |text: &str| -> String {
            let text = self.redactor.force(text);
            let one_line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
            one_line.take(ABOUT_CHARS).collect()
        };
        Action {
            about: clean(&action.about),
            decision: clean(&action.decision),
            changed: action.changed.iter().take(CHANGED).cloned().collect(),
            ..action.clone()
        }
    }

    fn append(&self, at: Timestamp, after_torn: bool, line: &str) -> Result<()> {
        let month = at.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string();
        let path = self.dir.join(format!("{month}.log"));
        let mut file = appending(&path)?;
        // A line that was cut short by a full disk stays as it is; ours begins on a new one.
        let text = match after_torn {
            true => format!("\n{line}"),
            false => line.to_owned(),
        };
        file.write_all(text.as_bytes())
            .map_err(Error::io("write", &path))
    }
}

fn appending(path: &Path) -> Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(Error::io("open", path))
}

/// The months, oldest first.
fn months(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", dir)(error)),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut months: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    months.sort();
    Ok(months)
}

fn hash(bytes: &[u8]) -> String {
    let hash = digest(&SHA256, bytes);
    hash.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What the first line names as the one before it.
fn nothing() -> String {
    "0".repeat(64)
}

#[cfg(test)]
mod tests;
