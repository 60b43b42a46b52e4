//! The directory with a shell's state, and what killed programs left of theirs.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use hermes_proc::start_time;

const PREFIX: &str = "hermes-shell-";

/// Makes one that nobody else may look into: variables can hold secrets we don't know to be some.
pub(super) fn make(temp: &Path) -> io::Result<PathBuf> {
    let own = std::process::id();
    let began = start_time(own);
    // A system that doesn't tell about us doesn't tell about others either.
    if began.is_some() {
        sweep(temp);
    }
    let began = began.unwrap_or_default();
    let name = format!("{PREFIX}{own}-{began}-{:08x}", fastrand::u32(..));
    let dir = temp.join(name);
    DirBuilder::new().mode(0o700).create(&dir)?;
    Ok(dir)
}

/// Removes the directories of programs that no longer run.
fn sweep(temp: &Path) {
    let Ok(entries) = fs::read_dir(temp) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|(pid, began)| start_time(pid) != Some(began)) {
            // Another user's, or somebody else is at it: either way not ours to insist on.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Which program a directory belongs to: its number, and when it began. Numbers come again.
fn owner(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_program_left_is_removed_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let mine = make(temp.path()).unwrap();
        let reused = format!("{PREFIX}{own}-1-00000000");
        let gone = format!("{PREFIX}{}-1-00000000", u32::MAX - 1);
        let others = ["hermes-shell-abc", "hermes-worktree", "hermes-shell-1"];
        for name in [reused.as_str(), &gone].into_iter().chain(others) {
            fs::create_dir(temp.path().join(name)).unwrap();
            fs::write(temp.path().join(name).join("exports.sh"), "x").unwrap();
        }
        let next = make(temp.path()).unwrap();
        assert!(mine.exists() && next.exists());
        assert!(!temp.path().join(reused).exists() && !temp.path().join(gone).exists());
        assert!(others.iter().all(|name| temp.path().join(name).exists()));
    }
}
