//! `hermes -z`: one answer from a model that answers at once, and what tools add to it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::start::{peak_mb, wall};
use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile};
use crate::command::{self, as_user};

/// Calls in one turn.
const CALLS: usize = 30;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let (us, them) = (
        User::new("talk-ours", &script())?,
        User::new("talk-theirs", &script())?,
    );
    let theirs = setup.theirs.join("hermes");
    let ask = |user: &User, program: &Path, prompt: &str| user.command(program, &["-z", prompt]);

    wall(&mut ask(&us, &setup.hermes, "hi"))?;
    wall(&mut ask(&them, &theirs, "hi"))?;
    let times = |rounds: usize, make: &dyn Fn() -> Command| -> Result<Vec<f64>> {
        (0..rounds).map(|_| wall(&mut make())).collect()
    };
    let ours = times(setup.rounds(100), &|| ask(&us, &setup.hermes, "hi"))?;
    let python = times(setup.rounds(60).clamp(2, 5), &|| ask(&them, &theirs, "hi"))?;
    let acting = times(setup.rounds(20).max(3), &|| ask(&us, &setup.hermes, "act"))?;
    let bash = times(setup.rounds(100), &|| {
        let mut bash = as_user(Path::new("bash"), us.home.path());
        bash.args(["-c", "echo 1"]);
        bash
    })?;

    let (answer, per_call) = (
        percentile(&ours, 50),
        (percentile(&acting, 50) - percentile(&ours, 50)) / CALLS as f64,
    );
    let bare = percentile(&bash, 50);
    let sizes = preamble(setup, &us)?;
    Ok(vec![
        Row::new("`-z hi`, median", answer, "ms", Bar::AtMost(35.0))
            .beside(percentile(&python, 50)),
        Row::new(
            "`-z hi` faster than Python",
            percentile(&python, 50) / answer,
            "×",
            Bar::AtLeast(100.0),
        ),
        Row::new(
            "`-z hi`, peak memory",
            peak_mb(&mut ask(&us, &setup.hermes, "hi"))?,
            "MB",
            Bar::AtMost(20.0),
        ),
        Row::new(
            format!("one of {CALLS} `terminal echo` in a turn, above `bash -c`"),
            per_call - bare,
            "ms",
            Bar::AtMost(5.0),
        ),
        Row::new(
            "first request: system prompt",
            sizes.0,
            "bytes",
            Bar::AtMost(6_144.0),
        ),
        Row::new(
            "first request: tools",
            sizes.1,
            "bytes",
            Bar::AtMost(12_288.0),
        ),
    ])
}

/// `act` calls the terminal many times in one reply; anything else is answered.
fn script() -> Value {
    let calls: Vec<Value> = (0..CALLS)
        .map(|n| json!({"name": "terminal", "arguments": {"command": format!("echo {n}")}}))
        .collect();
    json!({"steps": [
        {"when": {"user": "act", "after_tool": false}, "tool_calls": calls, "repeat": true},
        {"text": "done", "repeat": true},
    ]})
}

fn preamble(setup: &Setup, user: &User) -> Result<(f64, f64)> {
    let sizes: Value = serde_json::from_str(&command::stdout(
        &mut user.command(&setup.hermes, &["prompt-size", "--json"]),
    )?)?;
    let number = |key: &str| sizes[key].as_f64().unwrap_or(f64::MAX);
    Ok((number("system"), number("tools")))
}
