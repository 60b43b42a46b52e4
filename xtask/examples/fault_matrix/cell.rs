//! One cell of the matrix: a fault, an operation, and what became of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use hermes_mcp::{BreakerState, CallContext, Operation, State};
use hermes_scripted::mcp::{Counters, Fault, Flaky, Form, Times};
use serde_json::{Value, json};
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

use crate::rows::{COLUMNS, Row, fits};
use crate::world::{Judged, Setup, World, operation, write_tokens};

/// Faults that need minutes run with all of the client's timing this much faster.
const FAST: f64 = 20.0;
const SCALED: &[&str] = &["F09", "F17", "F31", "F39", "F40", "F41"];

/// Faults that happen when they are armed, or that we bring about ourselves; the others wait for a request.
const AT_ONCE: &[&str] = &[
    "F01", "F02", "F03", "F04", "F05", "F06", "F08", "F09", "F23", "F25", "F29", "F34", "F37",
    "F38", "F40",
];

/// The findings about one cell.
#[derive(Debug)]
pub struct Finding {
    pub code: &'static str,
    pub column: &'static str,
    pub wanted: &'static str,
    pub outcome: String,
    pub wall: Duration,
    pub bound: Duration,
    pub next: Option<&'static str>,
    pub pace: f64,
    pub duplicates: u64,
    /// What is wrong, if anything.
    pub miss: Option<String>,
    /// What the caller read.
    pub text: String,
}

impl Finding {
    /// Nothing is known yet.
    pub fn new(row: &Row, column: usize, pace: f64) -> Self {
        Self {
            code: row.code,
            column: COLUMNS[column],
            wanted: row.cells[column],
            outcome: String::new(),
            wall: Duration::ZERO,
            // The clock is coarse and the machine busy: what takes a bound is given a little more.
            bound: row.bound.div_f64(pace) + Duration::from_millis(250),
            next: None,
            pace,
            duplicates: 0,
            miss: None,
            text: String::new(),
        }
    }

    /// What the call in the middle of the fault answered must be what the row wants.
    pub fn take(&mut self, judged: &Judged) -> Result<()> {
        self.outcome = judged.outcome.to_owned();
        self.wall = judged.wall;
        self.text = judged.text.clone();
        ensure!(
            fits(self.wanted, judged.outcome),
            "wanted {}, got {}: {}",
            self.wanted,
            judged.outcome,
            judged.text
        );
        ensure!(judged.wall <= self.bound, "took {:?}", judged.wall);
        let is_error = matches!(judged.outcome, "E" | "U" | "A" | "S" | "C");
        ensure!(!is_error || !judged.text.trim().is_empty(), "says nothing");
        Ok(())
    }

    /// What the call after the fault answered.
    pub fn take_next(&mut self, row: &Row, next: &Judged) -> Result<()> {
        self.next = Some(next.outcome);
        ensure!(
            fits(row.next, next.outcome),
            "next: wanted {}, got {}: {}",
            row.next,
            next.outcome,
            next.text
        );
        let limit = if row.code == "F09" { 15.0 } else { 3.0 };
        ensure!(
            next.wall <= Duration::from_secs_f64(limit),
            "next took {:?}",
            next.wall
        );
        Ok(())
    }

    pub fn json(&self) -> Value {
        let title = Fault::parse(self.code).map(|fault| fault.title());
        let title = title.unwrap_or_default();
        json!({
            "fault": self.code, "title": title, "op": self.column, "wanted": self.wanted, "outcome": self.outcome,
            "ms": self.wall.as_millis() as u64, "bound_ms": self.bound.as_millis() as u64, "next": self.next,
            "pace": self.pace, "duplicates": self.duplicates, "miss": self.miss, "text": self.text,
        })
    }
}

pub fn pace(code: &str) -> f64 {
    if SCALED.contains(&code) { FAST } else { 1.0 }
}

/// Runs a cell. A cell that hangs is a miss, not a hang of ours.
pub async fn run(row: &Row, column: usize, child: std::path::PathBuf) -> Finding {
    let setup = Setup {
        code: row.code,
        pace: pace(row.code),
        child,
    };
    let mut finding = Finding::new(row, column, setup.pace);
    let work = tokio::time::timeout(
        Duration::from_secs(120),
        examine(row, column, &setup, &mut finding),
    );
    finding.miss = match work.await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{error:#}")),
        Err(_) => Some("hangs".to_owned()),
    };
    finding
}

