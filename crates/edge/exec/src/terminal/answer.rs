//! A result as the model reads it.

use std::time::Duration;

use hermes_types::{Args, Outcome, ToolOutput};
use serde_json::{Map, Value, json};

use crate::backend::StartError;
use hermes_gate::{Denied, DeniedBy};

/// `{"output", "exit_code", "error"}` and what else there is to say.
#[derive(Debug)]
pub(super) struct Answer {
    fields: Map<String, Value>,
    outcome: Outcome,
    /// Who or what allowed or refused it.
    decision: String,
}

impl Answer {
    /// A command that ran; a code other than zero is a failure unless something says it isn't.
    pub fn ran(output: String, code: i32) -> Self {
        let outcome = if code == 0 {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        Self::new(output, code, Value::Null, outcome)
    }

    pub fn timed_out(output: String, limit: Duration) -> Self {
        let note = format!("[Command timed out after {}s]", limit.as_secs());
        Self::ran(with_note(output, &note), 124)
    }

    pub fn interrupted(output: String) -> Self {
        Self::ran(with_note(output, "[Command interrupted]"), 130).with(Outcome::Cancelled)
    }

    pub fn error(error: impl Into<String>) -> Self {
        let error = Value::String(error.into());
        Self::new(String::new(), -1, error, Outcome::Failed).and("status", "error")
    }

    pub fn blocked(reason: impl Into<String>) -> Self {
        let reason = Value::String(reason.into());
        Self::new(String::new(), -1, reason, Outcome::Denied).and("status", "blocked")
    }

    fn new(output: String, code: i32, error: Value, outcome: Outcome) -> Self {
        let fields = [
            ("output", Value::from(output)),
            ("exit_code", code.into()),
            ("error", error),
        ];
        Self {
            fields: fields
                .map(|(name, value)| (name.to_owned(), value))
                .into_iter()
                .collect(),
            outcome,
            decision: String::new(),
        }
    }

    pub fn and(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    pub fn code(self, code: i32) -> Self {
        self.and("exit_code", code)
    }

    pub fn decided(self, by: impl Into<String>) -> Self {
        let decision = by.into();
        Self { decision, ..self }
    }

    fn with(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// A code that has a meaning is an answer, not a failure.
    pub fn meaning(self, meaning: Option<&str>) -> Self {
        match meaning {
            Some(meaning) => self.and("exit_code_meaning", meaning).with(Outcome::Done),
            None => self,
        }
    }
}

impl From<Denied> for Answer {
    fn from(denied: Denied) -> Self {
        let outcome = match denied.by {
            DeniedBy::Cancelled => Outcome::Cancelled,
            DeniedBy::Policy | DeniedBy::Owner | DeniedBy::Silence => Outcome::Denied,
        };
        Self::blocked(denied.reason)
            .with(outcome)
            .decided(denied.decision)
    }
}

impl From<StartError> for Answer {
    fn from(error: StartError) -> Self {
        Self::error(format!("The command could not be started: {error}"))
    }
}

impl From<Answer> for ToolOutput {
    fn from(answer: Answer) -> Self {
        let code = answer.fields["exit_code"].as_i64();
        let mut output = Self::json(&Value::Object(answer.fields))
            .with_outcome(answer.outcome)
            .decided(answer.decision);
        output.shown.code = code.and_then(|code| i32::try_from(code).ok());
        output
    }
}

fn with_note(output: String, note: &str) -> String {
    match output.is_empty() {
        true => note.to_owned(),
        false => format!("{output}\n{note}"),
    }
}

/// `cargo test → exit 101, 12 lines`
pub(super) fn digest(args: &Args, output: &ToolOutput) -> String {
    let command = args
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut about: String = command.chars().take(80).collect();
    if command.chars().nth(80).is_some() {
        about.push('…');
    }
    let result: Value = serde_json::from_str(&output.text).unwrap_or(json!(null));
    let lines = result["output"]
        .as_str()
        .unwrap_or_default()
        .lines()
        .count();
    match result["exit_code"].as_i64() {
        Some(code) => format!("{about} → exit {code}, {lines} lines"),
        None => about,
    }
}
