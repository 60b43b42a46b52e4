//! The vendors' own Python clients against our counterparts: a fake counts only when they accept it.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::Checks;
use crate::scripted::Server;
use crate::{cache, command, workspace};

const CHECKS: &[&str] = &[
    "openai_check.py",
    "anthropic_check.py",
    "google_check.py",
    "bedrock_check.py",
];

/// The vendor's MCP client of each era.
pub(super) const MCP_CHECKS: &[(&str, &str)] = &[
    ("mcp1_check.py", "mcp==1.30.0\n"),
    ("mcp2_check.py", "mcp==2.3.0\n"),
];

pub fn run(checks: &mut Checks) -> Result<()> {
    model(checks)?;
    mcp(checks)
}

fn model(checks: &mut Checks) -> Result<()> {
    let folder = workspace::root().join("xtask/python/clients");
    let requirements = fs::read_to_string(folder.join("requirements.txt"))?;
    let python = cache::venv("clients", &requirements)?.join("python");
    let server = command::build_program("dev", "scripted-model")?;
    for check in CHECKS {
        // A server per check: each begins at the top of the script.
        let server = Server::start(&server, &folder.join("script.json"))?;
        let mut script = Command::new(&python);
        script.arg(folder.join(check)).arg(&server.url);
        // Its own last line says how many checks it made.
        let told = command::stdout(&mut script).map(|out| print!("{check}: {out}"));
        checks.note(check, told);
    }
    Ok(())
}

/// These start the servers themselves: each check wants another.
fn mcp(checks: &mut Checks) -> Result<()> {
    let folder = workspace::root().join("xtask/python/clients");
    let program = command::build_program("dev", "flaky-mcp")?;
    for (check, requirements) in MCP_CHECKS {
        let name = check.trim_end_matches("_check.py");
        let python = cache::venv(name, requirements)?.join("python");
        let mut script = Command::new(&python);
        script.arg(folder.join(check)).arg(&program);
        let told = command::stdout(&mut script).map(|out| print!("{check}: {out}"));
        checks.note(check, told);
    }
    Ok(())
}
