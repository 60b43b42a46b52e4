//! Servers as processes: started on a port of their own, and killed without a warning.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::net::TcpStream;

/// The slowest of them takes a few seconds on a busy machine.
const START: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(20);

/// A server that listens.
pub struct Outside {
    pub port: u16,
    child: Child,
}

impl Outside {
    pub async fn start(command: &[String], env: &BTreeMap<String, String>) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = spawn(command, env, port)?;
        let mut started = Self { port, child };
        started.listening().await?;
        Ok(started)
    }

    /// Kills what it has started, and waits until it has noticed.
    pub async fn kill_inner(&self) -> Result<()> {
        let id = self.child.id().to_string();
        let killed = kill_children(&id)?;
        let end = Instant::now() + START;
        while children(&id)?.iter().any(|child| killed.contains(child)) {
            ensure!(Instant::now() < end, "the server ignores a dead child");
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    }

    /// Another one at the same place.
    pub async fn again(
        &mut self,
        command: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<()> {
        self.child = spawn(command, env, self.port)?;
        self.listening().await
    }

    /// Kills it and what it started, and waits until nobody listens any more.
    pub async fn kill(&mut self) -> Result<()> {
        self.end()?;
        let end = Instant::now() + START;
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_ok() {
            ensure!(Instant::now() < end, "something still listens");
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        killpg(pid(self.child.id())?, Signal::SIGKILL)?;
        self.child.wait()?;
        Ok(())
    }

    async fn listening(&mut self) -> Result<()> {
        let end = Instant::now() + START;
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once: {status}");
            }
            ensure!(Instant::now() < end, "the server does not listen");
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // One that is dead already needs no killing.
        let _ = self.end();
    }
}

fn spawn(command: &[String], env: &BTreeMap<String, String>, port: u16) -> Result<Child> {
    let filled = |text: &String| text.replace("{port}", &port.to_string());
    let (program, args) = command.split_first().context("no command")?;
    let mut command = Command::new(program);
    command
        .args(args.iter().map(filled))
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, filled(value))))
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().with_context(|| program.clone())
}

/// Kills what a process has started, and says whom.
pub fn kill_children(of: &str) -> Result<Vec<u32>> {
    let children = children(of)?;
    ensure!(!children.is_empty(), "there was no child to kill");
    for child in &children {
        kill(pid(*child)?, Signal::SIGKILL)?;
    }
    Ok(children)
}

fn children(of: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{of}/task"))? {
        let children = fs::read_to_string(task?.path().join("children"))?;
        for child in children.split_whitespace() {
            found.push(child.parse()?);
        }
    }
    Ok(found)
}

fn pid(number: u32) -> Result<Pid> {
    Ok(Pid::from_raw(i32::try_from(number)?))
}
