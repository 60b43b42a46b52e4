//! The named cells: one fault and one operation each, through the whole program at its real pace.
//!
//! `hermes mcp call` repeats an operation over one connection and says at once what became of it; between its first
//! answer and its second we bring the fault about, between the second and the third we end it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use hermes_scripted::mcp::{Fault, Times};
use nix::sys::signal::Signal;
use tokio::task::block_in_place;
use tokio::time::Instant;

use crate::caller::{Caller, Moved};
use crate::cell::{Finding, details, no_children, times};
use crate::hosts;
use crate::rows::{Row, fits};
use crate::world::{Judged, write_tokens};

/// Fault and column. Every operation has its turn; where a second execution would hurt, it is the tool that writes.
pub const CELLS: &[(&str, usize)] = &[
    // These take longest: they begin first.
    ("F17", 0),
    ("F31", 0),
    ("F40", 1),
    ("F38", 0),
    ("F01", 0),
    ("F02", 1),
    ("F03", 2),
    ("F04", 3),
    ("F05", 0),
    ("F06", 5),
    ("F10", 0),
    ("F13", 0),
    ("F14", 1),
    ("F15", 4),
    ("F16", 1),
    ("F18", 0),
    ("F20", 1),
    ("F22", 0),
    ("F23", 0),
    ("F25", 1),
    ("F26", 3),
    ("F29", 4),
    ("F30", 0),
    ("F32", 1),
    ("F33", 5),
    ("F37", 2),
    ("F42", 0),
    ("F44", 0),
    ("F45", 0),
    ("F09", 0),
];

/// Where the programs are.
#[derive(Clone, Debug)]
pub struct Programs {
    pub hermes: PathBuf,
    pub child: PathBuf,
    /// `clocks.c`, built.
    pub clocks: PathBuf,
}

pub async fn run(row: &Row, column: usize, programs: &Programs) -> Finding {
    let mut finding = Finding::new(row, column, 1.0);
    let work = tokio::time::timeout(
        Duration::from_secs(150),
        examine(row, column, programs, &mut finding),
    );
    finding.miss = match work.await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{error:#}")),
        Err(_) => Some("hangs".to_owned()),
    };
    finding
}

async fn examine(
    row: &Row,
    column: usize,
    programs: &Programs,
    finding: &mut Finding,
) -> Result<()> {
    let mut caller = Caller::start(row, column, programs)?;
    let first = caller.answer().await?;
    ensure!(
        first.outcome == "R0",
        "before the fault: {} {}",
        first.outcome,
        first.text
    );
    let before = caller.writes();
    let judged = fault(row, &mut caller).await?;
    // Some rows take more than one call to show themselves.
    let calls = match row.code {
        "F37" => 5,
        "F45" => 3,
        _ => 1,
    };
    finding.duplicates = (caller.writes() - before).saturating_sub(calls);
    ensure!(finding.duplicates == 0, "executed too often");
    finding.take(&judged)?;
    details(row, &caller.flaky, &judged)?;
    if row.next != "-" && row.code != "F42" {
        let next = afterwards(row, &mut caller).await?;
        finding.take_next(row, &next)?;
    }
    end(row, &mut caller).await
}

/// Brings the fault about and waits for what the program says of it.
async fn fault(row: &Row, caller: &mut Caller) -> Result<Judged> {
    let fault = Fault::parse(row.code)?;
    let still = Moved::default();
    let arm = |caller: &Caller, fault, times| block_in_place(|| caller.flaky.arm(fault, times));
    match row.code {
        "F09" => network(Network::Silent)?,
        "F37" => return clock(caller).await,
        "F38" => {
            // Nothing runs while a machine sleeps.
            caller.signal(Signal::SIGSTOP)?;
            arm(caller, fault, Times::Once);
            let slept = 3600;
            caller.move_clocks(Moved { slept, ..still })?;
            caller.signal(Signal::SIGCONT)?;
        }
        "F40" => {
            hosts::set(hosts::Name::Unknown)?;
            // Without open connections, so that the name is needed.
            arm(caller, Fault::PodRotation, Times::Once);
        }
        "F42" => {
            arm(caller, fault, Times::Once);
            return interrupted(caller).await;
        }
        "F45" => {
            arm(caller, fault, Times::Count(3));
            for _ in 0..2 {
                let judged = caller.answer().await?;
                ensure!(judged.outcome == "E", "no error: {}", judged.outcome);
            }
        }
        code => arm(caller, fault, times(code)),
    }
    caller.answer().await
}

