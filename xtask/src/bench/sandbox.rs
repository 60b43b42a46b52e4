//! What a sandbox costs a command.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result};

use super::table::{Bar, Row};
use super::{Setup, percentile};
use crate::command;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_example("release", "sandbox_probe")?;
    let rounds = setup.rounds(200).to_string();
    let said = command::stdout(Command::new(probe).arg(&setup.hermes).arg(rounds))?;
    let figures: BTreeMap<String, Vec<f64>> = serde_json::from_str(&said)?;
    let plain = percentile(figures.get("plain").context("no figures")?, 50);
    let mut rows = vec![Row::new(
        "sandbox: echo plain, median",
        plain,
        "ms",
        Bar::None,
    )];
    for (mechanism, times) in figures.iter().filter(|(name, _)| *name != "plain") {
        let what = format!("sandbox: echo confined by {mechanism} above plain, median");
        let above = percentile(times, 50) - plain;
        rows.push(Row::new(what, above, "ms", Bar::AtMost(10.0)));
    }
    Ok(rows)
}
