//! How long the gate takes, for `cargo xtask bench gate`: microseconds of processor time per look, by
//! what is looked at.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use hermes_gate::{Places, look};
use nix::time::{ClockId, clock_gettime};

const LARGE: usize = 100_000;

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).context("ROUNDS")?.parse()?;
    let mut figures = BTreeMap::new();
    figures.insert("ordinary", ordinary(rounds));
    for (name, text) in large() {
        let rounds = (rounds / 100).max(3);
        figures.insert(name, times(&text, rounds));
    }
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// Every command of the tables, one after another.
fn ordinary(rounds: usize) -> Vec<f64> {
    let table = include_str!("../../../crates/base/gate/tests/it/everyday.txt");
    let commands: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split('\t').nth(2))
        .collect();
    let each = (rounds / commands.len()).max(1);
    commands
        .iter()
        .flat_map(|command| times(command, each))
        .collect()
}

/// As large as a command may get, in the shapes that take the longest.
fn large() -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(LARGE / piece.len());
    vec![
        (
            "a script",
            fill("cd src && cargo test --package x 2>&1 | tail -n 20 > out.txt\n"),
        ),
        (
            "one text",
            format!("git commit -m '{}'; ls", fill("words and words ")),
        ),
        ("short commands", fill("ls -l\n")),
        ("substitutions", fill("echo $(ls) ")),
        ("open parentheses", fill("$(")),
        ("documents", fill("cat <<E\n$x\nE\n")),
        ("ends of documents", fill("<<a ")),
        ("wrappers", fill("sudo ")),
        ("variables", format!("A=x;{}", fill("A=$A$A;"))),
        ("braces", fill("{a,b}")),
        ("backticks", fill("p`ow")),
        ("escapes", fill("echo \u{1b}]; rm -rf /")),
        ("quotes", fill("\"'\"'")),
    ]
}

fn times(command: &str, rounds: usize) -> Vec<f64> {
    let places = Places {
        user_home: "/home/me".into(),
        hermes_home: "/home/me/.hermes".into(),
        temp_dir: "/tmp".into(),
    };
    let look = |_| {
        let start = spent();
        std::hint::black_box(look(std::hint::black_box(command), &places));
        (spent() - start).as_secs_f64() * 1e6
    };
    (0..rounds).map(look).collect()
}

/// The processor's time, so that neighbours don't count.
fn spent() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
