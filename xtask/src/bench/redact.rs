//! How fast secrets are looked for where there are none, which is nearly everywhere.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Result;

use super::Setup;
use super::table::{Bar, Row};
use crate::command;

pub fn rows(_: &Setup) -> Result<Vec<Row>> {
    let probe = command::build_example("release", "redact_speed")?;
    let said = command::stdout(Command::new(probe).arg("--json"))?;
    let figures: BTreeMap<String, f64> = serde_json::from_str(&said)?;
    let row = |(what, rate): (&String, &f64)| {
        let bar = match what.as_str() {
            "clean text" | "log lines" => Bar::AtLeast(200.0),
            _ => Bar::None,
        };
        Row::new(format!("redact: {what}"), *rate, "MB/s", bar)
    };
    Ok(figures.iter().map(row).collect())
}
