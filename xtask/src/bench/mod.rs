//! `cargo xtask bench`: our figures beside their bars and beside the Python program, measured in the same run on the same machine.

mod audit;
mod children;
mod compact;
mod durability;
mod failover;
mod gate;
mod learn;
mod mcp;
mod redact;
mod resume;
mod sandbox;
mod skills;
mod start;
mod store;
mod stream;
mod table;
mod talk;
mod tui;
mod turns;
mod user;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::{cache, command};
use table::Row;

const PYTHON: &str = "0.19.0";

type Group = fn(&Setup) -> Result<Vec<Row>>;

const GROUPS: &[(&str, Group)] = &[
    ("start", start::rows),
    ("talk", talk::rows),
    ("tui", tui::rows),
    ("stream", stream::rows),
    ("failover", failover::rows),
    ("resume", resume::rows),
    ("compact", compact::rows),
    ("batch", turns::batch_rows),
    ("turns", turns::crowd_rows),
    ("children", children::rows),
    ("store", store::rows),
    ("mcp", mcp::rows),
    ("gate", gate::rows),
    ("audit", audit::rows),
    ("redact", redact::rows),
    ("sandbox", sandbox::rows),
    ("skills", skills::rows),
    ("learn", learn::rows),
    ("kill", durability::kill_rows),
    ("crowd", durability::crowd_rows),
];

pub fn run(mut args: Args) -> Result<()> {
    let json = args.flag("--json");
    let quick = args.flag("--quick");
    let known: Vec<_> = GROUPS.iter().map(|(name, _)| *name).collect();
    let wanted = args.words(&known)?;

    let setup = Setup {
        hermes: command::build_program("dist", "hermes")?,
        theirs: cache::hermes_agent(PYTHON)?,
        quick,
    };
    let mut rows = Vec::new();
    for (name, group) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            eprintln!("measuring {name} ...");
            rows.extend(group(&setup)?);
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", table::markdown(&rows));
    }
    let missed = rows.iter().filter(|row| !row.ok).count();
    ensure!(missed == 0, "{missed} figures miss their bar");
    Ok(())
}

/// What is measured, and how thoroughly.
struct Setup {
    hermes: PathBuf,
    /// The `bin` folder of the Python program.
    theirs: PathBuf,
    /// Fewer rounds: to see that it works, not to quote.
    quick: bool,
}

impl Setup {
    fn rounds(&self, thorough: usize) -> usize {
        if self.quick {
            thorough.div_ceil(20)
        } else {
            thorough
        }
    }
}

/// The value that `rank` of 100 measurements do not exceed.
fn percentile(values: &[f64], rank: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * rank / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}