async fn examine(row: &Row, column: usize, setup: &Setup, finding: &mut Finding) -> Result<()> {
    let world = World::new(setup).await?;
    ensure!(
        world.server.status().state == State::Ready,
        "never connected: {:?}",
        world.server.status()
    );
    let operation = operation(column);
    let judged = fault(row, column, &world, finding).await?;
    finding.take(&judged)?;
    if row.next == "-" {
        return Ok(());
    }
    let next = afterwards(row, &operation, &world).await?;
    finding.take_next(row, &next)?;
    if column == 0 {
        count_writes(&world, finding, 2)?;
    }
    world.server.stop().await;
    no_children(&world.flaky)
}

/// Whoever stops leaves nobody behind.
pub fn no_children(flaky: &Flaky) -> Result<()> {
    let gone = |seen: &Counters| seen.children_now == 0 && seen.grandchildren_now == 0;
    let left = block_in_place(|| flaky.wait_for(Duration::from_secs(3), gone));
    ensure!(gone(&left), "children are left");
    Ok(())
}

/// Brings the fault about and makes the call.
async fn fault(row: &Row, column: usize, world: &World, finding: &mut Finding) -> Result<Judged> {
    let operation = &operation(column);
    let fault = match (row.code, column % 2) {
        // As one document and as a stream, in turns.
        ("F35", 1) => Fault::TooLarge(200 << 20, Form::Sse),
        (code, _) => Fault::parse(code)?,
    };
    let flaky = &world.flaky;
    match row.code {
        "F08" => {
            // Longer than a connection is trusted.
            sleep(Duration::from_secs(6)).await;
            block_in_place(|| flaky.arm(fault, Times::Once));
        }
        "F05" | "F06" | "F29" => {
            block_in_place(|| flaky.arm(fault, Times::Once));
            // What was there is gone, not going: a call within that instant is F10 or F30.
            sleep(Duration::from_millis(100)).await;
        }
        "F24" => return many(operation, world, fault).await,
        "F34" => {
            block_in_place(|| flaky.arm(fault, Times::Once));
            sleep(Duration::from_secs(3)).await;
        }
        "F37" => {
            let year = 365 * 24 * 3600;
            for ahead in [year, -year] {
                world.clock.set_ahead(ahead);
                let judged = world.call(operation).await;
                ensure!(fits("R1", judged.outcome), "{ahead:+} s: {}", judged.text);
            }
            world.clock.set_ahead(0);
            ensure!(
                flaky.counters().refreshes <= 2,
                "{} refreshes",
                flaky.counters().refreshes
            );
        }
        "F38" => {
            block_in_place(|| flaky.arm(fault, Times::Once));
            world.clock.sleep(Duration::from_secs(3600));
        }
        "F40" => {
            crate::hosts::set(crate::hosts::Name::Unknown)?;
            // Without open connections, so that the name is needed.
            block_in_place(|| flaky.arm(Fault::PodRotation, Times::Once));
            sleep(Duration::from_millis(100)).await;
        }
        "F41" => return down(operation, world, fault).await,
        "F42" => return cancelled(operation, world, fault).await,
        "F43" => {
            block_in_place(|| flaky.arm(fault, Times::Always));
            sleep(Duration::from_secs(26)).await;
            ensure!(world.server.status().generation == 1, "reconnected");
        }
        _ if !row.affected[column] => {}
        "F45" => {
            block_in_place(|| flaky.arm(fault, Times::Count(3)));
            for _ in 0..2 {
                ensure!(world.call(operation).await.outcome == "E", "no error");
            }
        }
        _ => block_in_place(|| flaky.arm(fault, times(row.code))),
    }
    let before = world.writes();
    let judged = world.call(operation).await;
    finding.duplicates = (world.writes() - before).saturating_sub(1);
    ensure!(
        finding.duplicates == 0,
        "executed {} times",
        world.writes() - before
    );
    ensure!(
        AT_ONCE.contains(&row.code)
            || !row.affected[column]
            || flaky.counters().hits.contains_key(row.code),
        "the fault never happened"
    );
    details(row, flaky, &judged)?;
    if matches!(row.code, "F16" | "F45") {
        let breaker = world.server.status().breaker;
        ensure!(breaker == BreakerState::Closed, "the breaker opened");
    }
    Ok(judged)
}

/// What a row says besides its cells.
pub fn details(row: &Row, flaky: &Flaky, judged: &Judged) -> Result<()> {
    let seen = flaky.counters();
    let names = |what: &str| {
        ensure!(
            judged.text.contains(what),
            "does not say {what}: {}",
            judged.text
        );
        Ok(())
    };
    match row.code {
        "F03" => ensure!(seen.token_requests == 0, "the token was refreshed"),
        "F07" => ensure!(seen.initialize <= 4, "{} handshakes", seen.initialize),
        "F16" => names("3600")?,
        "F18" => ensure!(seen.resumed == 1, "resumed {} times", seen.resumed),
        "F23" => ensure!(seen.refreshes == 1, "{} refreshes", seen.refreshes),
        "F26" => names("X-Api-Key")?,
        "F27" => names("files:write")?,
        "F35" if judged.outcome != "R0" => names("large")?,
        "F44" => {
            let sent = seen.authorized.get("elsewhere").copied();
            let sent = sent.unwrap_or_default();
            ensure!(seen.elsewhere == 0 && sent == 0, "went elsewhere");
        }
        "F46" => ensure!(seen.initialize <= 7, "{} handshakes", seen.initialize),
        _ => {}
    }
    Ok(())
}

