//! Running git on the store: cut off from every other configuration, with a time limit and bounded output.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{Errors, Exit, Input, Piped, Spawn, Stdin, Tty};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::unix::pipe;

use crate::{Error, Result};

/// More than the names of all files a project may have.
const MAX_OUTPUT: usize = 32 << 20;
const MAX_ERRORS: usize = 16 << 10;

/// What no repository and no user can change, since there is nobody to ask and nothing of theirs may run.
const SETTINGS: [&str; 18] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    // A graph of commits would still name those that are gone.
    "-c",
    "gc.writeCommitGraph=false",
    "-c",
    "core.commitGraph=false",
    "-c",
    "core.autocrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
];

/// Git, working on the store.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    pub program: PathBuf,
    /// Git starts programs of its own.
    pub path: String,
    pub store: PathBuf,
    pub time: Duration,
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call<'g> {
    git: &'g Git,
    args: Vec<String>,
    dir: PathBuf,
    env: Vec<(String, String)>,
    input: Vec<u8>,
    time: Duration,
}

/// What a call gave.
#[derive(Debug)]
pub(crate) struct Said {
    exit: Exit,
    pub output: Vec<u8>,
    /// Not all of it was kept.
    pub cut: bool,
    errors: Vec<u8>,
}

/// The git of this search path.
pub(crate) fn find(path: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|dir| dir.join("git"))
        .find(|file| file.is_file())
}

impl Git {
    /// On the store alone, without a work tree.
    pub fn call(&self, args: &[&str]) -> Call<'_> {
        let head = SETTINGS.iter().chain(args).map(|arg| (*arg).to_owned());
        Call {
            git: self,
            args: head.collect(),
            dir: self.store.clone(),
            env: vec![pair("GIT_DIR", &self.store.to_string_lossy())],
            input: Vec::new(),
            time: self.time,
        }
    }
}

impl Call<'_> {
    /// In a work tree, with an index.
    pub fn on(mut self, tree: &Path, index: &Path) -> Self {
        self.dir = tree.to_owned();
        self.env.extend([
            pair("GIT_WORK_TREE", &tree.to_string_lossy()),
            pair("GIT_INDEX_FILE", &index.to_string_lossy()),
        ]);
        self
    }

    /// Without a repository, to make one.
    pub fn nowhere(mut self, dir: &Path) -> Self {
        self.dir = dir.to_owned();
        self.env.clear();
        self
    }

    pub fn fed(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// With one more variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push(pair(name, value));
        self
    }

    /// With more time than a usual call.
    pub fn times(mut self, factor: u32) -> Self {
        self.time *= factor;
        self
    }

    /// Runs it; fails if git does.
    pub async fn run(self) -> Result<Said> {
        let what = self.what();
        let said = self.try_run().await?;
        match said.exit {
            Exit::Code(0) => Ok(said),
            _ => Err(Error::Git {
                what,
                why: reason(&String::from_utf8_lossy(&said.errors), said.exit),
            }),
        }
    }

    /// The one line it says.
    pub async fn line(self) -> Result<String> {
        let said = self.run().await?;
        Ok(said.text().trim().to_owned())
    }

    async fn try_run(self) -> Result<Said> {
        let (what, time) = (self.what(), self.time);
        let (spawn, input) = self.spawn();
        match tokio::time::timeout(time, listen(spawn, input)).await {
            Ok(said) => said,
            Err(_) => Err(Error::Slow {
                what,
                seconds: time.as_secs(),
            }),
        }
    }

    fn spawn(self) -> (Spawn, Vec<u8>) {
        let fixed = [
            ("PATH", self.git.path.as_str()),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_AUTHOR_NAME", "Hermes Checkpoint"),
            ("GIT_AUTHOR_EMAIL", "hermes@local"),
            ("GIT_COMMITTER_NAME", "Hermes Checkpoint"),
            ("GIT_COMMITTER_EMAIL", "hermes@local"),
        ];
        let fixed = fixed.map(|(name, value)| pair(name, value));
        let spawn = Spawn {
            program: self.git.program.clone(),
            args: self.args,
            env: fixed.into_iter().chain(self.env).collect(),
            dir: self.dir,
            stdin: Stdin::Null,
            tty: Tty::None,
        };
        (spawn, self.input)
    }

    fn what(&self) -> String {
        self.args.get(SETTINGS.len()).cloned().unwrap_or_default()
    }
}

impl Said {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

async fn listen(spawn: Spawn, input: Vec<u8>) -> Result<Said> {
    let failed = Error::io(&spawn.program);
    let pipe = || -> io::Result<_> {
        let (reader, writer) = io::pipe()?;
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        Ok((reader, File::from(OwnedFd::from(writer))))
    };
    let (mut complaints, writer) = pipe().map_err(failed)?;
    let Piped {
        input: pipe,
        mut output,
        mut process,
    } = spawn.start_piped(Errors::File(writer))?;
    let ((), (output, cut), (errors, _)) = tokio::join!(
        feed(pipe, &input),
        read(&mut output, MAX_OUTPUT),
        read(&mut complaints, MAX_ERRORS),
    );
    let exit = process.exited().await;
    Ok(Said {
        exit,
        output,
        cut,
        errors,
    })
}

async fn feed(mut pipe: Input, bytes: &[u8]) {
    // Git that ends without reading says why.
    let _ = pipe.write(bytes).await;
}

/// The first `most` bytes, and whether there were more; those are read too, so that the writer ends.
async fn read(from: &mut (impl AsyncRead + Unpin), most: usize) -> (Vec<u8>, bool) {
    let (mut kept, mut cut) = (Vec::new(), false);
    let mut buffer = vec![0; 64 << 10];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        let room = size.min(most - kept.len());
        kept.extend_from_slice(&buffer[..room]);
        cut |= room < size;
    }
    (kept, cut)
}

/// The line that says what went wrong, or the last one.
fn reason(errors: &str, exit: Exit) -> String {
    let mut lines = errors.lines().filter(|line| !line.trim().is_empty());
    let wrong = lines.clone().find_map(|line| {
        let text = line.strip_prefix("fatal: ");
        text.or_else(|| line.strip_prefix("error: "))
    });
    match wrong.or_else(|| lines.next_back()) {
        Some(line) => line.to_owned(),
        None => format!("it ended with {}", exit.number()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_in_gits_own_words() {
        let check = |errors: &str, expected: &str| {
            assert_eq!(reason(errors, Exit::Code(7)), expected);
        };
        check("warning: x\nerror: no\nfatal: more\n", "no");
        check("one\ntwo\n\n", "two");
        check("", "it ended with 7");
    }
}
