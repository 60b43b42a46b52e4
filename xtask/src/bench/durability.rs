//! Nothing acknowledged is ever lost: not by `kill -9`, not among eight writers. A second program, Python's sqlite3, looks after the fact.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Setup;
use super::table::{Bar, Row};
use crate::cache::Scratch;
use crate::{command, workspace};

const APPENDS: usize = 500;
const WRITERS: usize = 8;

pub fn kill_rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_probe("release")?;
    let scratch = Scratch::new("kill")?;
    let database = scratch.path().join("state.db");
    let rounds = setup.rounds(200);
    let mut acknowledged = Vec::new();
    let (mut lost, mut damaged, mut unindexed) = (0, 0, 0);
    for round in 0..rounds {
        acknowledged.extend(killed_run(&probe, &database, &format!("round-{round}"))?);
        let found = Witness::look(setup, &database, &acknowledged)?;
        lost += found.lost;
        damaged += usize::from(found.integrity != "ok");
        unindexed += found.messages.abs_diff(found.fts) + found.messages.abs_diff(found.trigram);
    }
    let title = |what: &str| format!("`kill -9`, {rounds} rounds of {APPENDS}: {what}");
    Ok(vec![
        none(
            title(&format!("lost of {} acknowledged", acknowledged.len())),
            lost,
        ),
        none(title("`integrity_check` not ok"), damaged),
        none(title("rows missing in full-text search"), unindexed),
    ])
}

/// One writer, killed after a random number of messages; the ids it had acknowledged.
fn killed_run(probe: &Path, database: &Path, session: &str) -> Result<Vec<String>> {
    let mut writer = start(probe, database, session)?;
    let stdout = writer.stdout.take().context("no stdout")?;
    let mut lines = BufReader::new(stdout).lines();
    let before = fastrand::usize(0..APPENDS);
    let mut acknowledged: Vec<_> = lines.by_ref().take(before).collect::<Result<_, _>>()?;
    std::thread::sleep(Duration::from_micros(fastrand::u64(0..3000)));
    writer.kill()?;
    // What it said before it died counts too.
    for line in lines {
        acknowledged.push(line?);
    }
    writer.wait()?;
    Ok(acknowledged)
}

pub fn crowd_rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_probe("release")?;
    let scratch = Scratch::new("crowd")?;
    let database = scratch.path().join("state.db");
    let names = (0..WRITERS).map(|at| format!("writer-{at}"));
    let writers: Vec<_> = names
        .map(|name| start(&probe, &database, &name))
        .collect::<Result<_>>()?;
    let mut acknowledged = Vec::new();
    let mut complaints = 0;
    for writer in writers {
        let out = writer.wait_with_output()?;
        complaints += usize::from(!out.status.success() || !out.stderr.is_empty());
        let ids = String::from_utf8(out.stdout)?;
        acknowledged.extend(ids.lines().map(str::to_owned));
    }
    let found = Witness::look(setup, &database, &acknowledged)?;
    let expected = WRITERS * APPENDS;
    let title = |what: &str| format!("{WRITERS} processes × {APPENDS} appends: {what}");
    Ok(vec![
        none(title("processes that failed or complained"), complaints),
        none(
            title("messages lost"),
            found.lost + expected.abs_diff(acknowledged.len()),
        ),
        none(
            title("messages too many"),
            found.messages.abs_diff(expected),
        ),
    ])
}

fn start(probe: &Path, database: &Path, session: &str) -> Result<Child> {
    Command::new(probe)
        .arg("append")
        .arg(database)
        .args([session, &APPENDS.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("store_probe")
}

fn none(what: String, count: usize) -> Row {
    Row::new(what, count as f64, "", Bar::AtMost(0.0))
}

/// What `verify.py` sees in a database.
#[derive(Debug, Deserialize)]
struct Witness {
    lost: usize,
    integrity: String,
    messages: usize,
    fts: usize,
    trigram: usize,
}

impl Witness {
    fn look(setup: &Setup, database: &Path, acknowledged: &[String]) -> Result<Self> {
        let mut child = Command::new(setup.theirs.join("python"))
            .arg(workspace::root().join("xtask/python/bench/verify.py"))
            .arg(database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no stdin")?;
        stdin.write_all(acknowledged.join("\n").as_bytes())?;
        drop(stdin);
        let out = child.wait_with_output()?;
        ensure!(out.status.success(), "verify.py failed");
        Ok(serde_json::from_slice(&out.stdout)?)
    }
}
