//! The Node that runs other people's programs: the machine's, if it is new enough.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{cache, command};

const OLDEST: u32 = 22;
const VERSION: &str = "22.23.3";

pub fn program() -> Result<PathBuf> {
    if major().is_some_and(|major| major >= OLDEST) {
        return Ok(PathBuf::from("node"));
    }
    let package = format!("node-{}-{}", system(), processor());
    let modules = cache::npm("node", &[&format!("{package}@{VERSION}")])?;
    Ok(modules.join(package).join("bin/node"))
}

fn major() -> Option<u32> {
    let version = command::stdout(Command::new("node").arg("--version")).ok()?;
    let version = version.trim().trim_start_matches('v');
    version.split('.').next()?.parse().ok()
}

fn system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

fn processor() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}
