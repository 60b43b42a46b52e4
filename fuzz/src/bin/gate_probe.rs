//! How long the gate takes, for `cargo xtask bench gate`: microseconds of processor time per look, by
//! what is looked at.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

#[path = "../clock.rs"]
mod clock;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use clock::spent;
use hermes_gate::{Places, look};

const LARGE: usize = 100_000;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let rounds = args.next().context("ROUNDS [SHAPE]")?.parse()?;
    let only = args.next();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut figures = BTreeMap::new();
    if wanted("ordinary") {
        figures.insert("ordinary", ordinary(rounds));
    }
    for (name, text) in large().into_iter().filter(|(name, _)| wanted(name)) {
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
        ("pipelines", fill("printf 'a\\n' | xargs -n1 ls | ")),
        ("small documents", fill("su - <<< 'rm -rf x' ")),
        ("other letters", fill("𝐫𝐦 -rf x\n")),
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
