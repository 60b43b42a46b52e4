//! What the caller is told of each child.

use std::path::PathBuf;
use std::time::Duration;

use hermes_types::{CallCx, Outcome, ToolOutput, TurnEnd};
use serde_json::{Value, json};

use super::child::Child;
use super::record::{Known, Stage};
use super::{Delegate, diagnose};

/// At most this much of what a child says; the rest is in a file.
const SUMMARY_CHARS: usize = 24_000;
/// Files that are named because they changed under the parent.
const STALE: usize = 8;

/// How a child ended, as its parent sees it.
#[derive(Debug)]
pub(super) enum How {
    Ended(Box<TurnEnd>),
    Failed(String),
    /// And how far it had come.
    TimedOut(Stage),
    Interrupted,
}

/// One entry of the result.
#[derive(Debug)]
pub(super) struct Report {
    status: &'static str,
    value: Value,
}

/// What is told in words.
struct Told {
    status: &'static str,
    exit_reason: &'static str,
    summary: String,
    error: Option<String>,
}

pub(super) fn output(reports: Vec<Report>, took: Duration) -> ToolOutput {
    let any = |status: &str| reports.iter().any(|report| report.status == status);
    let outcome = match (any("completed"), any("interrupted")) {
        (true, _) => Outcome::Done,
        (false, true) => Outcome::Cancelled,
        (false, false) => Outcome::Failed,
    };
    let results: Vec<Value> = reports.into_iter().map(|report| report.value).collect();
    let result = json!({"results": results, "total_duration_seconds": seconds(took)});
    ToolOutput::json(&result).with_outcome(outcome)
}

impl Delegate {
    pub(super) async fn report(&self, child: &Child, how: How, cx: &CallCx) -> Report {
        let known = child.record.known();
        let mut diagnostic = None;
        if let (How::TimedOut(stage), 0) = (&how, known.api_calls) {
            diagnostic = diagnose::write(self, child, (&known, *stage)).await;
        }
        let told = self.told(how, &known, diagnostic.as_ref());
        let mut value = json!({
            "task_index": child.index,
            "status": told.status,
            "summary": summary(told.summary, child, cx).await,
            "api_calls": known.api_calls,
            "duration_seconds": seconds(child.started.elapsed()),
            "model": known.model.as_ref().map(|info| &info.model),
            "exit_reason": told.exit_reason,
            "tokens": {"input": known.usage.prompt(), "output": known.usage.output},
            "tool_trace": trace(&known),
        });
        if let Some(error) = told.error {
            value["error"] = error.into();
        }
        if let Some(note) = &child.task.note {
            value["note"] = note.clone().into();
        }
        let mut stale = (self.services.stale)(&cx.scope.session, child.since);
        stale.truncate(STALE);
        if !stale.is_empty() {
            value["stale_paths"] = json!(stale);
        }
        if let Some(path) = diagnostic {
            value["diagnostic_path"] = json!(path);
        }
        Report {
            status: told.status,
            value,
        }
    }

    fn told(&self, how: How, known: &Known, diagnostic: Option<&PathBuf>) -> Told {
        let said = || known.said.clone();
        match how {
            How::Ended(end) => ended(*end, said()),
            How::Failed(reason) => Told {
                status: "error",
                exit_reason: "error",
                summary: said(),
                error: Some(reason),
            },
            How::Interrupted => Told {
                status: "interrupted",
                exit_reason: "interrupted",
                summary: said(),
                error: None,
            },
            How::TimedOut(_) => Told {
                status: "timeout",
                exit_reason: "timeout",
                summary: said(),
                error: Some(self.too_late(known, diagnostic)),
            },
        }
    }

    fn too_late(&self, known: &Known, diagnostic: Option<&PathBuf>) -> String {
        let limit = self.config.timing.timeout.unwrap_or_default();
        let limit = format!("Timed out after {} s", seconds(limit));
        match (known.api_calls, diagnostic) {
            (0, Some(path)) => format!(
                "{limit} without a single API call. What is known about it is in {}.",
                path.display()
            ),
            (0, None) => format!("{limit} without a single API call."),
            (1, _) => format!("{limit}, after 1 API call."),
            (calls, _) => format!("{limit}, after {calls} API calls."),
        }
    }
}

/// A turn that ended by itself: with an answer, without one, or because the call was stopped.
fn ended(end: TurnEnd, said: String) -> Told {
    let summary = match end.text.trim().is_empty() {
        true => said,
        false => end.text.clone(),
    };
    let (status, exit_reason) = match () {
        () if end.interrupted => ("interrupted", "interrupted"),
        () if !end.answered() => ("failed", "error"),
        () if end.reason.starts_with("max_iterations") => ("completed", "max_iterations"),
        () => ("completed", "completed"),
    };
    let error = end
        .error
        .or_else(|| (status == "failed").then(|| "It ended without an answer.".to_owned()));
    Told {
        status,
        exit_reason,
        summary,
        error,
    }
}

/// The report itself; `null` if there is none, its beginning and a path if it is very long.
async fn summary(text: String, child: &Child, cx: &CallCx) -> Value {
    if text.trim().is_empty() {
        return Value::Null;
    }
    let Some((end, _)) = text.char_indices().nth(SUMMARY_CHARS) else {
        return text.into();
    };
    let name = format!("{}.txt", child.id);
    let path = cx.workspace.temp_dir().join("hermes-results").join(name);
    let rest = match cx.workspace.write(&path, text.as_bytes()).await {
        Ok(()) => format!("All of it is in {}.", path.display()),
        Err(error) => format!("The rest could not be saved: {error}"),
    };
    let count = text.chars().count();
    format!(
        "{}\n\n[Cut off after {SUMMARY_CHARS} of {count} characters. {rest}]",
        &text[..end]
    )
    .into()
}

fn trace(known: &Known) -> Vec<Value> {
    let calls = known.trace.iter().map(|call| {
        let status = match call.outcome {
            Outcome::Done => "ok",
            Outcome::Failed | Outcome::Denied | Outcome::Cancelled => "error",
        };
        json!({
            "tool": call.tool,
            "args_bytes": call.args_bytes,
            "result_bytes": call.result_bytes,
            "status": status,
        })
    });
    calls.collect()
}

/// With two digits after the point.
pub(super) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
