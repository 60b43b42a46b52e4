//! The scripted model server as a process, for whatever talks to it from outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// How long it may take to say what it was asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server; ends when dropped.
pub struct Server {
    process: Child,
    pub url: String,
}

/// A request for a model's reply, as the server took it down.
#[derive(Debug, Deserialize)]
pub struct Request {
    pub at_unix_us: u64,
    pub body: Value,
    is_call: bool,
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

    /// Everybody who wanted a reply so far.
    pub fn calls(&self) -> Result<Vec<Request>> {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).context("scripted-model")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // The old version of the protocol: the answer ends with the connection.
        write!(
            stream,
            "GET /_scripted/requests HTTP/1.0\r\nhost: {address}\r\n\r\n"
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (_, body) = response
            .split_once("\r\n\r\n")
            .context("scripted-model said nothing")?;
        let mut requests: Vec<Request> = serde_json::from_str(body)?;
        requests.retain(|request| request.is_call);
        Ok(requests)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing to do if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
