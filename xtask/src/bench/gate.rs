//! How long a command waits for the gate.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Result;

use super::table::{Bar, Row};
use super::{Setup, percentile};
use crate::command;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_program("release", "gate_probe")?;
    let rounds = setup.rounds(20_000).to_string();
    let said = command::stdout(Command::new(probe).arg(rounds))?;
    let figures: BTreeMap<String, Vec<f64>> = serde_json::from_str(&said)?;
    let row = |(what, times): (&String, &Vec<f64>)| match what.as_str() {
        "ordinary" => {
            let what = "gate: a look at an everyday command, p99";
            Row::new(what, percentile(times, 99), "µs", Bar::AtMost(50.0))
        }
        shape => {
            // The others are made to be slow; nobody writes them, and they only must not take for ever.
            let bar = match shape {
                "a script" | "one text" => Bar::AtMost(5.0),
                _ => Bar::AtMost(25.0),
            };
            let what = format!("gate: a look at 100 KB of {shape}, p50");
            Row::new(what, percentile(times, 50) / 1000.0, "ms", bar)
        }
    };
    Ok(figures.iter().map(row).collect())
}
