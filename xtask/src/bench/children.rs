//! `delegate_task`: eight children of a model that thinks for a while, beside one.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::start::wall;
use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile};

const CHILDREN: usize = 8;
/// How long the model thinks about each request of a child.
const THINKS_MS: u64 = 200;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let user = User::new("children", &script())?;
    let config = user.home.path().join(".hermes/config.yaml");
    let limit = format!("delegation:\n  max_concurrent_children: {CHILDREN}\n");
    fs::write(&config, fs::read_to_string(&config)? + &limit)?;

    let rounds = setup.rounds(40).max(3);
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(delegated(setup, &user, "one")?);
        many.push(delegated(setup, &user, "many")?);
    }
    let (one, many) = (percentile(&one, 50), percentile(&many, 50));
    let what = |count: usize| {
        format!(
            "{count} children of a model that takes {THINKS_MS} ms: request to next request, median"
        )
    };
    Ok(vec![
        Row::new(what(1), one, "ms", Bar::None),
        Row::new(what(CHILDREN), many, "ms", Bar::None),
        Row::new(
            format!("{CHILDREN} children as long as one"),
            many / one,
            "×",
            Bar::AtMost(1.2),
        ),
    ])
}

/// From the request whose reply delegates to the one that has the reports, in milliseconds.
fn delegated(setup: &Setup, user: &User, prompt: &str) -> Result<f64> {
    let before = user.server.calls()?.len();
    wall(&mut user.command(&setup.hermes, &["-z", prompt]))?;
    let calls = user.server.calls()?.split_off(before);
    let children = if prompt == "one" { 1 } else { CHILDREN };
    ensure!(calls.len() == children + 2, "{} requests", calls.len());
    let (first, last) = (calls[0].at_unix_us, calls[calls.len() - 1].at_unix_us);
    Ok((last - first) as f64 / 1000.0)
}

/// `one` and `many` are told apart by what was said last; a child by its goal.
fn script() -> Value {
    let tasks = |count: usize| -> Value {
        let tasks: Vec<Value> = (0..count)
            .map(|n| json!({"goal": format!("part {n}")}))
            .collect();
        json!([{"name": "delegate_task", "arguments": {"tasks": tasks}}])
    };
    json!({"steps": [
        {"when": {"user": "part "}, "text": "done", "delay_ms": THINKS_MS, "repeat": true},
        {"when": {"after_tool": true}, "text": "all done", "repeat": true},
        {"when": {"user": "one"}, "tool_calls": tasks(1), "repeat": true},
        {"tool_calls": tasks(CHILDREN), "repeat": true},
    ]})
}
