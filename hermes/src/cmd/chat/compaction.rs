//! `compression.*` and `auxiliary.compression.*`, as the agent wants them.

use std::time::Duration;

use anyhow::Result;
use hermes_agent::{Compaction, Continuation, Feasibility, OnFailure, Redact};
use hermes_types::{ModelClient, Models, Purpose};
use serde_json::Value;

use crate::cmd::Failed;
use crate::wire::{App, say};

/// As set, with what the model for summaries allows; fails if that one is too small for any.
pub fn compaction(app: &App, main: &dyn ModelClient, models: &dyn Models) -> Result<Compaction> {
    let mut compaction = settings(app);
    // One that cannot be used now is told about when it is needed.
    let Ok(side) = models.client(&Purpose::Aux("compression")) else {
        return Ok(compaction);
    };
    match Feasibility::of(main.info(), side.info(), &compaction) {
        Feasibility::Fine => {}
        Feasibility::Lowered(ceiling, told) => {
            say(&told);
            compaction.ceiling = Some(ceiling);
        }
        Feasibility::Refused(told) => {
            say(&told);
            return Err(Failed(1).into());
        }
    }
    Ok(compaction)
}

fn settings(app: &App) -> Compaction {
    let settings = &app.settings;
    let count = |key: &str| {
        settings
            .number(&format!("compression.{key}"))
            .clamp(0.0, 1e6) as usize
    };
    let side = |key: &str| settings.get(&format!("auxiliary.compression.{key}"));
    let timeout = settings.number("auxiliary.compression.timeout");
    let redactor = app.redactor;
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
