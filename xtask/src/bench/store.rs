//! The store at the size of years of use: 3,000 sessions and 300,000 messages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::start::wall;
use super::table::{Bar, Row};
use super::{Setup, percentile};
use crate::cache::{self, Scratch};
use crate::command::{self, as_user};
use crate::workspace;

/// Change it when the generator or the schema changes: the database is made anew.
const GENERATED: &str = "3000 sessions, 300000 messages, 1";

/// Names the generator gives.
const SHORT: &str = "session-short";
const LONG: &str = "session-long";

/// Milliseconds of each try.
#[derive(Debug, Deserialize)]
struct Times {
    open: Vec<f64>,
    search: Vec<f64>,
    append_short: Vec<f64>,
    append_long: Vec<f64>,
    /// The whole command, from start to end; the others are measured in the process.
    #[serde(default)]
    list: Vec<f64>,
}

struct Figure {
    what: &'static str,
    of: fn(&Times) -> &[f64],
    rank: usize,
    bar: Bar,
}

#[rustfmt::skip]
const FIGURES: &[Figure] = &[
    Figure { what: "open, median", of: |t| &t.open, rank: 50, bar: Bar::AtMost(10.0) },
    Figure { what: "`sessions list`, median", of: |t| &t.list, rank: 50, bar: Bar::AtMost(40.0) },
    Figure { what: "search, p50", of: |t| &t.search, rank: 50, bar: Bar::None },
    Figure { what: "search, p95", of: |t| &t.search, rank: 95, bar: Bar::AtMost(50.0) },
    Figure { what: "append to 10 messages, p50", of: |t| &t.append_short, rank: 50, bar: Bar::AtMost(1.0) },
    Figure { what: "append to 10 messages, p99", of: |t| &t.append_short, rank: 99, bar: Bar::AtMost(25.0) },
    Figure { what: "append to 20,000 messages, p50", of: |t| &t.append_long, rank: 50, bar: Bar::AtMost(1.0) },
    Figure { what: "append to 20,000 messages, p99", of: |t| &t.append_long, rank: 99, bar: Bar::AtMost(25.0) },
];

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_probe("release")?;
    let made = made()?;

    let copy = Copy::of(&made, "ours")?;
    let mut command = copy.command(&probe);
    let mut ours = times(setup, command.arg("measure"), &made)?;
    ours.list = list(setup, &setup.hermes, &copy, 100)?;

    let copy = Copy::of(&made, "theirs")?;
    let mut command = copy.command(&setup.theirs.join("python"));
    let script = workspace::root().join("xtask/python/bench/their_store.py");
    let mut theirs = times(setup, command.arg(script), &made)?;
    theirs.list = list(setup, &setup.theirs.join("hermes"), &copy, 20)?;

    let row = |figure: &Figure| {
        let [ours, theirs] =
            [&ours, &theirs].map(|times| percentile((figure.of)(times), figure.rank));
        Row::new(figure.what, ours, "ms", figure.bar).beside(theirs)
    };
    Ok(FIGURES.iter().map(row).collect())
}

/// The folder with the generated database.
pub fn made() -> Result<PathBuf> {
    let probe = command::build_probe("release")?;
    cache::once("store", GENERATED, |folder| generate(&probe, folder))
}

fn generate(probe: &Path, folder: &Path) -> Result<()> {
    eprintln!("generating {GENERATED}: takes minutes, once ...");
    command::stdout(Command::new(probe).arg("generate").arg(folder)).map(drop)
}

fn list(setup: &Setup, program: &Path, copy: &Copy, rounds: usize) -> Result<Vec<f64>> {
    let mut command = copy.command(program);
    command.args(["sessions", "list"]);
    wall(&mut command)?; // the first one pays for a cold cache
    let rounds = 0..setup.rounds(rounds).max(3);
    rounds.map(|_| wall(&mut command)).collect()
}

/// Both probes take the same arguments and print the same JSON.
fn times(setup: &Setup, probe: &mut Command, made: &Path) -> Result<Times> {
    let appends = setup.rounds(2000).to_string();
    probe.arg(".hermes/state.db").arg(made.join("queries.txt"));
    let out = command::stdout(probe.args([SHORT, LONG, &appends]))?;
    serde_json::from_str(&out).with_context(|| format!("not figures: {out}"))
}

/// The generated database in a home of its own: who measures, writes.
struct Copy(Scratch);

impl Copy {
    fn of(made: &Path, name: &str) -> Result<Self> {
        let user = Scratch::new(name)?;
        let home = user.path().join(".hermes");
        fs::create_dir_all(&home)?;
        fs::copy(made.join("state.db"), home.join("state.db"))?;
        Ok(Self(user))
    }

    fn command(&self, program: &Path) -> Command {
        as_user(program, self.0.path())
    }
}
