//! The flaky server as a process, told what to do over its control port.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(15);

/// A running server; ends when dropped.
pub struct Flaky {
    process: Child,
    pub url: String,
    /// `HOST:PORT`
    pub control: String,
}

impl Flaky {
    pub fn start(program: &Path, options: &Value, folder: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Places {
            url: String,
            control: String,
        }
        let file = folder.join("options.json");
        fs::write(&file, options.to_string())?;
        let mut process = Command::new(program)
            .arg("serve")
            .arg(file)
            .stdout(Stdio::piped())
            .spawn()
            .context("flaky-mcp")?;
        let stdout = process.stdout.take().context("flaky-mcp has no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let places: Places = serde_json::from_str(&line).context("flaky-mcp says no address")?;
        let control = places.control.trim_start_matches("http://").to_owned();
        Ok(Self {
            process,
            url: places.url,
            control,
        })
    }

    /// `POST /control`.
    pub fn wish(&self, wish: &Value) -> Result<Value> {
        post(
            &self.control,
            "/control",
            "application/json",
            &wish.to_string(),
        )
    }

    pub fn counters(&self) -> Result<Value> {
        self.wish(&Value::Object(serde_json::Map::new()))
    }

    /// As if somebody had logged in: what the token endpoint says.
    pub fn tokens(&self) -> Result<Value> {
        let address = self.url.trim_start_matches("http://");
        let (host, _) = address.split_once('/').context("not a URL")?;
        let form = "grant_type=client_credentials&client_id=matrix";
        post(host, "/token", "application/x-www-form-urlencoded", form)
    }

    /// A child that was stopped outlives whoever started it.
    fn end_child(&self) {
        let Ok(counters) = self.counters() else {
            return;
        };
        let process = counters["child_pid"].as_i64().map(i32::try_from);
        if let (Some(Ok(process)), true) = (process, counters["children_now"] != 0) {
            // Gone meanwhile is just as well.
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
    }
}

impl Drop for Flaky {
    fn drop(&mut self) {
        self.end_child();
        // Nothing to do if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn post(host: &str, path: &str, kind: &str, body: &str) -> Result<Value> {
    let mut stream = TcpStream::connect(host).context("flaky-mcp")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").context("no answer")?;
    ensure!(head.starts_with("HTTP/1.1 200"), "{head}: {body}");
    Ok(serde_json::from_str(body)?)
}
