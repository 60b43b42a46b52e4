//! What was done: an append-only log in which every line vouches for the one before.
//!
//! `audit/YYYY-MM.log` holds lines of `<hash> <json>`. The hash is the SHA-256 of the JSON, and the JSON names the
//! hash of the line before, across months. `audit/head` names the newest line, so that a log that was cut
//! off at its end is noticed too. Where the log begins later than with its first line, an entry says so.

mod check;
mod head;
mod prune;
mod query;
mod read;
mod verify;

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::redact::Redactor;
use crate::{Error, FileLock, Home, Modes, Result};
use head::Head;

pub use check::{check, verify_and_note};
pub use query::{Found, Query, latest};
pub use read::{Line, lines, lines_since};
pub use verify::{Report, verify};

/// Nobody reads more of one action.
const ABOUT_CHARS: usize = 500;
const CHANGED: usize = 50;

/// How long others may take to write a line, and how often they are looked at.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// What the log itself does is done by this tool.
const OWN: &str = "audit";

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
    /// How many before it could not be written down.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
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
    /// Everything up to this entry was removed on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<Mark>,
}

/// A place in the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub seq: u64,
    pub hash: String,
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
        let _lock = self.lock()?;
        self.extend(action, at, None)
    }

    /// Waits for the others, but not for one that hangs.
    fn lock(&self) -> Result<FileLock> {
        let path = self.dir.join(".lock");
        let mut pause = Duration::from_micros(100);
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            if let Some(lock) = FileLock::try_acquire(&path)? {
                return Ok(lock);
            }
            if Instant::now() > deadline {
                return Err(Error::invalid(format!(
                    "another process holds {} and doesn't let go",
                    path.display()
                )));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One more line; for whoever holds the lock.
    fn extend(&self, action: &Action, at: Timestamp, pruned: Option<Mark>) -> Result<()> {
        let head = Head::find(&self.dir)?;
        let entry = Entry {
            seq: head.seq + 1,
            at,
            prev: head.hash,
            action: self.tidy(action),
            pruned,
        };
        let json =
            serde_json::to_string(&entry).map_err(|error| Error::invalid(error.to_string()))?;
        let hash = hash(json.as_bytes());
        // A clock that was set back must not change the order of the files.
        let path = self.dir.join(month_file(at)).max(head.newest.clone());
        let is_torn = head.is_torn && path == head.newest;
        append(&path, is_torn, &format!("{hash} {json}\n"))?;
        Head::write(&self.dir, entry.seq, &hash)
    }

    /// Without secrets, line breaks and what nobody needs to that length.
    fn tidy(&self, action: &Action) -> Action {
        let clean = |text: &str| -> String {
            let text = self.redactor.force(text);
            let one_line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
            one_line.take(ABOUT_CHARS).collect()
        };
        let changed = action.changed.iter().take(CHANGED);
        Action {
            session: clean(&action.session),
            tool: clean(&action.tool),
            about: clean(&action.about),
            place: clean(&action.place),
            decision: clean(&action.decision),
            outcome: clean(&action.outcome),
            changed: changed.map(|path| clean(path)).collect(),
            ..action.clone()
        }
    }
}

/// `2026-01.log`
fn month_file(at: Timestamp) -> String {
    let utc = at.to_zoned(TimeZone::UTC);
    format!("{:04}-{:02}.log", utc.year(), utc.month())
}

fn append(path: &Path, after_torn: bool, line: &str) -> Result<()> {
    let mut file = appending(path)?;
    // A line that was cut short by a full disk stays as it is; ours begins on a new one.
    let text = match after_torn {
        true => format!("\n{line}"),
        false => line.to_owned(),
    };
    file.write_all(text.as_bytes())
        .map_err(Error::io("write", path))
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
        .filter(|path| path.file_name().is_some_and(is_month))
        .collect();
    months.sort();
    Ok(months)
}

/// Nothing else in the directory is part of the log.
fn is_month(name: &OsStr) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let stem = name.to_str().and_then(|name| name.strip_suffix(".log"));
    stem.and_then(|stem| stem.split_once('-'))
        .is_some_and(|(year, month)| {
            year.len() == 4 && month.len() == 2 && digits(year) && digits(month)
        })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
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
