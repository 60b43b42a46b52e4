//! A throw-away user: an empty HOME, and a HERMES_HOME inside it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Cmd;

/// A fake user's directories, deleted on drop.
///
/// HERMES_HOME is `HOME/.hermes` and doesn't exist until something is written there, as on a machine
/// that has never run Hermes.
#[derive(Debug)]
pub struct TempHome {
    root: PathBuf,
    /// Deletes everything when dropped.
    _dir: TempDir,
}

impl TempHome {
    pub fn new() -> Self {
        let dir = TempDir::with_prefix("hermes-test-").expect("make a temporary directory");
        // What a program prints is the resolved path; on macOS the temporary directory is a symlink.
        let root = fs::canonicalize(dir.path()).expect("resolve the temporary directory");
        let home = Self { root, _dir: dir };
        for dir in [home.home(), home.work()] {
            fs::create_dir(&dir).expect("make a directory in the temporary directory");
        }
        home
    }

    /// HOME.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// HERMES_HOME.
    pub fn hermes(&self) -> PathBuf {
        self.home().join(".hermes")
    }

    /// An empty directory outside HOME where commands run.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// `program` (usually `env!("CARGO_BIN_EXE_hermes")`), about to run as this user.
    pub fn cmd(&self, program: impl Into<OsString>) -> Cmd {
        Cmd::new(self, program.into())
    }

    /// Writes a file, making its directories. `path` is relative to HERMES_HOME, or absolute.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.hermes().join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text))
            .unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        path
    }

    /// The text of a file. `path` is relative to HERMES_HOME, or absolute.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.hermes().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
    }

    #[track_caller]
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        let path = self.hermes().join(path);
        path.try_exists()
            .unwrap_or_else(|error| panic!("look for {}: {error}", path.display()))
    }

    /// The permission bits of a file or directory, such as `0o600`.
    #[track_caller]
    pub fn mode(&self, path: impl AsRef<Path>) -> u32 {
        let path = self.hermes().join(path);
        let metadata = fs::metadata(&path)
            .unwrap_or_else(|error| panic!("look at {}: {error}", path.display()));
        metadata.permissions().mode() & 0o7777
    }

    /// What replaces the paths of this home in output that is compared with a snapshot. HOME first:
    /// it lies inside the other.
    pub(crate) fn redactions(&self) -> Vec<(String, &'static str)> {
        [(self.home(), "[HOME]"), (self.root.clone(), "[TMP]")]
            .map(|(path, name)| (path.to_string_lossy().into_owned(), name))
            .into()
    }
}

impl Default for TempHome {
    fn default() -> Self {
        Self::new()
    }
}
