//! What git says about the workspace: differences and commits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::Env;
use hermes_proc::{Errors, Exit, Piped, Spawn, Stdin, Tty};
use tokio::io::AsyncReadExt;

use crate::Bound;
use crate::parse::What;
use crate::read::Content;

const TIME: Duration = Duration::from_secs(30);
const MOST_COMMITS: u32 = 10;

/// Nothing that a repository configures is run, and nothing is changed.
const SETTINGS: [&str; 6] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "log.showSignature=false",
];

/// Why git has nothing to tell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("there is no git on PATH")]
    NoGit,
    #[error("{} is in no git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("@git: takes a number of commits from 1 to {MOST_COMMITS}")]
    NoNumber,
    #[error("there is nothing to show")]
    Nothing,
    #[error("git took longer than {} s", TIME.as_secs())]
    Slow,
    #[error("git failed ({0})")]
    Failed(i32),
    #[error(transparent)]
    Proc(#[from] hermes_proc::Error),
}

/// What a child of ours may know.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    env: Vec<(String, String)>,
    path: String,
}

impl Git {
    pub fn of(env: &Env) -> Self {
        let path = env.get("PATH").unwrap_or_default().to_owned();
        let home = env.user_home().display().to_string();
        let fixed = [
            ("PATH", path.as_str()),
            // The owner's own settings, such as which directories are safe.
            ("HOME", home.as_str()),
            ("LC_ALL", "C"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ];
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            env: fixed.map(pair).into(),
            path,
        }
    }

    /// `Err` where `what` is not about git, or git has nothing.
    pub async fn show(&self, what: &What, dir: &Path, bound: Bound) -> Result<Content, Trouble> {
        let count;
        let args: &[&str] = match what {
            What::Diff => &["diff"],
            What::Staged => &["diff", "--staged"],
            What::Git(typed) => {
                count = format!("-{}", commits(typed).ok_or(Trouble::NoNumber)?);
                &["log", count.as_str(), "--patch", "--stat"]
            }
            _ => return Err(Trouble::Nothing),
        };
        let run = self.run(args, dir, bound);
        let text = tokio::time::timeout(TIME, run).await;
        let text = text.unwrap_or(Err(Trouble::Slow))?;
        match text.trim().is_empty() {
            true => Err(Trouble::Nothing),
            false => Ok(Content::Fenced {
                language: "diff",
                text,
            }),
        }
    }

    /// Dropping this kills git.
    async fn run(&self, args: &[&str], dir: &Path, bound: Bound) -> Result<String, Trouble> {
        if !dir.ancestors().any(|dir| dir.join(".git").exists()) {
            return Err(Trouble::NoRepository(dir.to_owned()));
        }
        let programs = std::env::split_paths(&self.path).map(|dir| dir.join("git"));
        let program = programs.into_iter().find(|file| file.is_file());
        let plain = ["--no-color", "--no-ext-diff", "--no-textconv"];
        let all = SETTINGS.iter().chain(args).chain(&plain);
        let spawn = Spawn {
            program: program.ok_or(Trouble::NoGit)?,
            args: all.map(|arg| (*arg).to_owned()).collect(),
            env: self.env.clone(),
            dir: dir.to_owned(),
            stdin: Stdin::Null,
            tty: Tty::None,
        };
        let Piped {
            output,
            mut process,
            ..
        } = spawn.start_piped(Errors::Discard)?;
        let mut bytes = Vec::new();
        let mut output = output.take(bound.bytes as u64);
        // What was read before a failure is not shown: git's exit tells of it.
        let _ = output.read_to_end(&mut bytes).await;
        if bytes.len() >= bound.bytes {
            // More than may be attached: it is killed here.
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        match process.exited().await {
            Exit::Code(0) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            exit => Err(Trouble::Failed(exit.number())),
        }
    }
}

/// How many commits are meant; too many means as many as may be.
fn commits(typed: &str) -> Option<u32> {
    let count: u32 = typed.parse().ok()?;
    (count > 0).then(|| count.min(MOST_COMMITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_to_ten_commits() {
        let check = |typed, expected| assert_eq!(commits(typed), expected, "{typed}");
        check("1", Some(1));
        check("10", Some(10));
        check("99", Some(10));
        check("0", None);
        check("-1", None);
        check("main", None);
    }
}
