//! A memory outside that somebody else wrote, driven through the program: asked, told, and killed between two turns.

use anyhow::{Result, ensure};

use super::Checks;
use super::mcp::node;
use crate::{cache, command};

const SERVER: &str = "@modelcontextprotocol/server-memory";
const VERSION: &str = "2026.8.31";
const TEST: &str = "memory_server::a_real_memory_is_asked_told_and_replaced_when_it_dies";

pub fn run(checks: &mut Checks) -> Result<()> {
    let package = format!("{SERVER}@{VERSION}");
    let modules = cache::npm("mcp-memory", &[&package])?;
    let server = modules.join(SERVER).join("dist/index.js");
    let mut cargo = command::cargo();
    cargo.args(["test", "--package", "hermes", "--test", "it", "--"]);
    cargo.args(["--ignored", "--exact", TEST]);
    cargo.env("HERMES_REAL_MEMORY_NODE", node::program()?);
    cargo.env("HERMES_REAL_MEMORY_SERVER", server);
    let tested = command::stdout(&mut cargo).and_then(|told| {
        ensure!(
            told.contains("ok. 1 passed"),
            "the test was not run: {told}"
        );
        Ok(())
    });
    checks.note(&format!("memory outside: {package}, killed once"), tested);
    Ok(())
}
