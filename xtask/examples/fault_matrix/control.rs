//! The healthy server beside the faulty ones: calls to it must not notice what happens to its neighbours.
//!
//! A machine that is busy with something else makes every call slow. So a twin, a process of its own with nothing but a
//! healthy server in it, makes the same calls at the same time: what the machine does to it is the baseline.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, block_in_place};

use crate::world::{Setup, World, operation};

/// The argument that makes this program the twin.
pub const TWIN: &str = "--twin";

const PAUSE: Duration = Duration::from_millis(20);
/// How many times the baseline is too slow.
const TIMES: f64 = 2.0;
/// Cells of ours run side by side and keep the runtime busy, which the twin's is not; on loopback, where a call takes
/// 2 ms, that alone can double the slowest of them.
const TURNS: f64 = 20.0;
/// Fewer calls have no p99 worth the name, and the start of their neighbours is all they saw.
const ENOUGH: u64 = 1000;
/// How many milliseconds more than the twin's longest are too many.
const LONGEST: f64 = 250.0;

pub struct Control {
    calls: Calls,
    twin: Child,
}

impl Control {
    pub async fn start(child: &Path) -> Result<Self> {
        // The twin ends when its standard input does, so also with us.
        let twin = Command::new(std::env::current_exe()?)
            .arg(child)
            .arg(TWIN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the twin")?;
        let calls = Calls::start(child.to_owned()).await?;
        Ok(Self { calls, twin })
    }

    /// What was measured, and what is wrong about it.
    pub async fn finish(self) -> Value {
        let measured = match (self.calls.finish().await, finish(self.twin)) {
            (Ok(ours), Ok(twin)) => judge(&ours, &twin),
            (Err(error), _) | (_, Err(error)) => json!({"miss": format!("{error:#}")}),
        };
        json!({"control": measured})
    }
}

fn finish(mut twin: Child) -> Result<Value> {
    drop(twin.stdin.take());
    let out = block_in_place(|| twin.wait_with_output())?;
    serde_json::from_slice(&out.stdout).context("the twin said nothing")
}

fn judge(ours: &Value, twin: &Value) -> Value {
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap_or_default();
    let (p99, bar) = (number(ours, "p99"), TIMES * number(twin, "p99") + TURNS);
    let (worst, longest) = (number(ours, "worst"), LONGEST + number(twin, "worst"));
    let enough = ours["calls"].as_u64() >= Some(ENOUGH);
    let miss = if enough && p99 > bar {
        Some(format!("p99 is {p99:.1} ms, may be {bar:.1} ms"))
    } else if enough && worst > longest {
        Some(format!(
            "a call took {worst:.0} ms, may take {longest:.0} ms"
        ))
    } else {
        None
    };
    json!({"ours": ours, "twin": twin, "p99_bar": bar, "worst_bar": longest, "miss": miss})
}

/// The twin's whole life.
pub async fn twin(child: PathBuf) -> Result<Value> {
    let calls = Calls::start(child).await?;
    // Whatever ends the reading ends the twin.
    let _ = block_in_place(|| std::io::stdin().read_to_end(&mut Vec::new()));
    calls.finish().await
}

/// A call every few milliseconds.
struct Calls {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Result<Vec<f64>>>,
}

impl Calls {
    async fn start(child: PathBuf) -> Result<Self> {
        // Any fault will do: none is armed.
        let setup = Setup {
            code: "F01",
            pace: 1.0,
            child,
        };
        let world = World::new(&setup).await?;
        let stop = Arc::new(AtomicBool::new(false));
        // Waited for by `finish`, the only way to learn anything from it.
        let task = tokio::spawn(repeat(world, Arc::clone(&stop)));
        Ok(Self { stop, task })
    }

    async fn finish(self) -> Result<Value> {
        self.stop.store(true, Ordering::Relaxed);
        let mut took = self.task.await??;
        took.sort_by(f64::total_cmp);
        let at = |share: usize| took.get(took.len() * share / 100).or(took.last());
        let worst = took.last();
        Ok(json!({"calls": took.len(), "p50": at(50), "p99": at(99), "worst": worst}))
    }
}

async fn repeat(world: World, stop: Arc<AtomicBool>) -> Result<Vec<f64>> {
    let read = operation(1);
    let mut took = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let judged = world.call(&read).await;
        ensure!(
            judged.outcome == "R0",
            "the healthy server answered {}: {}",
            judged.outcome,
            judged.text
        );
        took.push(judged.wall.as_secs_f64() * 1000.0);
        tokio::time::sleep(PAUSE).await;
    }
    world.server.stop().await;
    Ok(took)
}