pub fn times(code: &str) -> Times {
    match code {
        "F07" | "F09" | "F21" | "F25" | "F26" | "F27" | "F28" | "F35" | "F36" | "F39" | "F44"
        | "F46" => Times::Always,
        _ => Times::Once,
    }
}

/// Twenty calls at a time with a token that just expired.
async fn many(operation: &Operation, world: &World, fault: Fault) -> Result<Judged> {
    block_in_place(|| world.flaky.arm(fault, Times::Once));
    let start = Instant::now();
    let calls = (0..20).map(|_| world.call(operation));
    let answers = futures::future::join_all(calls).await;
    for judged in &answers {
        ensure!(
            fits("R1", judged.outcome),
            "one of twenty: {} {}",
            judged.outcome,
            judged.text
        );
    }
    let refreshes = world.flaky.counters().refreshes;
    ensure!(refreshes == 1, "{refreshes} refreshes");
    Ok(Judged {
        outcome: "R1",
        text: String::new(),
        wall: start.elapsed(),
    })
}

/// Ten minutes without the server: after three failures nobody waits for it.
async fn down(operation: &Operation, world: &World, fault: Fault) -> Result<Judged> {
    block_in_place(|| world.flaky.arm(fault, Times::Always));
    for _ in 0..3 {
        let judged = world.call(operation).await;
        ensure!(
            matches!(judged.outcome, "E" | "U" | "S"),
            "{} while down",
            judged.outcome
        );
    }
    sleep(Duration::from_secs_f64(540.0 / FAST)).await;
    let mut judged = world.call(operation).await;
    for _ in 0..3 {
        judged = world.call(operation).await;
    }
    ensure!(world.server.status().tools > 0, "the tools are gone");
    Ok(judged)
}

async fn cancelled(operation: &Operation, world: &World, fault: Fault) -> Result<Judged> {
    block_in_place(|| world.flaky.arm(fault, Times::Once));
    let context = CallContext::default();
    let cancel = context.cancel.clone();
    let interrupt = async {
        sleep(Duration::from_millis(500)).await;
        cancel.cancel();
        Instant::now()
    };
    let generation = world.server.status().generation;
    let (judged, at) = tokio::join!(world.call_with(operation, &context), interrupt);
    let late = at.elapsed();
    let told = block_in_place(|| {
        world.flaky.wait_for(Duration::from_secs(2), |seen| {
            seen.cancelled + seen.abandoned > 0
        })
    });
    ensure!(
        told.cancelled + told.abandoned > 0,
        "the server was not told"
    );
    ensure!(
        world.server.status().generation == generation,
        "reconnected"
    );
    Ok(Judged {
        wall: late,
        ..judged
    })
}

/// The fault ends; the next call.
async fn afterwards(row: &Row, operation: &Operation, world: &World) -> Result<Judged> {
    block_in_place(|| world.flaky.heal());
    match row.code {
        "F25" => {
            let again = world.call(operation).await;
            ensure!(
                again.outcome == "A",
                "wanted A until the login, got {}",
                again.outcome
            );
            write_tokens(&world.flaky, &world.tokens)?;
        }
        "F34" => {
            sleep(Duration::from_secs(10)).await;
            // Besides the one that every connection begins with.
            let lists = world.flaky.counters().tools_list.saturating_sub(1);
            ensure!(
                lists <= 12,
                "{lists} tools/list requests because of the storm"
            );
        }
        "F40" => crate::hosts::set(crate::hosts::Name::Known)?,
        // Whoever waits for the cooldown is served.
        "F41" => sleep(Duration::from_secs_f64(61.0 / FAST)).await,
        _ => {}
    }
    if row.code == "F40" {
        sleep(Duration::from_secs_f64(35.0 / FAST)).await;
    }
    Ok(world.call(operation).await)
}

fn count_writes(world: &World, finding: &mut Finding, most: u64) -> Result<()> {
    let calls = match finding.code {
        "F24" => 21,
        "F37" => 4,
        _ => most,
    };
    let writes = world.writes();
    finding.duplicates += writes.saturating_sub(calls);
    ensure!(writes <= calls, "{writes} executions of {calls} calls");
    Ok(())
}
