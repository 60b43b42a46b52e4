//! Projects: which directory belongs to a file, and what the store knows of it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_home::{Modes, replace_file};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// What lies in the topmost directory of a project.
const MARKERS: [&str; 9] = [
    ".git",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    ".hg",
    "Gemfile",
];

/// How old a record may be before it is written again: being exact would cost a disk flush for each snapshot.
const FRESH: f64 = 60.0;

/// A directory that snapshots are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    /// Absolute, without links.
    pub dir: PathBuf,
    /// What it is called in the store.
    pub hash: String,
}

/// `projects/<hash>.json`; what others wrote beside it stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    #[serde(default)]
    pub workdir: String,
    #[serde(default)]
    pub created_at: f64,
    #[serde(default)]
    pub last_touch: f64,
    /// The directory the project lies in, as the file system knows it: where another one is mounted now, nothing
    /// can be said about the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir_parent_dev: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir_parent_ino: Option<u64>,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Project {
    /// Blocks for a moment.
    pub fn at(dir: &Path) -> Result<Self> {
        let dir = fs::canonicalize(dir).map_err(Error::io(dir))?;
        let unfit = |why: &str| Error::Unfit {
            dir: dir.clone(),
            why: why.to_owned(),
        };
        let name = dir.to_str().ok_or_else(|| unfit("its name is no text"))?;
        if !dir.is_dir() {
            return Err(unfit("it is no directory"));
        }
        let hash = name_of(name);
        Ok(Self { dir, hash })
    }

    pub fn reference(&self) -> String {
        format!("refs/hermes/{}", self.hash)
    }
}

/// The first 16 digits of the path's hash.
fn name_of(path: &str) -> String {
    let hash = digest(&SHA256, path.as_bytes());
    let digits = hash.as_ref()[..8].iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// The project that a file or directory belongs to: the nearest directory above it that looks like one, else where
/// the session is, else its own. A home directory, or what lies above it, is none. Blocks for a moment.
pub(crate) fn root_of(path: &Path, cwd: &Path, user_home: &Path) -> Option<PathBuf> {
    let canonical = |dir: &Path| fs::canonicalize(dir).ok();
    let user_home = canonical(user_home).unwrap_or_else(|| user_home.to_owned());
    let is_narrow = |dir: &&Path| !user_home.starts_with(dir);
    let own = if path.is_dir() { path } else { path.parent()? };
    let start = own.ancestors().find_map(canonical)?;
    let mut above = start.ancestors().take_while(is_narrow);
    let marked = |dir: &&Path| MARKERS.iter().any(|name| dir.join(name).exists());
    if let Some(root) = above.find(marked) {
        return Some(root.to_owned());
    }
    let here = canonical(cwd).filter(|here| is_narrow(&here.as_path()) && start.starts_with(here));
    here.or_else(|| canonical(own).filter(|own| is_narrow(&own.as_path())))
}

impl Record {
    pub fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
    }

    /// Notes that the project is in use.
    pub fn touch(path: &Path, project: &Project, modes: &Modes) -> Result<()> {
        let now = now();
        let known = Self::read(path);
        if known
            .as_ref()
            .is_some_and(|known| (now - known.last_touch).abs() < FRESH)
        {
            return Ok(());
        }
        let mut record = known.unwrap_or_default();
        record.workdir = project.dir.to_string_lossy().into_owned();
        record.last_touch = now;
        if record.created_at <= 0.0 {
            record.created_at = now;
        }
        if let Some((device, number)) = parent_of(&project.dir) {
            record.workdir_parent_dev = Some(device);
            record.workdir_parent_ino = Some(number);
        }
        let text = serde_json::to_vec(&record).map_err(|error| Error::Io {
            path: path.to_owned(),
            source: error.into(),
        })?;
        Ok(replace_file(path, text, modes)?)
    }

    /// Whether the project was removed from a directory that is still the same one. A disk that is not there now
    /// makes no orphans.
    pub fn is_orphan(&self) -> bool {
        let dir = Path::new(&self.workdir);
        let known = self.workdir_parent_dev.zip(self.workdir_parent_ino);
        fs::symlink_metadata(dir).is_err() && known.is_some() && parent_of(dir) == known
    }
}

fn parent_of(dir: &Path) -> Option<(u64, u64)> {
    let parent = fs::metadata(dir.parent()?).ok()?;
    Some((parent.dev(), parent.ino()))
}

/// Seconds since 1970, as the records have them.
pub(crate) fn now() -> f64 {
    Timestamp::now().as_millisecond() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_same_as_everywhere() {
        // printf %s /home/me/project | sha256sum
        assert_eq!(name_of("/home/me/project"), "225df3094012a213");
    }

    #[test]
    fn files_belong_to_what_looks_like_a_project() {
        let temp = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(temp.path()).unwrap();
        for dir in ["home/plain/sub", "home/p/src", "cwd/sub", "other"] {
            fs::create_dir_all(top.join(dir)).unwrap();
        }
        fs::write(top.join("home/p/Cargo.toml"), "").unwrap();
        // A home with a repository of its own is no project.
        fs::create_dir(top.join("home/.git")).unwrap();
        let check = |path: &str, expected: Option<&str>| {
            let root = root_of(&top.join(path), &top.join("cwd"), &top.join("home"));
            assert_eq!(root, expected.map(|dir| top.join(dir)), "{path}");
        };
        check("home/p/src/new.rs", Some("home/p"));
        check("home/p/not/yet/there.rs", Some("home/p"));
        check("home/p", Some("home/p"));
        check("home/plain/sub/f", Some("home/plain/sub"));
        check("home/f", None);
        check("home", None);
        check("cwd/sub/f", Some("cwd"));
        check("cwd/not/yet/f", Some("cwd"));
        check("other/f", Some("other"));
        check("other/not/yet/f", None);
    }

    #[test]
    fn a_record_keeps_what_others_wrote() {
        let temp = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(temp.path()).unwrap();
        let (path, gone) = (dir.join("record.json"), dir.join("gone"));
        fs::create_dir(&gone).unwrap();
        fs::write(
            &path,
            r#"{"workdir": "/x", "created_at": 5.5, "last_touch": 6, "note": 1}"#,
        )
        .unwrap();
        let project = Project::at(&gone).unwrap();
        let modes = Modes {
            dir: 0o700,
            secret: None,
        };
        Record::touch(&path, &project, &modes).unwrap();
        let record = Record::read(&path).unwrap();
        assert_eq!(
            (record.created_at, &record.more["note"]),
            (5.5, &Value::from(1))
        );
        assert!(now() - record.last_touch < 5.0);
        assert_eq!(Path::new(&record.workdir), gone);
        assert!(!record.is_orphan());
        fs::remove_dir(&gone).unwrap();
        assert!(record.is_orphan());
        let unknown = Record {
            workdir_parent_ino: Some(1),
            ..record
        };
        assert!(!unknown.is_orphan());
    }
}
