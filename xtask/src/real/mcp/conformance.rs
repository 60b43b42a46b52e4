//! Every client scenario of the protocol's own conformance suites. The client is `examples/conformance_client`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};

use super::{each, node};
use crate::real::Checks;
use crate::{cache, command};

const PACKAGE: &str = "@modelcontextprotocol/conformance";

/// A version of the package, and which revision of the protocol it tests if not all it knows.
const SUITES: &[(&str, Option<&str>)] = &[
    ("0.1.16", None),
    ("0.2.0-alpha.12", Some("2026-07-28")),
    ("0.2.0-alpha.12", Some("2025-03-26")),
];

/// Scenarios that are expected to fail, one per line: suite, scenario, reason.
const EXCEPTIONS: &str = include_str!("exceptions.txt");

/// How much of a failed scenario is worth showing.
const SHOWN: usize = 25;

pub fn run(checks: &mut Checks) -> Result<()> {
    let node = node::program()?;
    let client = command::build_example("dev", "conformance_client")?;
    for (version, revision) in SUITES {
        let suite = Suite::new(&node, version, *revision)?;
        let scenarios = suite.scenarios()?;
        ensure!(!scenarios.is_empty(), "{}: no scenarios", suite.name());
        let results = each(scenarios.clone(), |scenario| suite.run(&scenario, &client));
        for (scenario, result) in scenarios.iter().zip(results) {
            note(checks, &suite.name(), scenario, result);
        }
    }
    Ok(())
}

/// An exception that is none any more is a failure too: the list must stay true.
fn note(checks: &mut Checks, suite: &str, scenario: &str, result: Result<()>) {
    let name = format!("{suite} {scenario}");
    match (exception(suite, scenario), result) {
        (Some(reason), Err(_)) => checks.excuse(&name, reason),
        (Some(_), Ok(())) => {
            checks.note(&name, Err(anyhow!("passes: take it off exceptions.txt")));
        }
        (None, result) => checks.note(&name, result),
    }
}

fn exception(suite: &str, scenario: &str) -> Option<&'static str> {
    let lines = EXCEPTIONS.lines().filter(|line| !line.starts_with('#'));
    let mut found = lines.filter_map(|line| {
        let rest = line.strip_prefix(suite)?.strip_prefix(' ')?;
        rest.strip_prefix(scenario)?.strip_prefix(": ")
    });
    found.next()
}

struct Suite<'a> {
    node: &'a Path,
    program: PathBuf,
    version: &'a str,
    revision: Option<&'a str>,
}

impl<'a> Suite<'a> {
    fn new(node: &'a Path, version: &'a str, revision: Option<&'a str>) -> Result<Self> {
        let folder = format!("mcp-conformance-{version}");
        let modules = cache::npm(&folder, &[&format!("{PACKAGE}@{version}")])?;
        Ok(Self {
            node,
            program: modules.join(PACKAGE).join("dist/index.js"),
            version,
            revision,
        })
    }

    fn name(&self) -> String {
        match self.revision {
            Some(revision) => format!("conformance {} for {revision}", self.version),
            None => format!("conformance {}", self.version),
        }
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(self.node);
        command.arg(&self.program).arg(verb);
        if let Some(revision) = self.revision {
            command.args(["--spec-version", revision]);
        }
        command
    }

    /// The names under the heading for clients: `  - name [revisions]`.
    fn scenarios(&self) -> Result<Vec<String>> {
        let listed = command::stdout(&mut self.command("list"))?;
        let lines = listed
            .lines()
            .skip_while(|line| !line.starts_with("Client scenarios"));
        let lines = lines.skip(1).take_while(|line| line.starts_with("  - "));
        let names = lines.map(|line| line.split_whitespace().nth(1).map(str::to_owned));
        names.collect::<Option<_>>().context("an odd list")
    }

    fn run(&self, scenario: &str, client: &Path) -> Result<()> {
        let mut run = self.command("client");
        run.args(["--scenario", scenario, "--command"]).arg(client);
        let ended = command::finish(run.env("RUST_BACKTRACE", "0"))?;
        ensure!(ended.code == Some(0), "{}", summary(&ended.err));
        Ok(())
    }
}

/// What the client said and what the suite found, without the list of every message.
fn summary(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
    let checks = lines.iter().position(|line| line.starts_with("Checks:"));
    let verdict = lines
        .iter()
        .position(|line| line.starts_with("Test Results"));
    let said = lines.iter().take(checks.unwrap_or(lines.len()));
    let found = lines.iter().skip(verdict.unwrap_or(lines.len()));
    let shown: Vec<_> = said.chain(found).take(SHOWN).copied().collect();
    shown.join("\n  ")
}
