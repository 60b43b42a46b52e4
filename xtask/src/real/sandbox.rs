//! Commands within bounds, with each mechanism: `bwrap` is installed if it is missing, Landlock is in the kernel or not.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Checks;
use crate::cache::Scratch;
use crate::command;

/// What its tests are called, and what doctor calls it.
const MECHANISMS: [(&str, &str); 2] = [("bubblewrap", "bubblewrap"), ("landlock", "Landlock")];
/// With each; fewer means that some were not found.
const TESTS: usize = 20;

pub fn run(checks: &mut Checks) -> Result<()> {
    let installed = install();
    let hermes = command::build_program("dev", "hermes")?;
    let unusable = unusable(&hermes)?;
    for (tests, name) in MECHANISMS {
        let what = format!("sandbox with {name}");
        let reason = unusable.iter().find(|reason| reason.contains(name));
        match (reason, &installed) {
            (_, Err(error)) if name == "bubblewrap" => checks.note(&what, Err(failed(error))),
            // The machine forbids it; nothing that could be installed would change that.
            (Some(reason), _) => checks.excuse(&what, reason),
            (None, _) => checks.note(&what, tested(tests)),
        }
    }
    Ok(())
}

fn failed(error: &anyhow::Error) -> anyhow::Error {
    anyhow::anyhow!("bwrap is missing and cannot be installed: {error:#}")
}

fn install() -> Result<()> {
    let is_there = || Command::new("bwrap").arg("--version").output().is_ok();
    if is_there() {
        return Ok(());
    }
    let apt = |args: &[&str]| command::stdout(Command::new("apt-get").args(args));
    let package = ["install", "--yes", "bubblewrap"];
    if apt(&package).is_err() {
        // Its lists may be older than the package.
        apt(&["update"])?;
        apt(&package)?;
    }
    ensure!(is_there(), "the package bubblewrap has no bwrap");
    Ok(())
}

/// Why mechanisms don't work here, in the program's own words.
fn unusable(hermes: &Path) -> Result<Vec<String>> {
    let user = Scratch::new("sandbox")?;
    let mut doctor = command::as_user(hermes, user.path());
    let told = command::finish(doctor.args(["doctor", "--json"]))?.out;
    let told: Value = serde_json::from_str(&told).context("hermes doctor")?;
    let findings = told["findings"].as_array().context("no findings")?;
    let texts = findings
        .iter()
        .filter(|finding| finding["section"] == "Sandbox");
    let texts = texts.filter_map(|finding| finding["text"].as_str()?.strip_prefix("not usable: "));
    Ok(texts.map(str::to_owned).collect())
}

fn tested(mechanism: &str) -> Result<()> {
    let filter = format!("::{mechanism}::");
    let mut cargo = command::cargo();
    cargo.args(["test", "--package", "hermes", "--test", "it", "--"]);
    let told = command::stdout(cargo.args(["--ignored", &filter]))?;
    let passed = told.lines().find_map(|line| {
        let rest = line.strip_prefix("test result: ok. ")?;
        rest.split(' ').next()?.parse::<usize>().ok()
    });
    match passed {
        Some(passed) if passed >= TESTS => Ok(()),
        passed => bail!("{passed:?} tests passed, expected {TESTS} or more"),
    }
}
