//! The vendors' own Python clients against the scripted model server: a fake counts only when they accept it.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::Checks;
use crate::scripted::Server;
use crate::{cache, command, workspace};

const CHECKS: &[&str] = &["openai_check.py", "anthropic_check.py"];

pub fn run(checks: &mut Checks) -> Result<()> {
    let folder = workspace::root().join("xtask/python/clients");
    let requirements = fs::read_to_string(folder.join("requirements.txt"))?;
    let python = cache::venv("clients", &requirements)?.join("python");
    let server = command::build(&["--package", "hermes-scripted", "--bin", "scripted-model"])?;
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
