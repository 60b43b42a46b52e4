//! What git says about the checkouts of a repository.

use std::fmt;
use std::path::PathBuf;

use super::Result;
use super::git::Git;

/// One checkout.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    pub path: PathBuf,
    pub branch: Option<String>,
    /// Why it must not be removed.
    pub locked: Option<String>,
}

impl Listed {
    pub async fn all(git: &Git) -> Result<Vec<Self>> {
        let text = git.ask(&["worktree", "list", "--porcelain"]).await?;
        Ok(read(&text))
    }

    /// Whether the session it belongs to still runs, or somebody else wants to keep it.
    pub fn in_use(&self) -> bool {
        self.locked
            .as_deref()
            .is_some_and(|reason| Lock::read(reason).is_none_or(|lock| lock.holds()))
    }
}

/// Which process a checkout belongs to: as the reason of git's own lock, where its owner can read it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pid: u32,
    started: u64,
}

impl Lock {
    pub fn ours() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            started: hermes_proc::start_time(pid).unwrap_or_default(),
        }
    }

    fn read(reason: &str) -> Option<Self> {
        let (pid, started) = reason
            .strip_prefix("hermes process ")?
            .split_once(" started at ")?;
        Some(Self {
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
        })
    }

    fn holds(&self) -> bool {
        // Where the system doesn't tell, nobody can know: then the lock counts.
        self.started == 0 || hermes_proc::start_time(self.pid) == Some(self.started)
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hermes process {} started at {}", self.pid, self.started)
    }
}

fn read(text: &str) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match (key, listed.last_mut()) {
            ("worktree", _) => listed.push(Listed {
                path: PathBuf::from(value),
                ..Listed::default()
            }),
            ("branch", Some(last)) => {
                last.branch = value.strip_prefix("refs/heads/").map(str::to_owned);
            }
            ("locked", Some(last)) => last.locked = Some(value.to_owned()),
            _ => {}
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn gits_list_is_read() {
        let text = "worktree /src/a b\nHEAD 0123\nbranch refs/heads/main\n\n\
                    worktree /src/x\nHEAD 0123\nbranch refs/heads/hermes/hermes-1\nlocked why not\n\n\
                    worktree /src/y\nHEAD 0123\ndetached\nlocked\n";
        let listed = |path: &str, branch: Option<&str>, locked: Option<&str>| Listed {
            path: PathBuf::from(path),
            branch: branch.map(str::to_owned),
            locked: locked.map(str::to_owned),
        };
        assert_eq!(
            read(text),
            [
                listed("/src/a b", Some("main"), None),
                listed("/src/x", Some("hermes/hermes-1"), Some("why not")),
                listed("/src/y", None, Some("")),
            ]
        );
    }

    #[test]
    fn a_lock_holds_while_its_process_lives() {
        let check = |locked: Option<String>, expected: bool| {
            let listed = Listed {
                locked: locked.clone(),
                ..Listed::default()
            };
            assert_eq!(listed.in_use(), expected, "{locked:?}");
        };
        check(None, false);
        check(Some(Lock::ours().to_string()), true);
        check(Some("somebody else's".to_owned()), true);
        let gone = Lock {
            pid: std::process::id(),
            started: 1,
        };
        check(Some(gone.to_string()), false);
    }
}
