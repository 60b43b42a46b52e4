//! What a long answer costs: the processor time of `hermes -z` while 50,000 words come in, one by one.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};

use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile};
use crate::command;

const WORDS: usize = 50_000;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let us = User::new("stream-ours", &script())?;
    let them = User::new("stream-theirs", &script())?;
    let ask = |user: &User, program: &Path| user.command(program, &["-z", "tell"]);
    let ours: Vec<_> = (0..setup.rounds(20).max(3))
        .map(|_| cpu_ms(&mut ask(&us, &setup.hermes)))
        .collect::<Result<_>>()?;
    let python: Vec<_> = (0..setup.rounds(60).min(3))
        .map(|_| cpu_ms(&mut ask(&them, &setup.theirs.join("hermes"))))
        .collect::<Result<_>>()?;
    let (ours, python) = (percentile(&ours, 50), percentile(&python, 50));
    Ok(vec![
        Row::new(
            "an answer of 50,000 words, each a delta: processor time",
            ours,
            "ms",
            Bar::None,
        )
        .beside(python),
        Row::new(
            "an answer of 50,000 words: less processor time than Python",
            python / ours,
            "×",
            Bar::AtLeast(50.0),
        ),
    ])
}

fn script() -> Value {
    let words: Vec<_> = (0..WORDS).map(|at| format!("word{at} ")).collect();
    json!({"steps": [{"text": words, "repeat": true}]})
}

/// User and system time of a program and of all it waited for, once it has said everything.
fn cpu_ms(command: &mut Command) -> Result<f64> {
    let before = children_ms()?;
    let answer = command::stdout(command)?;
    let spent = children_ms()? - before;
    let words = answer.split_whitespace().count();
    ensure!(words == WORDS, "{command:?}: {words} words");
    Ok(spent)
}

/// What the kernel has counted for the programs we have waited for.
fn children_ms() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let spent = usage.user_time() + usage.system_time();
    Ok(spent.num_microseconds() as f64 / 1000.0)
}
