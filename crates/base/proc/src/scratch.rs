//! Directories for throw-away files, and what killed programs left of theirs.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::start_time;

/// A directory that nobody else may look into. Dropping it removes it; of a program that was killed, the next one
/// to make a directory of the same kind does.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes `hermes-KIND-…` in `temp`.
    pub fn make(temp: &Path, kind: &str) -> io::Result<Self> {
        let prefix = format!("hermes-{kind}-");
        let own = std::process::id();
        let began = start_time(own);
        // A system that doesn't tell about us doesn't tell about others either.
        if began.is_some() {
            sweep(temp, &prefix);
        }
        let began = began.unwrap_or_default();
        let name = format!("{prefix}{own}-{began}-{:08x}", fastrand::u32(..));
        let dir = temp.join(name);
        DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Removes the directories of programs that no longer run.
fn sweep(temp: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(temp) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| owner(name, prefix));
        if owner.is_some_and(|(pid, began)| start_time(pid) != Some(began)) {
            remove(&entry.path());
        }
    }
}

/// Which program a directory belongs to: its number, and when it began. Numbers come again.
fn owner(name: &str, prefix: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(prefix)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Another user's, or somebody else is at it: either way not ours to insist on. The system clears what we cannot.
fn remove(dir: &Path) {
    let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    if fs::remove_dir_all(dir).is_err_and(denied) {
        // Whoever worked in it may have locked a part of it.
        unlock(dir);
        let _ = fs::remove_dir_all(dir);
    }
}

fn unlock(dir: &Path) {
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        // If it isn't ours, it stays as it is.
        let _ = fs::set_permissions(&dir, Permissions::from_mode(0o700));
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        dirs.extend(below.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_program_left_is_removed_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let mine = Scratch::make(temp.path(), "shell").unwrap();
        let reused = format!("hermes-shell-{own}-1-00000000");
        let gone = format!("hermes-shell-{}-1-00000000", u32::MAX - 1);
        let other_kind = format!("hermes-code-{}-1-00000000", u32::MAX - 1);
        let others = [
            "hermes-shell-abc",
            "hermes-worktree",
            "hermes-shell-1",
            &other_kind,
        ];
        for name in [reused.as_str(), &gone].into_iter().chain(others) {
            fs::create_dir(temp.path().join(name)).unwrap();
            fs::write(temp.path().join(name).join("exports.sh"), "x").unwrap();
        }
        let next = Scratch::make(temp.path(), "shell").unwrap();
        assert!(mine.path().exists() && next.path().exists());
        assert!(!temp.path().join(reused).exists() && !temp.path().join(gone).exists());
        assert!(others.iter().all(|name| temp.path().join(name).exists()));
    }

    #[test]
    fn it_is_the_owners_alone_and_gone_afterwards_whatever_was_done_to_it() {
        let temp = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(temp.path(), "code").unwrap();
        let dir = scratch.path().to_owned();
        assert_eq!(
            fs::metadata(&dir).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let locked = dir.join("a/b");
        fs::create_dir_all(&locked).unwrap();
        fs::write(locked.join("file"), "x").unwrap();
        for dir in [locked, dir.join("a")] {
            fs::set_permissions(dir, Permissions::from_mode(0o000)).unwrap();
        }
        drop(scratch);
        assert!(!dir.exists());
    }
}