/// The calendar a year ahead, a year behind, and right again.
async fn clock(caller: &mut Caller) -> Result<Judged> {
    let year = 365 * 24 * 3600;
    let still = Moved::default();
    for calendar in [year, -year] {
        caller.move_clocks(Moved { calendar, ..still })?;
        // A call may have begun before the clock moved; the next one has not.
        for _ in 0..2 {
            let judged = caller.answer().await?;
            ensure!(
                fits("R1", judged.outcome),
                "{calendar:+} s: {}",
                judged.text
            );
        }
    }
    caller.move_clocks(still)?;
    let judged = caller.answer().await?;
    // None would mean that the clock never moved.
    let refreshes = caller.flaky.counters().refreshes;
    ensure!((1..=2).contains(&refreshes), "{refreshes} refreshes");
    Ok(judged)
}

/// Ctrl-C in the middle of a call.
async fn interrupted(caller: &mut Caller) -> Result<Judged> {
    let busy = Duration::from_secs(10);
    let seen = block_in_place(|| {
        caller
            .flaky
            .wait_for(busy, |seen| seen.hits.contains_key("F42"))
    });
    ensure!(seen.hits.contains_key("F42"), "the call never came");
    caller.signal(Signal::SIGINT)?;
    let at = Instant::now();
    let judged = caller.answer().await?;
    let wall = at.elapsed();
    let told = block_in_place(|| {
        caller.flaky.wait_for(Duration::from_secs(2), |seen| {
            seen.cancelled + seen.abandoned > 0
        })
    });
    ensure!(
        told.cancelled + told.abandoned > 0,
        "the server was not told"
    );
    Ok(Judged { wall, ..judged })
}

/// The fault ends; the next answer.
async fn afterwards(row: &Row, caller: &mut Caller) -> Result<Judged> {
    block_in_place(|| caller.flaky.heal());
    match row.code {
        "F09" => network(Network::Whole)?,
        "F25" => {
            let again = caller.answer().await?;
            ensure!(
                again.outcome == "A",
                "wanted A until the login, got {}",
                again.outcome
            );
            write_tokens(&caller.flaky, &caller.tokens())?;
            return caller.recovered(Duration::from_secs(3)).await;
        }
        "F40" => {
            hosts::set(hosts::Name::Known)?;
            return caller.recovered(Duration::from_secs(35)).await;
        }
        _ => {}
    }
    caller.answer().await
}

/// The program ends as its last answer was, and takes its children with it.
async fn end(row: &Row, caller: &mut Caller) -> Result<()> {
    let code = match row.code {
        // Asked to repeat for longer than was needed.
        "F25" | "F40" => {
            caller.signal(Signal::SIGTERM)?;
            143
        }
        "F42" => 130,
        _ if row.next == "-" => 1,
        _ => 0,
    };
    let ended = caller.ended().await?;
    ensure!(ended == Some(code), "exit code {ended:?}, wanted {code}");
    no_children(&caller.flaky)
}

enum Network {
    /// Every packet is lost on the way.
    Silent,
    Whole,
}

/// Only inside the chore's network namespace, whose loopback is ours alone.
fn network(state: Network) -> Result<()> {
    ensure!(
        std::env::var_os("FAULT_MATRIX_HOSTS").is_some(),
        "not inside the chore's namespaces"
    );
    // A queue without room loses everything, and every kernel has it.
    let words: &[&str] = match state {
        Network::Silent => &["add", "dev", "lo", "root", "pfifo", "limit", "0"],
        Network::Whole => &["del", "dev", "lo", "root"],
    };
    let done = Command::new("tc").arg("qdisc").args(words).output();
    let done = done.context("tc (package iproute2) is needed")?;
    if !done.status.success() {
        bail!("tc: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(())
}

/// How many answers a cell needs.
pub fn repeats(row: &Row) -> u32 {
    match row.code {
        "F25" | "F40" => 100,
        "F37" => 7,
        "F45" => 5,
        _ if row.next == "-" => 2,
        _ => 3,
    }
}
