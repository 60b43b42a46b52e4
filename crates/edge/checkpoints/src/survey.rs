//! A look over a project before git gets it: is it small enough, and what of it must git not see.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ignore::{DirEntry, WalkBuilder};

/// Git compares every file with each of them.
const MAX_LEFT_OUT: usize = 1_000;

/// What to look at, and what to leave out.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    pub dir: PathBuf,
    /// Patterns of what nobody wants back.
    pub exclude: PathBuf,
    /// Our own home, which holds secrets, and the store itself.
    pub home: PathBuf,
    /// With more, no snapshot is made.
    pub max_files: usize,
    /// Larger files are left out.
    pub max_file: Option<u64>,
    pub thorough: Thorough,
}

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thorough {
    No,
    /// Also try to open every file.
    Yes,
}

impl Survey {
    /// What git must not see, relative to the directory; or why no snapshot is made of it. Blocks.
    pub fn left_out(&self) -> Result<Vec<PathBuf>, String> {
        let left_out = Arc::new(Mutex::new(Vec::new()));
        let mut walk = WalkBuilder::new(&self.dir);
        // Only what git itself will heed.
        walk.standard_filters(false)
            .git_ignore(true)
            .require_git(false);
        // Unreadable patterns exclude nothing; git says so itself.
        let _ = walk.add_ignore(&self.exclude);
        let (home, noted) = (self.home.clone(), left_out.clone());
        walk.filter_entry(move |entry| {
            let kept = entry.depth() == 0 || !is_shut_off(entry, &home);
            if !kept && entry.file_name() != ".git" {
                lock(&noted).push(entry.path().to_owned());
            }
            kept
        });
        // What cannot be looked at is git's to complain about.
        for (count, entry) in walk.build().flatten().enumerate() {
            if count > self.max_files {
                return Err(format!("it has more than {} files", self.max_files));
            }
            if self.is_unwanted(&entry) {
                lock(&left_out).push(entry.into_path());
            }
            if lock(&left_out).len() > MAX_LEFT_OUT {
                return Err("too much of it is too large, or repositories of its own".to_owned());
            }
        }
        let found = std::mem::take(&mut *lock(&left_out));
        let relative = |path: PathBuf| Some(path.strip_prefix(&self.dir).ok()?.to_owned());
        Ok(found.into_iter().filter_map(relative).collect())
    }

    fn is_unwanted(&self, entry: &DirEntry) -> bool {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return false;
        }
        let size = entry.metadata().map_or(0, |metadata| metadata.len());
        let too_large = self.max_file.is_some_and(|most| size > most);
        too_large || self.thorough == Thorough::Yes && File::open(entry.path()).is_err()
    }
}

/// Secrets, even where the project's own rules would let them in; other repositories, which git would only note
/// by their commit; and our home.
fn is_shut_off(entry: &DirEntry, home: &Path) -> bool {
    let name = entry.file_name();
    if name == ".git" || name.as_bytes().starts_with(b".env") {
        return true;
    }
    let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_dir && (entry.path() == home || entry.path().join(".git").symlink_metadata().is_ok())
}

/// Paths for `--pathspec-from-file`, each with this in front.
pub(crate) fn pathspecs(magic: &str, paths: &[PathBuf]) -> Vec<u8> {
    let mut lines = Vec::new();
    for path in paths {
        lines.extend_from_slice(magic.as_bytes());
        lines.extend_from_slice(OsStr::as_bytes(path.as_os_str()));
        lines.push(0);
    }
    lines
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
