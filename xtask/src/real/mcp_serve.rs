//! `hermes mcp serve` with the vendor's own clients of both eras, over chats that the Python program keeps.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Checks;
use super::clients::MCP_CHECKS;
use crate::cache::Scratch;
use crate::{cache, command, workspace};

const INSPECTOR: &str = "@modelcontextprotocol/inspector@0.15.0";

pub fn run(checks: &mut Checks) -> Result<()> {
    let folder = workspace::root().join("xtask/python");
    let program = command::build_program("dev", "hermes")?;
    let theirs = cache::hermes_agent("0.19.0")?.join("python");
    for (check, requirements) in MCP_CHECKS {
        let name = check.trim_end_matches("_check.py");
        let python = cache::venv(name, requirements)?.join("python");
        let user = Scratch::new("mcp-serve")?;
        let mut script: Command = command::as_user(&python, user.path());
        script
            .arg(folder.join("clients/mcp_serve_check.py"))
            .args([&program, &theirs])
            .arg(folder.join("interop/chat.py"));
        let told = command::stdout(&mut script).map(|out| print!("mcp serve, {name}: {out}"));
        checks.note(&format!("mcp serve with {}", requirements.trim()), told);
    }
    checks.note(&format!("mcp serve with {INSPECTOR}"), inspect(&program));
    Ok(())
}

/// The protocol's own inspector lists the tools and calls one.
fn inspect(program: &Path) -> Result<()> {
    let inspector = cache::npm("mcp-inspector", &[INSPECTOR])?.join(".bin/mcp-inspector");
    let user = Scratch::new("mcp-inspector")?;
    let ask = |method: &[&str]| {
        let mut cli = command::as_user(&inspector, user.path());
        cli.arg("--cli").arg(program).args(["mcp", "serve"]);
        command::stdout(cli.arg("--method").args(method))
    };
    let listed: Value = serde_json::from_str(&ask(&["tools/list"])?)?;
    let tools = listed["tools"].as_array().map_or(0, Vec::len);
    ensure!(tools == 10, "lists {tools} tools");
    let call = [
        "tools/call",
        "--tool-name",
        "events_wait",
        "--tool-arg",
        "timeout_ms=100",
    ];
    let waited: Value = serde_json::from_str(&ask(&call)?)?;
    let text = waited["content"][0]["text"].as_str().unwrap_or_default();
    ensure!(text.contains("timeout"), "answers {waited}");
    Ok(())
}
