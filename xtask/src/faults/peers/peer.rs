//! Somebody else's client as a process that does what it is told, line by line.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::command::as_user;

/// Longer than a peer waits for a call.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Peer {
    pub name: &'static str,
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// What a peer says about one call.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// `ok`, or a code of the matrix.
    pub outcome: String,
    pub ms: u64,
    pub text: String,
}

/// A client with a connection; ends when dropped.
pub struct Connected {
    process: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Peer {
    /// Starts the client for one server; `None` if it could not connect.
    pub fn connect(&self, server: &Value, user: &Path) -> Result<Option<Connected>> {
        let mut command = as_user(&self.program, user);
        command.args(&self.args).arg(server.to_string());
        command.arg(user.join(".hermes/mcp-tokens/faulty.json"));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().context("cannot start the peer")?;
        let stdin = process.stdin.take().context("the peer has no stdin")?;
        let stdout = process.stdout.take().context("the peer has no stdout")?;
        let (sender, lines) = mpsc::channel();
        // Ends with the process.
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            let _ = lines.map(|line| sender.send(line)).find(Result::is_err);
        });
        let connected = Connected {
            process,
            stdin,
            lines,
        };
        let is_ready = connected.line()?["ready"] == true;
        Ok(is_ready.then_some(connected))
    }
}

impl Connected {
    pub fn ask(&mut self, wish: &Value) -> Result<Vec<Answer>> {
        #[derive(Deserialize)]
        struct Said {
            answers: Vec<Answer>,
        }
        writeln!(self.stdin, "{wish}")?;
        let said: Said = serde_json::from_value(self.line()?)?;
        Ok(said.answers)
    }

    fn line(&self) -> Result<Value> {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.context("the peer says nothing")?;
        serde_json::from_str(&line).with_context(|| line.clone())
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        // Nothing to do if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
