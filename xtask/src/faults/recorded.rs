//! Other programs in the same matrix, as `--peer` recorded them in `xtask/faults/*.json`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::report::Cell;
use crate::workspace;

const FILES: &[&str] = &[
    "xtask/faults/python-0.19.0.json",
    "xtask/faults/rmcp-3.8.0.json",
];

#[derive(Debug, Deserialize)]
pub struct Recorded {
    pub program: String,
    pub version: String,
    pub date: String,
    /// By fault and operation.
    cells: BTreeMap<String, BTreeMap<String, Seen>>,
}

/// How a call ended there.
#[derive(Debug, Deserialize)]
pub struct Seen {
    pub outcome: String,
    ms: Option<f64>,
    executions: Option<u64>,
    next: Option<String>,
    text: Option<String>,
}

/// What the cells of a program add up to.
#[derive(Debug, Default)]
pub struct Score {
    pub passed: usize,
    pub run: usize,
    pub duplicates: u64,
    pub hangs: usize,
}

/// Those that are there.
pub fn all() -> Result<Vec<Recorded>> {
    let there = |path: &&&str| workspace::root().join(path).exists();
    FILES.iter().filter(there).map(|path| read(path)).collect()
}

impl Recorded {
    /// `None` if the cell was not run.
    pub fn seen(&self, ours: &Cell) -> Option<&Seen> {
        let seen = self.cells.get(&ours.fault)?.get(&ours.op)?;
        (seen.outcome != "not run").then_some(seen)
    }

    pub fn score(&self, cells: &[Cell]) -> Score {
        let mut score = Score::default();
        for cell in cells {
            let Some(seen) = self.seen(cell) else {
                continue;
            };
            score.run += 1;
            score.passed += usize::from(seen.passes(cell));
            score.duplicates += seen.duplicates(cell);
            score.hangs += usize::from(seen.outcome == "hang");
        }
        score
    }
}

impl Seen {
    /// Judged as ours are, except that a next call may need a recovery and nobody looked at the server's counters.
    pub fn passes(&self, ours: &Cell) -> bool {
        let fits = |want: &str| want == self.outcome || (want == "R1" && self.outcome == "R0");
        let in_time = self.ms.is_none_or(|ms| ms <= ours.real_bound_ms());
        // Whoever cancels needs no text.
        let is_error = matches!(self.outcome.as_str(), "E" | "U" | "A" | "S");
        let says_something = !is_error || self.text.as_deref() != Some("");
        let goes_on = match (&ours.next, self.next.as_deref()) {
            (Some(_), Some(next)) => matches!(next, "R0" | "R1"),
            _ => true,
        };
        ours.wanted.split('/').any(fits)
            && in_time
            && says_something
            && goes_on
            && self.duplicates(ours) == 0
    }

    /// Executions nobody asked for.
    fn duplicates(&self, ours: &Cell) -> u64 {
        let calls = match ours.fault.as_str() {
            "F24" => 20,
            "F45" => 3,
            _ => 1,
        };
        match ours.op.as_str() {
            // Only this one changes something.
            "CTw" => self.executions.unwrap_or_default().saturating_sub(calls),
            _ => 0,
        }
    }
}

fn read(path: &str) -> Result<Recorded> {
    let text = fs::read_to_string(workspace::root().join(path)).context(path.to_owned())?;
    serde_json::from_str(&text).context(path.to_owned())
}
