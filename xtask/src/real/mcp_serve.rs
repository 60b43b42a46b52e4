//! `hermes mcp serve` with the vendor's own clients of both eras, over chats that the Python program keeps.

use std::process::Command;

use anyhow::Result;

use super::Checks;
use super::clients::MCP_CHECKS;
use crate::cache::Scratch;
use crate::{cache, command, workspace};

pub fn run(checks: &mut Checks) -> Result<()> {
    let folder = workspace::root().join("xtask/python");
    let program = command::build(&["--package", "hermes"])?;
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
    Ok(())
}
