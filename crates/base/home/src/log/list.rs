//! Which logs there are, for `hermes logs list`.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::{Error, Result};

/// One log file or backup of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInfo {
    pub name: String,
    pub bytes: u64,
    /// Since the last line; zero if the clock was set back since.
    pub age: Duration,
}

/// All logs of a directory by name. A directory that isn't there yet has none.
pub fn list(dir: &Path) -> Result<Vec<LogInfo>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io("list", dir))?,
    };
    // An entry that vanishes while we look was rotated away.
    let mut logs: Vec<_> = entries.flatten().filter_map(|entry| info(&entry)).collect();
    logs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(logs)
}

fn info(entry: &fs::DirEntry) -> Option<LogInfo> {
    let name = entry.file_name().into_string().ok()?;
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_log = name.ends_with(".log") || base.ends_with(".log.") && base.len() < name.len();
    let meta = entry
        .metadata()
        .ok()
        .filter(|meta| is_log && meta.is_file())?;
    let age = meta.modified().ok()?.elapsed().unwrap_or_default();
    Some(LogInfo {
        name,
        bytes: meta.len(),
        age,
    })
}
