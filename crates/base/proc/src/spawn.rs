//! Starting a child: what to run, where, with what.

use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::net::unix::pipe;

use crate::running::{Output, Waiter};
use crate::{Error, Errors, Group, Input, Piped, Running, pty};

/// A program about to run.
#[derive(Clone)]
pub struct Spawn {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// All of it: nothing of our own environment is handed down.
    pub env: Vec<(String, String)>,
    pub dir: PathBuf,
    pub stdin: Stdin,
    pub tty: Tty,
}

/// What the child can read. In a terminal, it is always the keyboard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    #[default]
    Null,
    /// These, and then the end.
    Bytes(Vec<u8>),
    /// Whatever [`Running::input`] is given.
    Open,
}

/// Whether the child believes it is talking to a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tty {
    #[default]
    None,
    Sized {
        rows: u16,
        cols: u16,
    },
}

impl Spawn {
    /// Starts it. Needs a tokio runtime with I/O and time.
    pub fn start(self) -> Result<Running, Error> {
        let failed = Error::of(&self.program);
        match self.tty {
            Tty::None => self.start_merged(),
            Tty::Sized { rows, cols } => pty::start(&self, rows, cols),
        }
        .map_err(failed)
    }

    /// Starts it with a pipe to its input and one from its output; what it says on its error output goes to
    /// `errors`. `stdin` and `tty` say nothing here. Needs a tokio runtime with I/O and time.
    pub fn start_piped(self, errors: Errors) -> Result<Piped, Error> {
        let failed = Error::of(&self.program);
        Piped::start(self.command(), errors).map_err(failed)
    }

    fn start_merged(self) -> io::Result<Running> {
        // One pipe for both: what a program says comes in the order it was said.
        let (reader, writer) = io::pipe()?;
        let mut command = self.command();
        command.stdout(writer.try_clone()?).stderr(writer);
        command.stdin(match self.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Bytes(_) | Stdin::Open => Stdio::piped(),
        });
        let mut command = tokio::process::Command::from(command);
        let mut child = command.spawn()?;
        // The command holds the writing end of the pipe; with it alive, the output would never end.
        drop(command);
        let leader = child.id().and_then(Group::led_by);
        let group = leader.ok_or_else(|| io::Error::other("it has no process number"))?;
        let input = child.stdin.take().map(Input::pipe);
        let output = Output::Pipe(pipe::Receiver::from_owned_fd(reader.into())?);
        let running = Running::new(group, output, Waiter::Child(Box::new(child)));
        Ok(match self.stdin {
            Stdin::Bytes(bytes) => running.fed(input, bytes),
            _ => running.with_input(input),
        })
    }

    fn command(&self) -> Command {
        #[expect(clippy::disallowed_methods, reason = "this is the crate that may")]
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.dir);
        command.env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        // A group alone would not do: a child that shares our terminal can ask for a password there, over the
        // screen of whoever uses it, and is stopped for trying. A session of its own has no terminal.
        #[expect(
            unsafe_code,
            reason = "std has no safe way yet; setsid is async-signal-safe and touches no memory"
        )]
        unsafe {
            command.pre_exec(|| Ok(nix::unistd::setsid().map(drop)?));
        }
        command
    }
}

impl fmt::Debug for Spawn {
    /// Without the environment, which holds secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("dir", &self.dir)
            .field("tty", &self.tty)
            .finish_non_exhaustive()
    }
}

/// Where to run what belongs in `dir`: there, or what is left of the way to it that can be entered.
pub fn nearest_dir(dir: &Path, otherwise: &Path) -> PathBuf {
    let mut way = dir.ancestors();
    // Looking at `dir/.` needs the right to enter `dir`.
    let nearest = way.find(|dir| dir.join(".").is_dir());
    nearest.unwrap_or(otherwise).to_owned()
}
