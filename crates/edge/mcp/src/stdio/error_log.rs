//! The file that takes what children write to their error output.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::classify::excerpt;

/// How a line begins that says who writes from there on.
const MARK: &str = "===== ";
/// How far back the last line is looked for.
const TAIL: u64 = 4096;

/// Where one child began to write. Other servers may write to the same file.
pub(super) struct ErrorLog {
    path: PathBuf,
    begins_at: u64,
}

impl ErrorLog {
    /// Opens the file for a child of `server` and says so in it.
    pub(super) fn open(path: &Path, server: &str) -> io::Result<(File, Self)> {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(path)?;
        let server: String = server.chars().filter(|c| !c.is_control()).collect();
        let now = Timestamp::now();
        // Whoever wrote last may have been killed within a line.
        let line_break = if file.metadata()?.len() > 0 { "\n" } else { "" };
        let header = format!("{line_break}{MARK}{now:.0} starting MCP server {server:?} =====\n");
        file.write_all(header.as_bytes())?;
        let log = Self {
            path: path.to_owned(),
            begins_at: file.metadata()?.len(),
        };
        Ok((file, log))
    }

    /// The last thing written, unless another server was started since and may have written it.
    pub(super) fn last_line(&self) -> Option<String> {
        // Nothing depends on it.
        let tail = self.tail().ok()?;
        if tail.lines().any(|line| line.starts_with(MARK)) {
            return None;
        }
        let last = tail.lines().rev().find(|line| !line.trim().is_empty())?;
        let printable: String = last.chars().filter(|c| !c.is_control()).collect();
        Some(excerpt(&printable)).filter(|line| !line.is_empty())
    }

    fn tail(&self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(
            self.begins_at.max(end.saturating_sub(TAIL)),
        ))?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail)?;
        Ok(String::from_utf8_lossy(&tail).into_owned())
    }
}
