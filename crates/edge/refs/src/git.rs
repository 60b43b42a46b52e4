//! What git says about the workspace: differences and commits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::Env;
use hermes_proc::{Errors, Exit, Piped, Spawn, Stdin, Tty};
use tokio::io::AsyncReadExt;

use crate::Bound;
use crate::parse::What;
use crate::place::Ground;
use crate::read::Content;

const TIME: Duration = Duration::from_secs(30);
const MOST_COMMITS: u32 = 10;

/// Nothing that a repository configures is run, and nothing is changed.
const SETTINGS: [&str; 8] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "log.showSignature=false",
    // What a partial clone lacks is not fetched, in whatever way its remote is reached.
    "-c",
    "protocol.allow=never",
];
/// Filters that others set are the owner's own; these are the repository's.
const SCOPES: [&str; 2] = ["local", "worktree"];

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
            ("GIT_NO_LAZY_FETCH", "1"),
        ];
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            env: fixed.map(pair).into(),
            path,
        }
    }

    /// `Err` where `what` is not about git, or git has nothing.
    pub(crate) async fn show(
        &self,
        what: &What,
        ground: &Ground,
        bound: Bound,
    ) -> Result<Content, Trouble> {
        let count;
        // A submodule has settings of its own, which its own git would follow.
        let args: &[&str] = match what {
            What::Diff => &["diff", "--ignore-submodules=dirty"],
            What::Staged => &["diff", "--staged", "--ignore-submodules=dirty"],
            What::Git(typed) => {
                count = format!("-{}", commits(typed).ok_or(Trouble::NoNumber)?);
                &[
                    "log",
                    count.as_str(),
                    "--patch",
                    "--stat",
                    "--format=medium",
                ]
            }
            _ => return Err(Trouble::Nothing),
        };
        let text = tokio::time::timeout(TIME, self.told(args, ground, bound)).await;
        let text = text.unwrap_or(Err(Trouble::Slow))?;
        match text.trim().is_empty() {
            true => Err(Trouble::Nothing),
            false => Ok(Content::Fenced {
                language: "diff",
                text,
            }),
        }
    }

    async fn told(&self, args: &[&str], ground: &Ground, bound: Bound) -> Result<String, Trouble> {
        let dir = &ground.cwd;
        let mut above = dir.ancestors();
        let Some(repository) = above.find(|dir| dir.join(".git").exists()) else {
            return Err(Trouble::NoRepository(dir.to_owned()));
        };
        // Whoever keeps all of their home in git shows one project of it.
        let workspace = ground.workspace.to_string_lossy();
        let is_whole = std::fs::canonicalize(repository).is_ok_and(|top| top == ground.workspace);
        let only: &[&str] = if is_whole { &[] } else { &["--", &workspace] };
        let mut env = self.env.clone();
        env.extend(self.without_filters(dir).await?);
        let plain = ["--no-color", "--no-ext-diff", "--no-textconv"];
        let args: Vec<&str> = args.iter().chain(&plain).chain(only).copied().collect();
        match self.run(&args, dir, env, bound).await? {
            (text, Exit::Code(0)) => Ok(text),
            (_, exit) => Err(Trouble::Failed(exit.number())),
        }
    }

    /// Settings that switch off what the repository would run on files to compare them.
    async fn without_filters(&self, dir: &Path) -> Result<Vec<(String, String)>, Trouble> {
        let list = [
            "config",
            "--includes",
            "--show-scope",
            "--null",
            "--name-only",
            "--get-regexp",
            r"^filter\.",
        ];
        let bound = Bound { bytes: 1 << 20 };
        let (told, exit) = self.run(&list, dir, self.env.clone(), bound).await?;
        // 1: there are none.
        if !matches!(exit, Exit::Code(0 | 1)) {
            return Err(Trouble::Failed(exit.number()));
        }
        let words: Vec<&str> = told.split('\0').collect();
        let pairs = words.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        let theirs = pairs.filter(|(scope, _)| SCOPES.contains(scope));
        let names = theirs.filter_map(|(_, key)| Some(key.rsplit_once('.')?.0));
        let names: BTreeSet<&str> = names.collect();
        let off = [("clean", ""), ("process", ""), ("required", "false")];
        let off = names
            .into_iter()
            .flat_map(|name| off.map(|(key, value)| (format!("{name}.{key}"), value)));
        let mut env = Vec::new();
        for (key, value) in off {
            let at = env.len() / 2;
            env.push((format!("GIT_CONFIG_KEY_{at}"), key));
            env.push((format!("GIT_CONFIG_VALUE_{at}"), value.to_owned()));
        }
        env.push(("GIT_CONFIG_COUNT".to_owned(), (env.len() / 2).to_string()));
        Ok(env)
    }

    /// What git says and how it ends. Dropping this kills it.
    async fn run(
        &self,
        args: &[&str],
        dir: &Path,
        env: Vec<(String, String)>,
        bound: Bound,
    ) -> Result<(String, Exit), Trouble> {
        let programs = std::env::split_paths(&self.path).map(|dir| dir.join("git"));
        let program = programs.into_iter().find(|file| file.is_file());
        let all = SETTINGS.iter().chain(args);
        let spawn = Spawn {
            program: program.ok_or(Trouble::NoGit)?,
            args: all.map(|arg| (*arg).to_owned()).collect(),
            env,
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
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match bytes.len() >= bound.bytes {
            // More than may be attached: it is killed here.
            true => Ok((text, Exit::Code(0))),
            false => Ok((text, process.exited().await)),
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
