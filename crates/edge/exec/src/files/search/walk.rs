//! Going through a tree the way ripgrep does: no hidden files, nothing `.gitignore` names, nothing that is secret.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use globset::{GlobBuilder, GlobMatcher};
use hermes_home::redact::Redactor;
use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use crate::files::guard::{Access, PathGuard};
use crate::files::place::shown;

/// Where a search goes and when it must end.
#[derive(Debug)]
pub(super) struct Tree {
    /// A directory or a file.
    pub root: PathBuf,
    pub cwd: PathBuf,
    pub guard: PathGuard,
    pub redactor: Redactor,
    pub cancel: CancellationToken,
    pub deadline: Instant,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ended {
    /// Everything was looked at.
    #[default]
    Done,
    /// There were results enough.
    Enough,
    OutOfTime,
    Cancelled,
}

impl Tree {
    /// Shows each file to `visit`, in the order of their paths, until it breaks off or time is over. Also says how
    /// many files were left out as secret.
    pub fn walk(&self, mut visit: impl FnMut(&DirEntry) -> ControlFlow<Ended>) -> (Ended, usize) {
        let mut omitted = 0;
        for entry in self.walker() {
            if let ControlFlow::Break(why) = self.in_time() {
                return (why, omitted);
            }
            // What cannot be opened cannot match; ripgrep skips it as well.
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            if self.guard.check(entry.path(), Access::Read).is_err() {
                omitted += 1;
                continue;
            }
            if let ControlFlow::Break(why) = visit(&entry) {
                return (why, omitted);
            }
        }
        (Ended::Done, omitted)
    }

    /// To be asked often.
    pub fn in_time(&self) -> ControlFlow<Ended> {
        if self.cancel.is_cancelled() {
            ControlFlow::Break(Ended::Cancelled)
        } else if Instant::now() >= self.deadline {
            ControlFlow::Break(Ended::OutOfTime)
        } else {
            ControlFlow::Continue(())
        }
    }

    pub fn shown(&self, path: &Path) -> String {
        shown(path, &self.cwd)
    }

    fn walker(&self) -> ignore::Walk {
        WalkBuilder::new(&self.root)
            // A .gitignore counts also where there is no repository (yet), and nobody's own settings do.
            .require_git(false)
            .git_global(false)
            .sort_by_file_path(Path::cmp)
            .build()
    }
}

/// Which files are meant: a glob on the base name, or on the path below the root if it has a slash.
#[derive(Debug)]
pub(super) struct Names {
    glob: GlobMatcher,
    by_path: bool,
    /// `!glob`: all but these.
    inverted: bool,
}

impl Names {
    pub fn new(pattern: &str) -> Result<Self, String> {
        let (inverted, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let by_path = pattern.contains('/');
        let pattern = if by_path {
            format!(
                "**/{}",
                pattern.trim_start_matches("./").trim_start_matches('/')
            )
        } else {
            pattern.to_owned()
        };
        let glob = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("Invalid glob: {error}"))?;
        Ok(Self {
            glob: glob.compile_matcher(),
            by_path,
            inverted,
        })
    }

    pub fn admits(&self, path: &Path, root: &Path) -> bool {
        let name = if self.by_path {
            path.strip_prefix(root).unwrap_or(path)
        } else {
            Path::new(path.file_name().unwrap_or_default())
        };
        self.glob.is_match(name) != self.inverted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_about_names_unless_they_have_a_slash() {
        let check = |glob: &str, path: &str, expected: bool| {
            let names = Names::new(glob).unwrap();
            let path = Path::new("/w").join(path);
            assert_eq!(
                names.admits(&path, Path::new("/w")),
                expected,
                "{glob} {path:?}"
            );
        };
        check("*.py", "a/b.py", true);
        check("*.py", "a.py/b", false);
        check("*.{rs,toml}", "x/Cargo.toml", true);
        check("!*.py", "a.rs", true);
        check("!*.py", "a.py", false);
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "x/src/a.rs", true);
        check("src/*.rs", "src/b/a.rs", false);
        check("./src/**/*.rs", "src/b/a.rs", true);
        assert!(Names::new("a[").is_err());
    }
}
