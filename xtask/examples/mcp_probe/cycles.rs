//! Thousands of lost sessions and killed children: what is left of them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use hermes_mcp::Server;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::faulty::{Faulty, read};

/// The server forgets the session, somebody calls; and so on.
pub async fn expire(flaky: &Path, cycles: usize) -> Result<Value> {
    let faulty = Faulty::start(flaky).await?;
    let idle = idle(&faulty).await?;
    let server = faulty.over_http().await?;
    run(&faulty, server, "F01", idle, cycles).await
}

/// The child is killed, somebody calls; and so on.
pub async fn kill(flaky: &Path, cycles: usize) -> Result<Value> {
    let faulty = Faulty::start(flaky).await?;
    let idle = idle(&faulty).await?;
    let server = faulty.over_stdio().await?;
    run(&faulty, server, "F29", idle, cycles).await
}

/// What the process holds before there is any connection but that to the control port.
async fn idle(faulty: &Faulty) -> Result<Value> {
    faulty.wish(&json!({})).await?;
    Ok(vitals().await)
}

async fn run(
    faulty: &Faulty,
    server: Server,
    code: &str,
    idle: Value,
    cycles: usize,
) -> Result<Value> {
    let warm = cycles / 10;
    let mut times = Vec::new();
    let mut before = Value::Null;
    let start = Instant::now();
    for cycle in 0..cycles + warm {
        if cycle == warm {
            before = vitals().await;
        }
        faulty.wish(&json!({"arm": code})).await?;
        times.push(read(&server).await?);
    }
    let seconds = start.elapsed().as_secs_f64();
    let after = vitals().await;
    let handshakes = faulty.wish(&json!({})).await?["initialize"].as_u64();
    let wanted = (cycles + warm) as u64;
    ensure!(
        handshakes > Some(wanted),
        "{handshakes:?} handshakes in {wanted} cycles"
    );
    server.stop().await;
    drop(server);
    let stopped = vitals().await;
    Ok(json!({
        "times": times, "seconds": seconds,
        "idle": idle, "before": before, "after": after, "stopped": stopped,
    }))
}

/// What this process holds. What is on its way out gets a moment.
async fn vitals() -> Value {
    sleep(Duration::from_millis(500)).await;
    json!({
        "descriptors": entries("/proc/self/fd"),
        "tasks": Handle::current().metrics().num_alive_tasks(),
        "threads": entries("/proc/self/task"),
        "children": children(),
        "rss_kb": rss_kb(),
    })
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Zombies too.
fn children() -> usize {
    let threads = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.map(|list| list.split_whitespace().count()).sum()
}

fn rss_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number
        .and_then(|kb| kb.trim().parse().ok())
        .unwrap_or_default()
}
