//! Runs a program as a user would, in an environment the test knows completely.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::{Exit, TempHome};

/// How long a command may take unless the test says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// A command about to run. Nothing of the test's own environment reaches it but PATH.
#[derive(Clone, Debug)]
pub struct Cmd {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: BTreeMap<OsString, OsString>,
    pub(crate) dir: PathBuf,
    stdin: Vec<u8>,
    timeout: Duration,
    redactions: Vec<(String, &'static str)>,
}

impl Cmd {
    pub(crate) fn new(home: &TempHome, program: OsString) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env = [
            ("PATH", path),
            ("HOME", home.home().into()),
            ("HERMES_HOME", home.hermes().into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
        ];
        Self {
            program,
            args: Vec::new(),
            env: env.map(|(name, value)| (name.into(), value)).into(),
            dir: home.work(),
            stdin: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            redactions: home.redactions(),
        }
    }

    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.remove(&name.into());
        self
    }

    /// Everything the program can read from its standard input; nothing unless set.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Where it runs: [`TempHome::work`] unless set.
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// After this long, the program and its children are killed: 20 s unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs to the end, blocking this thread.
    #[track_caller]
    pub fn run(self) -> Output {
        let mut child = self.spawn();
        let group = Pid::from_raw(child.id() as i32);
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let text = self.stdin;
        // Two threads, as a program may fill its output pipe before it reads its input. A program that
        // ends without reading breaks the pipe, which is its right.
        thread::spawn(move || stdin.write_all(&text));
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));

        let (result, timed_out) = match ended.recv_timeout(self.timeout) {
            Ok(result) => (result, false),
            Err(_) => {
                // It may have ended this very moment: then there is no such group.
                let _ = killpg(group, Signal::SIGKILL);
                let result = ended.recv_timeout(Duration::from_secs(5));
                (result.expect("output ends after a kill"), true)
            }
        };
        let output = result.expect("wait for the command");
        Output {
            exit: if timed_out {
                Exit::TimedOut
            } else {
                output.status.into()
            },
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            redactions: self.redactions,
        }
    }

    #[track_caller]
    fn spawn(&self) -> Child {
        Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(&self.env)
            .current_dir(&self.dir)
            // A group of its own, so that a kill reaches its children too.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("start {}: {error}", self.program.display()))
    }
}

/// What a finished command left. Displays as a snapshot.
#[derive(Clone, Debug)]
pub struct Output {
    pub exit: Exit,
    pub stdout: String,
    pub stderr: String,
    redactions: Vec<(String, &'static str)>,
}

impl Output {
    /// Standard output of a command that must have succeeded.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.exit, Exit::Code(0), "{self}");
        &self.stdout
    }

    /// Exit code, stdout and stderr as one text in which the temporary paths have fixed names: for
    /// `insta::assert_snapshot!`.
    pub fn snapshot(&self) -> String {
        let section = |name: &str, text: &str| match text.trim_end_matches('\n') {
            "" => format!("--- {name}\n"),
            text => format!("--- {name}\n{text}\n"),
        };
        let text = format!(
            "exit: {}\n{}{}",
            self.exit,
            section("stdout", &self.stdout),
            section("stderr", &self.stderr),
        );
        self.redactions
            .iter()
            .fold(text, |text, (path, name)| text.replace(path, name))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.snapshot())
    }
}
