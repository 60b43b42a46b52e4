//! How a call ends: with what it found, with why not, or because somebody stopped it.

use std::time::Duration;

use hermes_types::{FileError, Outcome, Scope, ToolOutput};
use serde_json::{Map, Value};

use super::Refusal;

/// Why a call came to nothing, as the model will read it.
#[derive(Debug)]
pub(super) struct Failure {
    fields: Map<String, Value>,
    outcome: Outcome,
}

impl Failure {
    pub fn new(error: impl Into<String>) -> Self {
        Self {
            fields: Map::new(),
            outcome: Outcome::Failed,
        }
        .with("error", error.into())
    }

    /// The reason alone.
    pub fn text(&self) -> &str {
        self.fields["error"].as_str().unwrap_or_default()
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self {
            outcome: Outcome::Denied,
            ..Self::new(refusal.to_string())
        }
    }
}

impl From<Failure> for ToolOutput {
    fn from(failure: Failure) -> Self {
        let decision = match failure.outcome {
            Outcome::Denied => "protected file",
            Outcome::Done | Outcome::Failed | Outcome::Cancelled => "",
        };
        Self::json(&Value::Object(failure.fields))
            .with_outcome(failure.outcome)
            .decided(decision)
    }
}

/// Runs `work` until it is done, the call is cancelled, or `limit` or the call's own time is over.
pub(super) async fn until_stopped<T>(
    scope: &Scope,
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let limit = scope.remaining().map_or(limit, |left| left.min(limit));
    tokio::select! {
        biased;
        () = scope.cancel.cancelled() => Err(cancelled()),
        done = tokio::time::timeout(limit, work) => done.unwrap_or_else(|_| {
            Err(Failure::new(format!("Timed out after {} s", limit.as_secs())))
        }),
    }
}

pub(super) fn cancelled() -> Failure {
    Failure {
        outcome: Outcome::Cancelled,
        ..Failure::new("Interrupted before it was done")
    }
}
