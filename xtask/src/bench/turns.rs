//! Turns inside one process: calls of one reply that run together, and a hundred conversations at once.
//!
//! Both run in `examples/turn_probe`: the real session, store, model client and tools, without the program around
//! them, because no command talks in more than one conversation yet and no tool waits as long as it is told.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile};
use crate::command;

/// Calls in one reply, and how long each takes.
const CALLS: usize = 10;
const CALL_MS: u64 = 200;

/// Conversations at once.
const TURNS: usize = 100;
/// Requests each of them makes: three with calls, one for the answer.
const REQUESTS: usize = 4;

pub fn batch_rows(setup: &Setup) -> Result<Vec<Row>> {
    let calls: Vec<_> = (0..CALLS)
        .map(|n| json!({"name": "wait", "arguments": {"n": n, "ms": CALL_MS}}))
        .collect();
    let user = User::new(
        "batch",
        &json!({"steps": [
            {"when": {"after_tool": false}, "tool_calls": calls, "repeat": true},
            {"text": "done", "repeat": true},
        ]}),
    )?;
    let rounds = setup.rounds(40);
    probe(&user, &["batch", &rounds.to_string()])?;
    let requests = user.server.calls()?;
    ensure!(requests.len() == 2 * rounds, "{} requests", requests.len());
    let times: Vec<_> = requests
        .chunks(2)
        .map(|pair| (pair[1].at_unix_us - pair[0].at_unix_us) as f64 / 1000.0)
        .collect();
    let what = format!(
        "{CALLS} calls of {CALL_MS} ms in one reply (stub tool, real session): request to next request"
    );
    Ok(vec![Row::new(
        what,
        percentile(&times, 50),
        "ms",
        Bar::AtMost(220.0),
    )])
}

/// What `turn_probe crowd` says.
#[derive(Debug, Deserialize)]
struct Crowd {
    /// Milliseconds of each turn that ended with an answer.
    turns: Vec<f64>,
    /// Why the others did not.
    failures: Vec<String>,
    peak_kb: f64,
}

pub fn crowd_rows(_: &Setup) -> Result<Vec<Row>> {
    let user = User::new("turns", &work())?;
    for at in 0..TURNS {
        let folder = user.home.path().join(format!("work/{at}"));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("notes.txt"), notes())?;
        fs::write(folder.join("plan.txt"), notes())?;
    }
    let said = probe(&user, &["crowd", &TURNS.to_string()])?;
    let crowd: Crowd = serde_json::from_str(&said).context(said)?;
    if let Some(failure) = crowd.failures.first() {
        eprintln!("a turn failed: {failure}");
    }
    let requests = user.server.calls()?.len();
    let slowest = crowd.turns.iter().copied().fold(0.0, f64::max);
    let median = percentile(&crowd.turns, 50);
    let title = |what: &str| format!("{TURNS} turns at once in one process: {what}");
    Ok(vec![
        Row::new(
            title("peak memory"),
            crowd.peak_kb / 1024.0,
            "MB",
            Bar::AtMost(100.0),
        ),
        Row::new(
            title("turns without an answer"),
            (TURNS - crowd.turns.len()) as f64,
            "",
            Bar::AtMost(0.0),
        ),
        Row::new(
            title("requests missing or too many"),
            requests.abs_diff(TURNS * REQUESTS) as f64,
            "",
            Bar::AtMost(0.0),
        ),
        Row::new(title("median turn"), median, "ms", Bar::None),
        Row::new(
            title("slowest turn, of the median"),
            slowest / median,
            "×",
            Bar::AtMost(2.0),
        ),
    ])
}

/// Reads and searches, then writes, then runs a command, then tells at length; every step is known by the last result.
fn work() -> Value {
    let answer: Vec<_> = (0..300).map(|at| format!("word{at} ")).collect();
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    json!({"steps": [
        {"when": {"tool_result": "the-end"}, "text": answer, "between_ms": 2, "repeat": true},
        {"when": {"tool_result": "bytes_written"}, "delay_ms": 50, "repeat": true, "tool_calls": [
            call("terminal", json!({"command": "wc -l report.txt && echo the-end"})),
        ]},
        {"when": {"after_tool": true}, "delay_ms": 50, "repeat": true, "tool_calls": [
            call("write_file", json!({"path": "report.txt", "content": "found\n".repeat(500)})),
        ]},
        {"delay_ms": 50, "repeat": true, "tool_calls": [
            call("read_file", json!({"path": "notes.txt"})),
            call("read_file", json!({"path": "plan.txt"})),
            call("search_files", json!({"pattern": "line 7"})),
        ]},
    ]})
}

/// About 20 kB.
fn notes() -> String {
    (0..500)
        .map(|at| format!("line {at} of what somebody wrote down\n"))
        .collect()
}

fn probe(user: &User, args: &[&str]) -> Result<String> {
    let program = command::build_example("release", "turn_probe")?;
    command::stdout(&mut user.command(&program, args))
}
