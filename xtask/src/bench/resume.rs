//! Going on with a long conversation: from the start of the process until its first request is at the server.
//!
//! Not beside the Python program: its `-z` begins anew whatever `--resume` says.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::start::wall;
use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile};
use crate::command;

const SESSION: &str = "20260101_000000_abcdef";
const MESSAGES: usize = 400;
const QUESTION: &str = "and now?";

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_probe("release")?;
    let us = Resumed::new("resume", &probe)?;
    let ours = us.times(&setup.hermes, setup.rounds(100))?;
    let what = "a session of 400 messages resumed, start to first request";
    Ok(vec![
        Row::new(
            format!("{what}, median"),
            percentile(&ours, 50),
            "ms",
            Bar::AtMost(40.0),
        ),
        Row::new(
            format!("{what}, p95"),
            percentile(&ours, 95),
            "ms",
            Bar::None,
        ),
    ])
}

/// Somebody who has talked a lot.
struct Resumed {
    user: User,
}

impl Resumed {
    fn new(name: &str, probe: &Path) -> Result<Self> {
        let script = json!({"steps": [{"text": "done", "repeat": true}]});
        let user = User::new(name, &script)?;
        // The model takes all of it: nothing is summarised first.
        let config = user.home.path().join(".hermes/config.yaml");
        let settings = fs::read_to_string(&config)?;
        fs::write(&config, settings.replace("131072", "1048576"))?;
        let kept = user.home.path().join("kept.db");
        let mut converse = Command::new(probe);
        converse.arg("converse").arg(kept);
        command::stdout(converse.args([SESSION, &MESSAGES.to_string()]))?;
        Ok(Self { user })
    }

    /// Milliseconds of each try; the first, with cold caches, is not one of them.
    fn times(&self, program: &Path, rounds: usize) -> Result<Vec<f64>> {
        let mut started = Vec::new();
        for _ in 0..=rounds {
            self.as_it_was()?;
            let args = ["--resume", SESSION, "-z", QUESTION];
            let mut command = self.user.command(program, &args);
            started.push(unix_us()?);
            wall(&mut command)?;
        }
        let mut calls = self.user.server.calls()?;
        // After so long a conversation there is also a look back.
        calls.retain(|call| asks(&call.body));
        ensure!(
            calls.len() == started.len(),
            "{program:?}: {} requests for {} turns",
            calls.len(),
            started.len()
        );
        let times = started.iter().zip(&calls).map(|(started, call)| {
            let sent = call.body["messages"].as_array().map_or(0, Vec::len);
            ensure!(sent > MESSAGES, "{program:?} sent {sent} messages");
            Ok(call.at_unix_us.saturating_sub(*started) as f64 / 1000.0)
        });
        times.skip(1).collect()
    }

    /// Every try finds the same conversation.
    fn as_it_was(&self) -> Result<()> {
        let home = self.user.home.path();
        for leftover in ["state.db-wal", "state.db-shm"] {
            // Gone already if the last program closed it well.
            let _ = fs::remove_file(home.join(".hermes").join(leftover));
        }
        fs::copy(home.join("kept.db"), home.join(".hermes/state.db"))?;
        Ok(())
    }
}

/// Whether a request is the turn itself.
fn asks(body: &Value) -> bool {
    let last = body["messages"].as_array().and_then(|all| all.last());
    last.is_some_and(|last| last["content"].to_string().contains(QUESTION))
}

fn unix_us() -> Result<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(u64::try_from(since.as_micros())?)
}
