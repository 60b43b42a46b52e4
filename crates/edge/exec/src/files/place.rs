//! From what the model wrote to a place in the file system.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use hermes_home::paths::expand;

/// A path a call is about: as asked, as written, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub asked: String,
    /// Absolute and without `.` or `..`, symlinks not followed.
    pub literal: PathBuf,
    /// Where reading and writing really happen.
    pub real: PathBuf,
    /// What deleting and moving are about: a symlink itself, where it lies.
    pub entry: PathBuf,
}

impl Place {
    /// `~` and relative paths are completed; the file need not exist.
    pub async fn find(asked: &str, cwd: &Path, user_home: &Path) -> Self {
        let full = cwd.join(expand(asked, user_home));
        let literal = normal(&full);
        let looked_up = full.clone();
        let (real, entry) =
            tokio::task::spawn_blocking(move || (real_path(&looked_up), entry_path(&looked_up)))
                .await
                // Only a runtime that shuts down refuses the work; the path as written is as good then.
                .unwrap_or_else(|_| (full.clone(), full));
        Self {
            asked: asked.to_owned(),
            literal,
            real,
            entry,
        }
    }

    /// For diffs and lists: relative to where the session is, if it lies there.
    pub fn shown(&self, cwd: &Path) -> String {
        shown(&self.literal, cwd)
    }
}

/// A path as the session's owner would write it.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    let inside = path.strip_prefix(cwd).ok();
    let short = inside.filter(|rest| !rest.as_os_str().is_empty());
    short.unwrap_or(path).to_string_lossy().into_owned()
}

/// Follows every symlink, also dangling ones, and keeps what doesn't exist: this is where a write would land.
///
/// Blocks.
pub fn real_path(path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40; // what Linux itself allows
    let mut links = 0;
    let mut real = PathBuf::new();
    let mut ahead: VecDeque<OsString> = parts(path);
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::read_link(&next) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                for part in parts(&target).into_iter().rev() {
                    ahead.push_front(part);
                }
            }
            _ => real = next,
        }
    }
    real
}

fn entry_path(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => real_path(dir).join(name),
        _ => real_path(path),
    }
}

/// Without `.` and `..`, by the letters alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in parts(path) {
        if part == ".." {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[tokio::test]
    async fn paths_are_completed() {
        let check = async |asked: &str, expected: &str| {
            let place = Place::find(asked, Path::new("/none/w"), Path::new("/none/home")).await;
            assert_eq!(place.literal, Path::new(expected), "{asked}");
        };
        check("a.py", "/none/w/a.py").await;
        check("./x/../a.py", "/none/w/a.py").await;
        check("../../../../x", "/x").await;
        check("~", "/none/home").await;
        check("~/n/a", "/none/home/n/a").await;
        check("~someone/a", "/none/w/~someone/a").await;
        check("/etc//hosts", "/etc/hosts").await;
    }

    #[test]
    fn the_real_path_follows_links_that_lead_nowhere_yet() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("dir")).unwrap();
        symlink("dir/new.txt", root.join("dangling")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let check = |path: &str, expected: &str| {
            assert_eq!(real_path(&root.join(path)), root.join(expected), "{path}");
        };
        check("dir/a/b", "real/a/b");
        check("dangling", "real/new.txt");
        // Through the link, not by the letters: `dir/..` is where `real` lies.
        check("dir/../x", "x");
        check("circle", "circle");
        let entry = |path: &str| entry_path(&root.join(path));
        assert_eq!(entry("dangling"), root.join("dangling"));
        assert_eq!(entry("dir/a"), root.join("real/a"));
    }

    #[test]
    fn paths_are_shown_relative_to_the_session() {
        let check = |path: &str, expected: &str| {
            assert_eq!(shown(Path::new(path), Path::new("/w")), expected);
        };
        check("/w/a/b", "a/b");
        check("/v/a", "/v/a");
        check("/w", "/w");
    }
}
