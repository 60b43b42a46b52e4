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
    let installed = install("bwrap", "bubblewrap");
    let hermes = command::build_program("dev", "hermes")?;
    let unusable = unusable(&hermes)?;
    for (tests, name) in MECHANISMS {
        let what = format!("sandbox with {name}");
        let reason = unusable.iter().find(|reason| reason.contains(name));
        match (reason, &installed) {
            (_, Err(error)) if name == "bubblewrap" => checks.note(&what, Err(failed(error))),
            // The machine forbids it; nothing that could be installed would change that.
            (Some(reason), _) => checks.excuse(&what, reason),
            (None, _) => checks.note(&what, tested(&format!("::{tests}::"), TESTS)),
        }
    }
    Ok(())
}

fn failed(error: &anyhow::Error) -> anyhow::Error {
    anyhow::anyhow!("bwrap is missing and cannot be installed: {error:#}")
}

/// Sees to it that a program is there.
pub(super) fn install(program: &str, package: &str) -> Result<()> {
    let is_there = || Command::new(program).arg("--version").output().is_ok();
    if is_there() {
        return Ok(());
    }
    let apt = |args: &[&str]| command::stdout(Command::new("apt-get").args(args));
    let order = ["install", "--yes", package];
    if apt(&order).is_err() {
        // Its lists may be older than the package.
        apt(&["update"])?;
        apt(&order)?;
    }
    ensure!(is_there(), "the package {package} has no {program}");
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

/// Runs the ignored tests of the program that have `filter` in their names.
pub(super) fn tested(filter: &str, least: usize) -> Result<()> {
    let mut cargo = command::cargo();
    cargo.args(["test", "--package", "hermes", "--test", "it", "--"]);
    let told = command::stdout(cargo.args(["--ignored", filter]))?;
    let passed = told.lines().find_map(|line| {
        let rest = line.strip_prefix("test result: ok. ")?;
        rest.split(' ').next()?.parse::<usize>().ok()
    });
    match passed {
        Some(passed) if passed >= least => Ok(()),
        passed => bail!("{passed:?} tests passed, expected {least} or more"),
    }
}
