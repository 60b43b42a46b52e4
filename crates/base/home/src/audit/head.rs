//! The newest line of the log: where the next one goes on, and what a cut-off log is noticed by.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::read::parse;
use super::{Entry, Mark, months, nothing};
use crate::{Error, Result};

/// How much of a file's end is searched for its last line: nearly always the first is enough, and no line is
/// longer than the second.
const REACH: [u64; 2] = [8 << 10, 1 << 20];

/// Where the chain stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub seq: u64,
    pub hash: String,
    /// The newest file ends in the middle of a line.
    pub is_torn: bool,
    /// The newest file; empty if there is none yet.
    pub newest: PathBuf,
}

impl Head {
    /// Where to go on. The log itself decides; the note beside it only says what must be there.
    pub fn find(dir: &Path) -> Result<Self> {
        let months = months(dir)?;
        let mut head = Self {
            seq: 0,
            hash: nothing(),
            is_torn: false,
            newest: months.last().cloned().unwrap_or_default(),
        };
        for month in months.iter().rev() {
            let (last, is_torn) = last_line(month)?;
            head.is_torn |= is_torn && *month == head.newest;
            if let Some((entry, hash)) = last {
                (head.seq, head.hash) = (entry.seq, hash);
                break;
            }
        }
        Ok(head)
    }

    /// Notes the newest line. Always the same length, so that it is replaced in one go.
    pub fn write(dir: &Path, seq: u64, hash: &str) -> Result<()> {
        let path = dir.join("head");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io("open", &path))?;
        file.write_all_at(format!("{seq:020} {hash}\n").as_bytes(), 0)
            .map_err(Error::io("write", &path))
    }

    /// The newest line, as it was noted.
    pub fn noted(dir: &Path) -> Option<Mark> {
        let text = fs::read_to_string(dir.join("head")).ok()?;
        let (seq, hash) = text.trim().split_once(' ')?;
        Some(Mark {
            seq: seq.parse().ok()?,
            hash: hash.to_owned(),
        })
    }
}

/// The last readable line of a file, and whether its last one has no end. Whoever was killed just before that
/// has written a whole entry.
pub(super) fn last_line(path: &Path) -> Result<(Option<(Entry, String)>, bool)> {
    let mut is_torn = false;
    for reach in REACH {
        let end = end(path, reach).map_err(Error::io("read", path))?;
        is_torn = !matches!(end.last(), None | Some(b'\n'));
        let text = String::from_utf8_lossy(&end);
        if let Some(found) = text.lines().rev().find_map(|line| parse(line).ok()) {
            return Ok((Some(found), is_torn));
        }
    }
    Ok((None, is_torn))
}

fn end(path: &Path, reach: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(reach)))?;
    let mut bytes = Vec::new();
    file.take(reach).read_to_end(&mut bytes)?;
    Ok(bytes)
}
