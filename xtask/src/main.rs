//! The project's own chores: `cargo xtask COMMAND`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a developer's tool: it prints its findings and starts cargo, python and hermes itself"
)]

mod args;
mod bench;
mod cache;
mod command;
mod faults;
mod fuzz;
mod pictures;
mod real;
mod scenarios;
mod scripted;
mod tidy;
mod workspace;

use std::process::ExitCode;

use args::{Args, Usage};

/// A chore: `Err` means it found something wrong (exit 1) or was called wrongly (exit 2).
type Run = fn(Args) -> anyhow::Result<()>;

const COMMANDS: &[(&str, &str, Run)] = &[
    (
        "tidy",
        "dependency table, sizes and small rules of the house",
        tidy::run,
    ),
    (
        "scenarios",
        "scenario -> tests [--area A] [--require A,B]",
        scenarios::run,
    ),
    (
        "real",
        "checks that need others' programs [clients|python|mcp|mcp-serve|memory|sandbox|all]",
        real::run,
    ),
    (
        "bench",
        "figures beside Python's [--json] [--quick] [start|talk|stream|failover|resume|compact|batch|turns|children|store|mcp|gate|sandbox|skills|learn|kill|crowd]",
        bench::run,
    ),
    (
        "faults",
        "what becomes of calls to failing MCP servers [F01 F02 …] [--json] [--write] [--peer python|rmcp]",
        faults::run,
    ),
    (
        "fuzz",
        "inputs nobody thought of [gate] [--seconds 60] [--inputs N] [--seed N]",
        fuzz::run,
    ),
    (
        "pictures",
        "draws docs/pictures from the real program [--debug]",
        pictures::run,
    ),
];

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let Some(name) = given.next() else {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    };
    let Some((_, _, run)) = COMMANDS.iter().find(|(known, ..)| *known == name) else {
        eprintln!("xtask: no command `{name}`\n\n{}", overview());
        return ExitCode::from(2);
    };
    match run(Args::new(given)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

fn overview() -> String {
    COMMANDS
        .iter()
        .map(|(name, about, _)| format!("cargo xtask {name:<10} {about}\n"))
        .collect()
}
