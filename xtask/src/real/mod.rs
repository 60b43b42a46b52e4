//! `cargo xtask real`: the checks that need somebody else's program. Vendors' clients against our fakes, the Python program against our home.

mod clients;
mod compacted;
mod interop;
mod mcp;
mod mcp_serve;
mod memory;
mod sandbox;
mod talk;
mod terminal;

use anyhow::{Result, ensure};

use crate::args::Args;

pub fn run(args: Args) -> Result<()> {
    let suites = args.words(&[
        "clients",
        "python",
        "mcp",
        "mcp-serve",
        "memory",
        "sandbox",
        "terminal",
        "all",
    ])?;
    let wanted = |suite: &str| suites.is_empty() || suites.iter().any(|s| s == suite || s == "all");
    let mut checks = Checks::default();
    if wanted("clients") {
        clients::run(&mut checks)?;
    }
    if wanted("python") {
        interop::run(&mut checks)?;
        talk::run(&mut checks)?;
        compacted::run(&mut checks)?;
    }
    if wanted("mcp") {
        mcp::run(&mut checks)?;
    }
    if wanted("mcp-serve") {
        mcp_serve::run(&mut checks)?;
    }
    if wanted("memory") {
        memory::run(&mut checks)?;
    }
    if wanted("sandbox") {
        sandbox::run(&mut checks)?;
    }
    if wanted("terminal") {
        terminal::run(&mut checks)?;
    }
    let Checks {
        passed,
        failed,
        excused,
    } = checks;
    println!("{passed} passed, {failed} failed, {excused} excused");
    ensure!(failed == 0, "some checks failed");
    Ok(())
}

/// Counts and prints; one failed check does not stop the others.
#[derive(Debug, Default)]
pub struct Checks {
    passed: usize,
    failed: usize,
    excused: usize,
}

impl Checks {
    /// It failed, and that is known and not ours to mend.
    pub fn excuse(&mut self, name: &str, reason: &str) {
        self.excused += 1;
        println!("excused {name}: {reason}");
    }

    pub fn note(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("ok {name}");
            }
            Err(error) => {
                self.failed += 1;
                println!("FAILED {name}: {error:#}");
            }
        }
    }
}
