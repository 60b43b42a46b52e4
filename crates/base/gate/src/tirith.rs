//! Tirith, an external scanner of commands: what it finds is one more thing to ask about.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{Capture, Event, Exit, Spawn, Stdin, Tty};
use serde::Deserialize;

use crate::Warning;

const MAX_FINDINGS: usize = 50;
const MAX_SUMMARY: usize = 500;
/// More than fifty findings take.
const MAX_OUTPUT: usize = 256 * 1024;

/// Where the scanner is, and what becomes of a command it cannot look at.
#[derive(Clone, Debug)]
pub struct Tirith {
    /// `None`: it is not installed.
    pub program: Option<PathBuf>,
    pub timeout: Duration,
    pub otherwise: Otherwise,
    /// All it gets to see of ours.
    pub env: Vec<(String, String)>,
}

/// What a scanner that fails means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// `tirith_fail_open: true`
    Pass,
    Ask,
}

impl Tirith {
    /// Looks where `path` says, in the directories of `PATH`, and in those of our own.
    pub fn find(path: &str, search: &str, own: &Path) -> Option<PathBuf> {
        let path = path.trim();
        if path.is_empty() {
            return None;
        }
        let mut places = Vec::new();
        if path.contains('/') {
            places.push(PathBuf::from(path));
        } else {
            places.extend(std::env::split_paths(search).map(|dir| dir.join(path)));
        }
        places.push(own.join("tirith"));
        places.into_iter().find(|place| place.is_file())
    }

    pub(super) async fn scan(&self, command: &str) -> Vec<Warning> {
        let Some(program) = &self.program else {
            return self.failed("it is not installed");
        };
        let run = tokio::time::timeout(self.timeout, self.run(program, command));
        match run.await {
            Err(_) => self.failed("it took too long"),
            Ok(Err(error)) => self.failed(&error.to_string()),
            Ok(Ok((Exit::Code(0), _))) => Vec::new(),
            Ok(Ok((Exit::Code(1 | 2), said))) => warnings(&said),
            Ok(Ok((exit, _))) => self.failed(&format!("it ended with {}", exit.number())),
        }
    }

    async fn run(
        &self,
        program: &Path,
        command: &str,
    ) -> Result<(Exit, String), hermes_proc::Error> {
        let options = [
            "check",
            "--json",
            "--non-interactive",
            "--shell",
            "posix",
            "--",
        ];
        let mut child = Spawn {
            program: program.to_owned(),
            args: options
                .iter()
                .copied()
                .chain([command])
                .map(str::to_owned)
                .collect(),
            env: self.env.clone(),
            dir: PathBuf::from("/"),
            stdin: Stdin::Null,
            tty: Tty::None,
        }
        .start()?;
        let mut output = Capture::new(MAX_OUTPUT, 0);
        loop {
            match child.next().await {
                Event::Output(text) => output.push(&text),
                Event::Ended(exit) => return Ok((exit, output.take().head)),
            }
        }
    }

    fn failed(&self, why: &str) -> Vec<Warning> {
        match self.otherwise {
            Otherwise::Pass => {
                tracing::debug!("tirith did not look: {why}");
                Vec::new()
            }
            Otherwise::Ask => vec![Warning {
                key: "tirith:unavailable".to_owned(),
                text: format!("tirith could not check this: {why}"),
            }],
        }
    }
}

#[derive(Default, Deserialize)]
struct Report {
    #[serde(default)]
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    #[serde(default)]
    rule_id: String,
    #[serde(default)]
    severity: String,
    #[serde(default, alias = "message")]
    title: String,
    #[serde(default)]
    description: String,
}

/// The exit code is the verdict; what it says only tells why.
fn warnings(said: &str) -> Vec<Warning> {
    let report = said.find('{').zip(said.rfind('}'));
    let report = report.and_then(|(start, end)| said.get(start..=end));
    let report: Report = report
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    let mut known = BTreeSet::new();
    let mut warnings = Vec::new();
    for finding in report.findings.into_iter().take(MAX_FINDINGS) {
        let warning = finding.warning();
        if known.insert(warning.key.clone()) {
            warnings.push(warning);
        }
    }
    if warnings.is_empty() {
        warnings.push(Warning {
            key: "tirith:unknown".to_owned(),
            text: "tirith warns without saying why".to_owned(),
        });
    }
    warnings
}

impl Finding {
    fn warning(self) -> Warning {
        let rule: String = match self.rule_id.trim() {
            "" => "unknown".to_owned(),
            rule => rule.chars().take(MAX_SUMMARY).collect(),
        };
        let parts = [&self.severity, &self.title, &self.description];
        let parts: Vec<&str> = parts
            .iter()
            .map(|part| part.trim())
            .filter(|part| !part.is_empty())
            .collect();
        let text = format!("tirith {rule}: {}", parts.join(": "));
        Warning {
            key: format!("tirith:{rule}"),
            text: text.chars().take(MAX_SUMMARY).collect(),
        }
    }
}
