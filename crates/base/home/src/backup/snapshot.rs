//! Quick snapshots: the few files that matter most, copied beside the data.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CopyDatabase, is_database};
use crate::{Error, Home, Result, write};

/// How many are kept.
const KEEP: usize = 20;

/// Files and directories worth a snapshot.
const PARTS: &[&str] = &[
    "state.db",
    "config.yaml",
    ".env",
    "auth.json",
    "cron/jobs.json",
    "gateway_state.json",
    "channel_directory.json",
    "processes.json",
    "platforms/pairing",
    "pairing",
    "feishu_comment_pairing.json",
    "memories",
    "skills/.usage.json",
    "skills/.bundled_manifest",
    "skills/.curator_state",
];

/// `manifest.json` of one snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    pub id: String,
    pub timestamp: String,
    #[serde(default)]
    pub label: Option<String>,
    pub file_count: usize,
    pub total_size: u64,
    /// Path inside the home → size.
    pub files: Map<String, Value>,
}

/// Copies what is there now and forgets the oldest snapshots.
pub fn take(
    home: &Home,
    label: Option<&str>,
    now: Timestamp,
    copy: CopyDatabase<'_>,
) -> Result<Snapshot> {
    let stamp = now
        .to_zoned(TimeZone::UTC)
        .strftime("%Y%m%d-%H%M%S")
        .to_string();
    let label = label.map(tidy_label).filter(|label| !label.is_empty());
    let id = label
        .as_ref()
        .map_or(stamp.clone(), |label| format!("{stamp}-{label}"));
    let dir = root(home).join(&id);
    home.modes()
        .create_dir(&dir)
        .map_err(Error::io("create", &dir))?;
    let mut files = Map::new();
    let mut total_size = 0;
    for part in PARTS {
        for relative in files_below(home.dir(), Path::new(part)) {
            let size = copy_file(&home.dir().join(&relative), &dir.join(&relative), copy)?;
            total_size += size;
            files.insert(relative.to_string_lossy().into_owned(), size.into());
        }
    }
    let snapshot = Snapshot {
        id,
        timestamp: now.to_string(),
        label,
        file_count: files.len(),
        total_size,
        files,
    };
    let manifest = serde_json::to_string_pretty(&snapshot)
        .map_err(|error| Error::invalid(error.to_string()))?;
    write::replace_file(&dir.join("manifest.json"), manifest, home.modes())?;
    forget_oldest(home)?;
    Ok(snapshot)
}

/// Newest first.
pub fn list(home: &Home) -> Vec<Snapshot> {
    let entries = fs::read_dir(root(home)).into_iter().flatten().flatten();
    let mut snapshots: Vec<Snapshot> = entries
        .filter_map(|entry| fs::read(entry.path().join("manifest.json")).ok())
        .filter_map(|bytes| serde_json::from_slice(&bytes).ok())
        .collect();
    snapshots.sort_by(|a, b| b.id.cmp(&a.id));
    snapshots
}

/// Copies a snapshot's files back over the home's.
pub fn restore(home: &Home, id: &str, copy: CopyDatabase<'_>) -> Result<usize> {
    let snapshot = list(home)
        .into_iter()
        .find(|snapshot| snapshot.id == id)
        .ok_or_else(|| {
            Error::invalid(format!(
                "no snapshot '{id}' in {}; `hermes backup --list` shows those there are",
                root(home).display()
            ))
        })?;
    let dir = root(home).join(&snapshot.id);
    let mut count = 0;
    for relative in snapshot.files.keys().map(Path::new) {
        let plain = relative
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        let (from, to) = (dir.join(relative), home.dir().join(relative));
        if !plain || !from.is_file() {
            continue;
        }
        put_back(&from, &to, home, copy)?;
        count += 1;
    }
    Ok(count)
}

fn put_back(from: &Path, to: &Path, home: &Home, copy: CopyDatabase<'_>) -> Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    }
    if is_database(to) {
        return copy(from, to).map_err(Error::Invalid);
    }
    let content = fs::read(from).map_err(Error::io("read", from))?;
    write::replace_file(to, content, home.modes())
}

fn root(home: &Home) -> PathBuf {
    home.dir().join("state-snapshots")
}

fn files_below(base: &Path, part: &Path) -> Vec<PathBuf> {
    let path = base.join(part);
    if path.is_file() {
        return vec![part.to_owned()];
    }
    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .flat_map(|entry| files_below(base, &part.join(entry.file_name())))
        .collect();
    found.retain(|path| path.extension().is_none_or(|extension| extension != "lock"));
    found.sort();
    found
}

fn copy_file(from: &Path, to: &Path, copy: CopyDatabase<'_>) -> Result<u64> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    }
    if is_database(from) {
        copy(from, to).map_err(Error::Invalid)?;
        return fs::metadata(to)
            .map(|meta| meta.len())
            .map_err(Error::io("read", to));
    }
    fs::copy(from, to).map_err(Error::io("copy", from))
}

fn forget_oldest(home: &Home) -> Result<()> {
    for snapshot in list(home).into_iter().skip(KEEP) {
        let dir = root(home).join(&snapshot.id);
        fs::remove_dir_all(&dir).map_err(Error::io("remove", &dir))?;
    }
    Ok(())
}

fn tidy_label(label: &str) -> String {
    let kept: String = label
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect();
    kept.trim_matches('-').chars().take(40).collect()
}
