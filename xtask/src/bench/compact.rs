//! A long conversation made shorter: what that costs besides the summary itself, which a model writes.

use std::process::Command;

use anyhow::Result;

use super::table::{Bar, Row};
use super::{Setup, percentile};
use crate::command;

const MESSAGES: usize = 2_000;
const BYTES: usize = 3_000_000;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let program = command::build_example("release", "compact_probe")?;
    let mut probe = Command::new(program);
    let rounds = setup.rounds(100).max(5);
    probe.args([MESSAGES, BYTES, rounds].map(|number| number.to_string()));
    let times: Vec<f64> = serde_json::from_str(&command::stdout(&mut probe)?)?;
    let what = format!(
        "{MESSAGES} messages, {} MB compacted, CPU time of our own",
        BYTES / 1_000_000
    );
    Ok(vec![
        Row::new(
            format!("{what}, median"),
            percentile(&times, 50),
            "ms",
            Bar::AtMost(50.0),
        ),
        Row::new(
            format!("{what}, p95"),
            percentile(&times, 95),
            "ms",
            Bar::None,
        ),
    ])
}
