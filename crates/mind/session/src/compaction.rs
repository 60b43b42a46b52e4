//! `compression.*` and `auxiliary.compression.*`, as the agent wants them.

use std::time::Duration;

use hermes_agent::{Compaction, Continuation, OnFailure, Redact};
use hermes_home::config::Settings;
use hermes_home::redact::Redactor;
use serde_json::Value;

/// As set; what the model for summaries allows is not in it yet.
pub fn compaction(settings: &Settings, redactor: Redactor) -> Compaction {
    let count = |key: &str| {
        settings
            .number(&format!("compression.{key}"))
            .clamp(0.0, 1e6) as usize
    };
    let side = |key: &str| settings.get(&format!("auxiliary.compression.{key}"));
    let timeout = settings.number("auxiliary.compression.timeout");
    let default = Compaction::default();
    Compaction {
        enabled: settings.is_on("compression.enabled"),
        threshold: settings.number("compression.threshold"),
        target_ratio: settings.number("compression.target_ratio"),
        protect_first: count("protect_first_n"),
        protect_last: count("protect_last_n"),
        on_failure: match settings.is_on("compression.abort_on_summary_failure") {
            true => OnFailure::Keep,
            false => OnFailure::Local,
        },
        continuation: match settings.is_on("compression.in_place") {
            true => Continuation::InPlace,
            false => Continuation::Split,
        },
        side_window: side("context_length").and_then(Value::as_u64),
        timeout: Duration::try_from_secs_f64(timeout)
            .ok()
            .filter(|limit| !limit.is_zero())
            .unwrap_or(default.timeout),
        redact: Redact::new(move |text| redactor.apply(text).into_owned()),
        ..default
    }
}
