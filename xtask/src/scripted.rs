//! The scripted model server as a process, for whatever talks to it from outside.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// A running server; ends when dropped.
pub struct Server {
    process: Child,
    pub url: String,
}

impl Server {
    /// It prints its address on the first line, once it listens.
    pub fn start(program: &Path, script: &Path) -> Result<Self> {
        let mut process = Command::new(program)
            .arg(script)
            .stdout(Stdio::piped())
            .spawn()
            .context("scripted-model")?;
        let stdout = process
            .stdout
            .take()
            .context("scripted-model has no stdout")?;
        let mut url = String::new();
        BufReader::new(stdout).read_line(&mut url)?;
        let url = url.trim().to_owned();
        Ok(Self { process, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing to do if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
