//! The program as its users see it: run as a process, judged by exit code, output and the files it leaves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking and start the program themselves"
)]

mod approvals;
mod audit;
mod auth;
mod backup;
mod bench;
mod chat;
mod checkpoints;
mod code;
mod commands;
mod compact;
mod config;
mod curator;
mod delegate;
mod demo;
mod doctor;
mod dumps;
mod fallback;
mod insights;
mod learning;
mod limits;
mod lines;
mod logs;
mod mcp;
mod mcp_serve;
mod memory_server;
mod models;
mod personality;
mod processes;
mod profile;
mod references;
mod routes;
mod sandbox;
mod screen;
mod secret;
mod seed;
mod sessions;
mod setup;
mod signals;
mod skills;
mod start;
mod week;
mod worktree;

use hermes_testkit::{Cmd, Exit, Output, TempHome};

/// `hermes` with these arguments, run to its end.
#[track_caller]
fn hermes(home: &TempHome, args: &[&str]) -> Output {
    command(home, args).run()
}

/// `hermes` with these arguments, about to run.
fn command(home: &TempHome, args: &[&str]) -> Cmd {
    // The tests may run in a container, where modes are otherwise left to the surroundings.
    home.cmd(env!("CARGO_BIN_EXE_hermes"))
        .args(args)
        // Most tests read lines; those of the screen ask for it.
        .env("HERMES_TUI", "0")
        .env("HERMES_CONTAINER", "0")
}

/// Runs and expects failure with a message; gives stderr.
#[track_caller]
fn fails(home: &TempHome, args: &[&str], code: i32) -> String {
    let output = hermes(home, args);
    assert_eq!(output.exit, Exit::Code(code), "{args:?}\n{output}");
    assert!(
        !output.stderr.trim().is_empty(),
        "no reason given for {args:?}"
    );
    output.stderr
}
