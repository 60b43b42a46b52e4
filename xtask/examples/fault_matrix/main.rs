//! Runs the fault matrix of docs/spec/mcp.md §10: a line of JSON per cell, and one about the healthy server beside them.
//!
//! `fault_matrix FLAKY_MCP [FAULT…]` goes through the library, `fault_matrix FLAKY_MCP --through HERMES CLOCKS
//! [FAULT…]` runs the named cells through the program. Started by `cargo xtask faults`, which gives it namespaces of
//! its own and renders what it finds.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "its findings are read from stdout; it starts programs, and is told where things are by the environment"
)]

mod caller;
mod cell;
mod control;
mod hosts;
mod program;
mod rows;
mod world;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::StreamExt;
use futures::stream;

use control::Control;
use program::Programs;
use rows::{Row, rows};

/// Cells that run at a time: they mostly wait, but more would disturb the healthy server by being many.
const AT_A_TIME: usize = 6;
/// These wait longest: they begin first.
const LONG: &[&str] = &["F41", "F43", "F34", "F08", "F38", "F05"];
/// The same where each is a process.
const PROGRAMS_AT_A_TIME: usize = 10;
/// These weigh too much, or share one name, to have company.
const ALONE: &[&str] = &["F35", "F36", "F40"];

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [child, args @ ..] = args.as_slice() else {
        anyhow::bail!("where is flaky-mcp?");
    };
    let child = PathBuf::from(child).canonicalize()?;
    match args {
        [control::TWIN] => println!("{}", control::twin(child).await?),
        ["--through", hermes, clocks, only @ ..] => {
            let programs = Programs {
                hermes: PathBuf::from(hermes).canonicalize()?,
                child,
                clocks: PathBuf::from(clocks).canonicalize()?,
            };
            through(&programs, only).await?;
        }
        only => matrix(&child, only).await?,
    }
    Ok(())
}

/// The whole matrix, or some rows of it, through the library.
async fn matrix(child: &Path, only: &[&str]) -> Result<()> {
    let rows = chosen(only)?;
    let (alone, mut together): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| ALONE.contains(&row.code));
    together.sort_by_key(|row| !LONG.contains(&row.code));
    let control = Control::start(child).await?;
    let cells: Vec<_> = together
        .iter()
        .flat_map(|row| (0..6).map(move |column| (*row, column)))
        .collect();
    let mut running = stream::iter(cells)
        .map(|(row, column)| cell::run(row, column, child.to_owned()))
        .buffer_unordered(AT_A_TIME);
    while let Some(finding) = running.next().await {
        println!("{}", finding.json());
    }
    for row in alone {
        for column in 0..6 {
            lonely(row, column, child).await?;
        }
    }
    println!("{}", control.finish().await);
    Ok(())
}

/// A cell without company, whose memory can be watched.
async fn lonely(row: &Row, column: usize, child: &Path) -> Result<()> {
    if row.code == "F40" {
        hosts::set(hosts::Name::Known)?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = rss();
    let mut finding = cell::run(row, column, child.to_owned()).await;
    let grown = rss().saturating_sub(before) >> 20;
    if row.code == "F35" && grown >= 150 {
        finding
            .miss
            .get_or_insert(format!("{grown} MB more memory"));
    }
    println!("{}", finding.json());
    Ok(())
}

/// The named cells, or those of some rows.
async fn through(programs: &Programs, only: &[&str]) -> Result<()> {
    let rows = chosen(only)?;
    if rows.iter().any(|row| row.code == "F40") {
        hosts::set(hosts::Name::Known)?;
    }
    let cells: Vec<_> = program::CELLS
        .iter()
        .filter_map(|(code, column)| Some((rows.iter().find(|row| row.code == *code)?, *column)))
        .collect();
    // It takes the network away from everybody.
    let is_lonely = |row: &Row| row.code == "F09";
    ensure!(
        cells.len() == 1 || !cells.iter().any(|(row, _)| is_lonely(row)),
        "F09 wants to be alone"
    );
    let mut running = stream::iter(cells)
        .map(|(row, column)| program::run(row, column, programs))
        .buffer_unordered(PROGRAMS_AT_A_TIME);
    while let Some(finding) = running.next().await {
        println!("{}", finding.json());
    }
    Ok(())
}

fn chosen(only: &[&str]) -> Result<Vec<Row>> {
    let rows: Vec<Row> = rows()?.into_iter().collect();
    for code in only {
        let known = rows.iter().any(|row| row.code == *code);
        ensure!(known, "no row is called {code}");
    }
    let wanted = |row: &Row| only.is_empty() || only.contains(&row.code);
    Ok(rows.into_iter().filter(wanted).collect())
}

/// The most memory this process has had so far, in bytes.
fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb = line.and_then(|line| {
        line.trim()
            .trim_end_matches(" kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    kb.unwrap_or_default() << 10
}
