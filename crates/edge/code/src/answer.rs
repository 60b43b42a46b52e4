//! A result as the model reads it.

use std::time::Duration;

use hermes_gate::{Denied, DeniedBy};
use hermes_home::redact::Redactor;
use hermes_proc::{Exit, strip_ansi};
use hermes_types::{Args, Outcome, ToolOutput};
use serde_json::{Map, Value, json};

use crate::run::{Ending, Finished};

/// Characters of what it printed.
pub(crate) const MAX_STDOUT: usize = 50_000;
/// Both ends as well: a traceback stands at the end.
const MAX_STDERR: usize = 10_000;
const MAX_REASON: usize = 500;

/// `{"status", "output", "tool_calls_made", "duration_seconds"}` and what else there is to say.
#[derive(Debug)]
pub(crate) struct Answer {
    fields: Map<String, Value>,
    outcome: Outcome,
}

/// What is known of a script besides what it said.
pub(crate) struct Facts {
    pub calls: usize,
    pub took: Duration,
    pub limit: Duration,
}

impl Answer {
    /// A script that did not run, or not because of itself.
    pub fn error(error: impl Into<String>) -> Self {
        let fields =
            json!({"status": "error", "output": "", "tool_calls_made": 0, "duration_seconds": 0.0});
        Self::new(fields, Outcome::Failed).and("error", error.into())
    }

    /// Stopped before it began.
    pub fn interrupted() -> Self {
        let error = "The script was interrupted before it started.";
        let answer = Self::error(error).and("status", "interrupted");
        answer.with(Outcome::Cancelled)
    }

    pub fn finished(finished: &Finished, facts: &Facts, redactor: &Redactor) -> Self {
        let clean = |text: &str| clean(text, redactor);
        let stdout = finished.stdout.kept.shown(MAX_STDOUT, clean);
        let stderr = finished.stderr.kept.shown(MAX_STDERR, clean);
        let stdout_truncated = finished.stdout.kept.dropped > 0 || longer(&stdout, MAX_STDOUT);
        let (status, outcome, reason) = match finished.ending {
            Ending::Exited(Exit::Code(0)) => ("success", Outcome::Done, None),
            Ending::Exited(exit) => ("error", Outcome::Failed, Some(ended(exit, &stderr))),
            Ending::TimedOut => {
                let seconds = facts.limit.as_secs_f64();
                let reason = format!("Script timed out after {seconds}s and was stopped");
                ("timeout", Outcome::Failed, Some(reason))
            }
            Ending::Interrupted => {
                let reason = "Script interrupted and stopped".to_owned();
                ("interrupted", Outcome::Cancelled, Some(reason))
            }
        };
        let output = match (&reason, finished.ending) {
            (None, _) => stdout,
            (Some(_), Ending::Exited(_)) => joined(stdout, &stderr, ""),
            (Some(reason), _) => joined(stdout, &stderr, &format!("[{reason}]")),
        };
        let fields = json!({
            "status": status,
            "output": output,
            "tool_calls_made": facts.calls,
            "duration_seconds": (facts.took.as_secs_f64() * 100.0).round() / 100.0,
            "stdout_bytes": finished.stdout.bytes,
            "stderr_bytes": finished.stderr.bytes,
            "stdout_truncated": stdout_truncated,
        });
        let mut answer = Self::new(fields, outcome);
        if let Ending::Exited(exit) = finished.ending {
            answer = answer.and("exit_code", exit.number());
        }
        match reason {
            Some(reason) => answer.and("error", reason),
            None => answer,
        }
    }

    fn new(fields: Value, outcome: Outcome) -> Self {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self { fields, outcome }
    }

