//! Noticing that a model goes round in circles.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use hermes_types::{Args, Outcome, ToolOutput, ToolSpec};
use serde_json::{Value, json};

/// `tool_loop_guardrails` in the settings.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardLimits {
    pub warn: bool,
    pub stop: bool,
    pub warn_after: Counts,
    pub stop_after: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    pub exact_failure: u32,
    pub same_tool_failure: u32,
    pub no_progress: u32,
}

impl Default for GuardLimits {
    fn default() -> Self {
        Self {
            warn: true,
            stop: false,
            warn_after: Counts {
                exact_failure: 2,
                same_tool_failure: 3,
                no_progress: 2,
            },
            stop_after: Counts {
                exact_failure: 5,
                same_tool_failure: 8,
                no_progress: 5,
            },
        }
    }
}

/// Counts of one turn.
#[derive(Debug, Default)]
pub struct Guard {
    limits: GuardLimits,
    exact: HashMap<u64, u32>,
    by_tool: HashMap<String, u32>,
    /// What an idempotent call gave last, and how often the same.
    results: HashMap<u64, (u64, u32)>,
    halted: Option<String>,
}

impl Guard {
    pub fn new(limits: GuardLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Why the turn must end, once it must.
    pub fn halted(&self) -> Option<&str> {
        self.halted.as_deref()
    }

    /// A result in place of running the call, if it has been tried too often.
    pub fn before(&mut self, spec: &ToolSpec, args: &Args) -> Option<ToolOutput> {
        if !self.limits.stop {
            return None;
        }
        let key = signature(&spec.name, args);
        let failures = self.exact.get(&key).copied().unwrap_or(0);
        let repeats = self.results.get(&key).map_or(0, |(_, count)| *count);
        let (code, count) = if failures >= self.limits.stop_after.exact_failure {
            ("repeated_exact_failure_block", failures)
        } else if spec.idempotent && repeats >= self.limits.stop_after.no_progress {
            ("idempotent_no_progress_block", repeats)
        } else {
            return None;
        };
        Some(self.block(spec, code, count, key))
    }

    /// Counts a result; gives a warning to hang on it.
    pub fn after(&mut self, spec: &ToolSpec, args: &Args, output: &ToolOutput) -> Option<String> {
        let key = signature(&spec.name, args);
        let (code, count) = match output.outcome {
            Outcome::Failed => self.count_failure(&spec.name, key)?,
            Outcome::Done => self.count_success(spec, key, output)?,
            Outcome::Denied | Outcome::Cancelled => return None,
        };
        self.limits.warn.then(|| {
            format!(
                "\n\n[Tool loop warning: {code}; count={count}; this is not getting anywhere: \
                 look at the result and try something else]"
            )
        })
    }

    fn count_failure(&mut self, tool: &str, key: u64) -> Option<(&'static str, u32)> {
        let exact = bump(self.exact.entry(key).or_default());
        let same = bump(self.by_tool.entry(tool.to_owned()).or_default());
        let limits = &self.limits;
        if limits.stop && same >= limits.stop_after.same_tool_failure {
            self.halted = Some(format!(
                "{tool} failed {same} times in this turn (same_tool_failure_halt)"
            ));
        }
        if exact >= limits.warn_after.exact_failure {
            return Some(("repeated_exact_failure_warning", exact));
        }
        (same >= limits.warn_after.same_tool_failure).then_some(("same_tool_failure_warning", same))
    }

    fn count_success(
        &mut self,
        spec: &ToolSpec,
        key: u64,
        output: &ToolOutput,
    ) -> Option<(&'static str, u32)> {
        self.exact.remove(&key);
        self.by_tool.remove(&spec.name);
        if !spec.idempotent {
            return None;
        }
        let result = hash(&output.text);
        let entry = self.results.entry(key).or_insert((result, 0));
        if entry.0 != result {
            *entry = (result, 0);
        }
        let count = bump(&mut entry.1);
        (count >= self.limits.warn_after.no_progress)
            .then_some(("idempotent_no_progress_warning", count))
    }

    fn block(&mut self, spec: &ToolSpec, code: &str, count: u32, key: u64) -> ToolOutput {
        let message = format!(
            "{} was called the same way {count} times without progress, so it was not run again",
            spec.name
        );
        self.halted = Some(message.clone());
        let body: Value = json!({
            "error": message,
            "guardrail": {
                "action": "block", "code": code, "message": message, "tool_name": spec.name,
                "count": count, "signature": format!("{key:016x}"),
            },
        });
        ToolOutput::json(&body)
            .with_outcome(Outcome::Denied)
            .decided("guardrail")
    }
}

fn bump(count: &mut u32) -> u32 {
    *count = count.saturating_add(1);
    *count
}

/// The same call whatever the order of its arguments.
fn signature(tool: &str, args: &Args) -> u64 {
    let mut pairs: Vec<_> = args
        .iter()
        .map(|(key, value)| (key, value.to_string()))
        .collect();
    pairs.sort();
    hash(&(tool, pairs))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
