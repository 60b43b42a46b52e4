//! What a run did, for programs and for people: `logs/curator/<time>/{run.json, REPORT.md}`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use hermes_home::{Home, replace_file};
use serde_json::{Value, json};

use super::classify::{Fate, Gone};
use super::merge::Call;
use super::run::{Outcome, stamp};
use crate::{Error, Result};

/// Characters of a call's argument that are kept.
const ARGUMENT: usize = 400;
/// Characters of the model's last words that count as a summary.
const SUMMARY: usize = 240;

/// Writes both; gives the directory.
pub(super) fn write(home: &Home, outcome: &Outcome) -> Result<PathBuf> {
    let logs = home.logs_dir().join("curator");
    fs::create_dir_all(&logs).map_err(|error| Error::io("create", &logs, &error))?;
    let time = outcome.started.strftime("%Y%m%d-%H%M%S").to_string();
    let numbered = (2..100).map(|n| format!("{time}-{n}"));
    let mut names = std::iter::once(time.clone()).chain(numbered);
    // Made, not looked for: two at once get two.
    let dir = names.find_map(|name| {
        let dir = logs.join(name);
        fs::create_dir(&dir).is_ok().then_some(dir)
    });
    let dir = dir.unwrap_or_else(|| logs.join(time));
    let run = format!("{:#}", as_json(outcome));
    replace_file(&dir.join("run.json"), run, home.modes())?;
    replace_file(&dir.join("REPORT.md"), as_text(outcome), home.modes())?;
    Ok(dir)
}

fn as_json(outcome: &Outcome) -> Value {
    let thought = &outcome.thought;
    let (merged, pruned) = outcome.parted();
    let names = |gone: &[&Gone]| {
        gone.iter()
            .map(|gone| gone.name.clone())
            .collect::<Vec<_>>()
    };
    let transitions = outcome.transitions.iter();
    let transitions: Vec<Value> = transitions
        .map(|(name, from, to)| json!({"name": name, "from": from, "to": to}))
        .collect();
    let summary: String = thought.text.chars().take(SUMMARY).collect();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for call in &thought.calls {
        *counts.entry(&call.name).or_default() += 1;
    }
    let delta = i64::try_from(outcome.after).unwrap_or_default()
        - i64::try_from(outcome.before).unwrap_or_default();
    json!({
        "started_at": stamp(outcome.started),
        "duration_seconds": outcome.seconds,
        "model": thought.model,
        "provider": thought.provider,
        "backup": outcome.backup,
        "auto_transitions": outcome.auto,
        "counts": {
            "before": outcome.before,
            "after": outcome.after,
            "delta": delta,
            "archived_this_run": outcome.gone.len(),
            "added_this_run": outcome.added.len(),
            "consolidated_this_run": merged.len(),
            "pruned_this_run": pruned.len(),
            "state_transitions": transitions.len(),
            "cron_jobs_rewritten": 0,
            "tool_calls_total": thought.calls.len(),
        },
        "tool_call_counts": counts,
        "archived": outcome.gone.iter().map(|gone| &gone.name).collect::<Vec<_>>(),
        "consolidated": merged.iter().map(|gone| row(gone)).collect::<Vec<_>>(),
        "pruned": pruned.iter().map(|gone| row(gone)).collect::<Vec<_>>(),
        "pruned_names": names(&pruned),
        "added": outcome.added,
        "state_transitions": transitions,
        "cron_rewrites": [],
        "failed": outcome.failed,
        "llm_final": thought.text,
        "llm_summary": summary,
        "llm_error": thought.error,
        "tool_calls": thought.calls.iter().map(told).collect::<Vec<_>>(),
    })
}

fn row(gone: &Gone) -> Value {
    let mut row = json!({"name": gone.name, "source": gone.known_by, "reason": gone.reason});
    if let Fate::Into(into) = &gone.fate {
        row["into"] = json!(into);
    }
    row
}

/// A call with its arguments, long ones cut.
fn told(call: &Call) -> Value {
    let short = |value: &Value| match value.as_str() {
        Some(text) if text.chars().count() > ARGUMENT => {
            let cut: String = text.chars().take(ARGUMENT).collect();
            json!(format!("{cut}…"))
        }
        _ => value.clone(),
    };
    let arguments = call.arguments.iter();
    let arguments: serde_json::Map<String, Value> = arguments
        .map(|(name, value)| (name.clone(), short(value)))
        .collect();
    json!({"name": call.name, "arguments": arguments, "success": call.done})
}

fn as_text(outcome: &Outcome) -> String {
    let (merged, pruned) = outcome.parted();
    let mut text = format!(
        "# Curator, {}\n\n{}.\n\n- skills of its own: {} before, {} now\n- took {} s\n",
        outcome.started.strftime("%Y-%m-%d %H:%M UTC"),
        outcome.summary(),
        outcome.before,
        outcome.after,
        outcome.seconds
    );
    if let Some(id) = &outcome.backup {
        text.push_str(&format!(
            "- backup: `{id}` (`hermes curator rollback --id {id}` brings everything back)\n"
        ));
    }
    if !outcome.thought.model.is_empty() {
        let (model, provider) = (&outcome.thought.model, &outcome.thought.provider);
        text.push_str(&format!("- merged by {model} ({provider})\n"));
    }
    let because = |gone: &Gone| match gone.reason.as_str() {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    let into = |gone: &&Gone| match &gone.fate {
        Fate::Into(into) => format!("`{}` → `{into}`{}", gone.name, because(gone)),
        Fate::Pruned => format!("`{}`{}", gone.name, because(gone)),
    };
    let moved = outcome.transitions.iter();
    let moved = moved.map(|(name, from, to)| format!("`{name}`: {from} → {to}"));
    let mut section = |title: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            text.push_str(&format!("\n## {title}\n\n- {}\n", rows.join("\n- ")));
        }
    };
    section("Merged", merged.iter().map(into).collect());
    section("Archived", pruned.iter().map(into).collect());
    section(
        "New",
        outcome
            .added
            .iter()
            .map(|name| format!("`{name}`"))
            .collect(),
    );
    section("States", moved.collect());
    section("Failed", outcome.failed.clone());
    section(
        "The model failed",
        outcome.thought.error.clone().into_iter().collect(),
    );
    if !outcome.thought.text.is_empty() {
        text.push_str(&format!(
            "\n## In the model's words\n\n{}\n",
            outcome.thought.text.trim()
        ));
    }
    text.push_str("\n`hermes curator restore NAME` brings back one skill; `hermes journey` shows every change.\n");
    text
}

impl Outcome {
    /// Those whose content is elsewhere, and the others.
    fn parted(&self) -> (Vec<&Gone>, Vec<&Gone>) {
        let is_merged = |gone: &&Gone| matches!(gone.fate, Fate::Into(_));
        self.gone.iter().partition(is_merged)
    }
}