    pub fn and(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    fn with(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }
}

impl From<Denied> for Answer {
    fn from(denied: Denied) -> Self {
        match denied.by {
            DeniedBy::Cancelled => Self::interrupted(),
            DeniedBy::Policy | DeniedBy::Owner | DeniedBy::Silence => {
                Self::error(denied.reason).with(Outcome::Denied)
            }
        }
    }
}

impl From<Answer> for ToolOutput {
    fn from(answer: Answer) -> Self {
        Self::json(&Value::Object(answer.fields)).with_outcome(answer.outcome)
    }
}

/// Without control sequences and secrets; indentation of the first line stays.
fn clean(text: &str, redactor: &Redactor) -> String {
    let text = strip_ansi(text);
    let text = redactor.code(&text);
    text.trim_end().trim_start_matches(['\n', '\r']).to_owned()
}

fn joined(stdout: String, stderr: &str, note: &str) -> String {
    let errors = match stderr.is_empty() {
        true => String::new(),
        false => format!("--- stderr ---\n{stderr}"),
    };
    let parts = [stdout, errors, note.to_owned()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// How it ended, with the last thing it complained about.
fn ended(exit: Exit, stderr: &str) -> String {
    let how = match exit {
        Exit::Code(code) => format!("Script exited with code {code}"),
        Exit::Signal(signal) => format!("Script was killed by signal {signal}"),
        Exit::Unknown => "Script ended, nobody knows how".to_owned(),
    };
    let last = stderr.lines().rfind(|line| !line.trim().is_empty());
    match last {
        Some(last) => {
            let last: String = last.trim().chars().take(MAX_REASON).collect();
            format!("{how}: {last}")
        }
        None => how,
    }
}

fn longer(text: &str, max: usize) -> bool {
    text.chars().nth(max).is_some()
}

/// `import csv → success, 3 calls`
pub(crate) fn digest(args: &Args, output: &ToolOutput) -> String {
    let code = args.get("code").and_then(Value::as_str).unwrap_or_default();
    let says = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let first = code.lines().map(str::trim).find(says).unwrap_or_default();
    let mut about: String = first.chars().take(80).collect();
    if longer(first, 80) {
        about.push('…');
    }
    let result: Value = serde_json::from_str(&output.text).unwrap_or_default();
    let calls = &result["tool_calls_made"];
    match result["status"].as_str() {
        Some(status) => format!("{about} → {status}, {calls} calls"),
        None => about,
    }
}

#[cfg(test)]
mod tests {
    use hermes_proc::Captured;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::run::Said;

    fn said(text: &str) -> Said {
        Said {
            kept: Captured {
                head: text.to_owned(),
                ..Captured::default()
            },
            bytes: text.len() as u64,
        }
    }

    fn answer(ending: Ending, stdout: &str, stderr: &str) -> Value {
        let finished = Finished {
            ending,
            stdout: said(stdout),
            stderr: said(stderr),
        };
        let facts = Facts {
            calls: 3,
            took: Duration::from_millis(1234),
            limit: Duration::from_secs(2),
        };
        let output: ToolOutput = Answer::finished(&finished, &facts, &Redactor::default()).into();
        serde_json::from_str(&output.text).unwrap()
    }

    #[test]
    fn what_the_model_reads() {
        let check = |ending: Ending, output: &str, status: &str, error: Value, code: Value| {
            let answer = answer(
                ending,
                "\x1b[1mout\x1b[0m\n",
                "Traceback\nValueError: bad\n\n",
            );
            assert_eq!(
                answer,
                match &error {
                    Value::Null => json!({
                        "status": status, "output": output, "tool_calls_made": 3,
                        "duration_seconds": 1.23, "stdout_bytes": 12, "stderr_bytes": 27,
                        "stdout_truncated": false, "exit_code": code,
                    }),
                    error => {
                        let mut expected = json!({
                            "status": status, "output": output, "tool_calls_made": 3,
                            "duration_seconds": 1.23, "stdout_bytes": 12, "stderr_bytes": 27,
                            "stdout_truncated": false, "error": error,
                        });
                        if !code.is_null() {
                            expected["exit_code"] = code;
                        }
                        expected
                    }
                }
            );
        };
        let stderr = "out\n--- stderr ---\nTraceback\nValueError: bad";
        let exited = |code| Ending::Exited(Exit::Code(code));
        check(exited(0), "out", "success", Value::Null, json!(0));
        let error = "Script exited with code 1: ValueError: bad";
        check(exited(1), stderr, "error", json!(error), json!(1));
        let killed = Ending::Exited(Exit::Signal(9));
        let error = "Script was killed by signal 9: ValueError: bad";
        check(killed, stderr, "error", json!(error), json!(-9));
        let error = "Script timed out after 2s and was stopped";
        let output = format!("{stderr}\n[{error}]");
        check(
            Ending::TimedOut,
            &output,
            "timeout",
            json!(error),
            Value::Null,
        );
        let error = "Script interrupted and stopped";
        let output = format!("{stderr}\n[{error}]");
        check(
            Ending::Interrupted,
            &output,
            "interrupted",
            json!(error),
            Value::Null,
        );
    }

    #[test]
    fn long_output_and_secrets() {
        let long = answer(Ending::Exited(Exit::Code(0)), &"x ".repeat(60_000), "");
        let output = long["output"].as_str().unwrap();
        assert!(output.contains("OUTPUT TRUNCATED") && output.chars().count() < 50_200);
        assert_eq!(
            (&long["stdout_truncated"], &long["stdout_bytes"]),
            (&json!(true), &json!(120_000))
        );
        let secret = answer(
            Ending::Exited(Exit::Code(1)),
            "ghp_abcdefghijklmnop1234",
            "ghp_abcdefghijklmnop1234",
        );
        assert!(!secret.to_string().contains("ghp_abcdef"), "{secret}");
    }

    #[test]
    fn digests() {
        let check = |code: &str, result: &str, expected: &str| {
            let args = Args::from_iter([("code".to_owned(), json!(code))]);
            assert_eq!(digest(&args, &ToolOutput::done(result)), expected);
        };
        check("# look\n\nimport csv\nprint(1)", "", "import csv");
        check(
            "import csv",
            "{\"status\":\"success\",\"tool_calls_made\":3}",
            "import csv → success, 3 calls",
        );
    }
}
