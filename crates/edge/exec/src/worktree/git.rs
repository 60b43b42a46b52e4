//! Running git: in one directory, with a time limit and bounded output.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{Capture, Event, Exit, Spawn, Stdin, Tty};

use super::Error;

/// Checking out a large repository takes a while; anything longer has hung.
const TIME: Duration = Duration::from_secs(300);

/// More than any list we ask for; of a status only the beginning matters.
const MAX_OUTPUT: usize = 256 * 1024;

/// Variables that would make git look at another repository than the one it stands in.
pub const REPOSITORY_VARIABLES: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// Git in one directory.
#[derive(Clone)]
pub(super) struct Git {
    dir: PathBuf,
    env: Vec<(String, String)>,
}

/// What git may say besides its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remarks {
    /// They are the reason if it fails.
    Kept,
    /// They would be taken for a part of the answer.
    Dropped,
}

impl Git {
    pub fn new(dir: &Path, env: &[(String, String)]) -> Self {
        let mut env: Vec<_> = env
            .iter()
            .filter(|(name, _)| !REPOSITORY_VARIABLES.contains(&name.as_str()))
            .cloned()
            .collect();
        env.push(("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()));
        Self {
            dir: dir.to_owned(),
            env,
        }
    }

    pub fn at(&self, dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            env: self.env.clone(),
        }
    }

    /// Does something; if it fails, git says why.
    pub async fn act<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, Error> {
        let (exit, output) = self.run(args, Remarks::Kept).await?;
        match exit {
            Exit::Code(0) => Ok(output),
            _ => Err(Error::Git {
                what: what(args),
                why: reason(&output),
            }),
        }
    }

    /// The answer to a question, without remarks.
    pub async fn ask<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, Error> {
        let (exit, output) = self.run(args, Remarks::Dropped).await?;
        match exit {
            Exit::Code(0) => Ok(output),
            exit => Err(Error::Git {
                what: what(args),
                why: format!("it ended with {}", exit.number()),
            }),
        }
    }

    /// Whether git agrees.
    pub async fn agrees<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<bool, Error> {
        let (exit, _) = self.run(args, Remarks::Dropped).await?;
        Ok(exit == Exit::Code(0))
    }

    async fn run<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        remarks: Remarks,
    ) -> Result<(Exit, String), Error> {
        let spawn = self.spawn(args, remarks);
        match tokio::time::timeout(TIME, listen(spawn)).await {
            Ok(Ok(heard)) => Ok(heard),
            Ok(Err(error)) if error.is_missing() => Err(Error::NoGit),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::Git {
                what: what(args),
                why: "it took too long".to_owned(),
            }),
        }
    }

    fn spawn<A: AsRef<OsStr>>(&self, args: &[A], remarks: Remarks) -> Spawn {
        let args = args
            .iter()
            .map(|arg| arg.as_ref().to_string_lossy().into_owned());
        let (program, args) = match remarks {
            Remarks::Kept => ("git", args.collect()),
            // A child has one output for both; only a shell can take them apart.
            Remarks::Dropped => {
                let head = ["-c", "exec git \"$@\" 2>/dev/null", "git"].map(str::to_owned);
                ("sh", head.into_iter().chain(args).collect())
            }
        };
        Spawn {
            program: PathBuf::from(program),
            args,
            env: self.env.clone(),
            dir: self.dir.clone(),
            stdin: Stdin::Null,
            tty: Tty::None,
        }
    }
}

impl std::fmt::Debug for Git {
    /// Without the environment, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Git")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

async fn listen(spawn: Spawn) -> Result<(Exit, String), hermes_proc::Error> {
    let mut child = spawn.start()?;
    let mut output = Capture::new(MAX_OUTPUT, 0);
    loop {
        match child.next().await {
            Event::Output(text) => output.push(&text),
            Event::Ended(exit) => return Ok((exit, output.take().head)),
        }
    }
}

/// `git worktree add`
fn what<A: AsRef<OsStr>>(args: &[A]) -> String {
    let words = args
        .iter()
        .map(|arg| arg.as_ref().to_string_lossy())
        .take_while(|word| word.starts_with(|first: char| first.is_ascii_lowercase()));
    words.fold("git".to_owned(), |all, word| format!("{all} {word}"))
}

/// The line that says what went wrong, or the last one.
fn reason(output: &str) -> String {
    let mut lines = output.lines().filter(|line| !line.trim().is_empty());
    let fatal = lines
        .clone()
        .find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    fatal
        .or(lines.next_back())
        .unwrap_or("it failed")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_in_gits_own_words() {
        assert_eq!(
            what(&["worktree", "add", "-b", "x", "/somewhere"]),
            "git worktree add"
        );
        assert_eq!(reason("Preparing\nfatal: no\nhint: more\n"), "fatal: no");
        assert_eq!(reason("one\ntwo\n\n"), "two");
        assert_eq!(reason(""), "it failed");
    }
}
