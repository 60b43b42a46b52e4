//! What the audit log adds to a call of a tool.

use std::process::Command;

use anyhow::Result;

use super::table::{Bar, Row};
use super::{Setup, percentile};
use crate::command;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_example("release", "audit_probe")?;
    let rounds = setup.rounds(5_000).to_string();
    let said = command::stdout(Command::new(probe).arg(rounds))?;
    let times: Vec<f64> = serde_json::from_str(&said)?;
    let what = "audit: one call recorded";
    let row = |rank, bar| {
        Row::new(
            format!("{what}, p{rank}"),
            percentile(&times, rank),
            "ms",
            bar,
        )
    };
    Ok(vec![row(50, Bar::AtMost(0.2)), row(99, Bar::None)])
}
