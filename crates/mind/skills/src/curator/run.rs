//! One run: first what needs no model, then what a model did, then the report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use hermes_home::FileLock;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::classify::{Fate, Gone, classify};
use super::merge::Thought;
use super::state::State;
use super::{Curator, Standing, Step, decide, report};
use crate::journal::By;
use crate::usage::Record;
use crate::{Error, Result};

/// Who wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    Owner,
    /// It is time: somebody else may have done it meanwhile.
    Clock,
}

/// A run that has begun. Nobody else can run until it is dropped.
#[derive(Debug)]
pub struct Run {
    _claimed: FileLock,
    started: Timestamp,
    clock: Instant,
    /// Names and states of the curator's skills when it began.
    before: BTreeMap<String, String>,
    auto: Auto,
    backup: Option<String>,
}

/// What was done without a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Auto {
    checked: usize,
    stale: Vec<String>,
    active: Vec<String>,
    archived: Vec<Gone>,
    failed: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    pub summary: String,
    pub report: PathBuf,
}

/// What happened in a run, for reports.
#[derive(Debug)]
pub(super) struct Outcome {
    pub started: Timestamp,
    pub seconds: f64,
    pub backup: Option<String>,
    pub auto: Value,
    pub before: usize,
    pub after: usize,
    pub gone: Vec<Gone>,
    pub added: Vec<String>,
    /// Name, before, now.
    pub transitions: Vec<(String, String, String)>,
    pub failed: Vec<String>,
    pub thought: Thought,
}

impl Curator {
    /// Backs everything up and does what needs no model; `None`: somebody else does it or has done it.
    pub fn begin(&self, trigger: Trigger) -> Result<Option<Run>> {
        let claimed = match (self.claim(), trigger) {
            (Err(Error::Busy), Trigger::Clock) => return Ok(None),
            (claimed, _) => claimed?,
        };
        let (started, clock) = (Timestamp::now(), Instant::now());
        let last = State::load(&self.home).at("last_run_at");
        let is_done = |last: Timestamp| started.duration_since(last).abs() < self.config.interval;
        if trigger == Trigger::Clock && last.is_some_and(is_done) {
            return Ok(None);
        }
        self.mend()?;
        let keep = self.config.keep;
        let backup = keep
            .map(|keep| self.back_up("pre-curator-run", keep, &[]))
            .transpose()?;
        let before = self.states();
        let auto = self.tidy(started)?;
        let run = Run {
            _claimed: claimed,
            started,
            clock,
            before,
            auto,
            backup,
        };
        // Whoever is killed while a model thinks has still done this much.
        let so_far = self.outcome(&run, Thought::default());
        State::edit(&self.home, |state| {
            state.set("last_run_at", stamp(started));
            state.set("last_run_duration_seconds", so_far.seconds);
            state.set("last_run_summary", so_far.summary());
            state.set("last_run_summary_shown_at", Value::Null);
            state.set("run_count", state.runs() + 1);
        })?;
        Ok(Some(run))
    }

    /// Writes the report, and what the owner is told.
    pub fn finish(&self, run: Run, thought: Thought) -> Result<Finished> {
        self.skills.library.forget();
        let outcome = self.outcome(&run, thought);
        let report = report::write(&self.home, &outcome)?;
        let summary = outcome.summary();
        State::edit(&self.home, |state| {
            state.set("last_run_duration_seconds", outcome.seconds);
            state.set("last_run_summary", summary.as_str());
            state.set("last_report_path", report.to_string_lossy());
        })?;
        Ok(Finished { summary, report })
    }

    /// What a run would do now, in words.
    pub fn rehearse(&self) -> String {
        let now = Timestamp::now();
        let line = |one: &Standing| {
            let step = decide(&one.record, one.source, now, &self.config.patience)?;
            let what = match step {
                Step::Archive => "would go to the archive",
                Step::Stale => "would be marked stale",
                Step::Activate => "would be active again",
            };
            let idle = one.idle_days(now).unwrap_or_default();
            Some(format!("  {} {what} (idle {idle} days)", one.skill.name()))
        };
        let managed = self.managed();
        let lines: Vec<String> = managed.iter().filter_map(line).collect();
        match lines.is_empty() {
            true => format!("{} skills looked at; nothing would change.", managed.len()),
            false => format!(
                "{} skills looked at; nothing was changed. A run:\n{}",
                managed.len(),
                lines.join("\n")
            ),
        }
    }

    fn tidy(&self, now: Timestamp) -> Result<Auto> {
        let mut auto = Auto::default();
        for one in self.managed() {
            auto.checked += 1;
            let name = one.skill.name().to_owned();
            let mark = |state: &'static str| {
                let change = |record: &mut Record| record.set("state", state.into());
                self.skills.usage.edit(&name, change)
            };
            match decide(&one.record, one.source, now, &self.config.patience) {
                None => {}
                Some(Step::Stale) => {
                    mark("stale")?;
                    auto.stale.push(name);
                }
                Some(Step::Activate) => {
                    mark("active")?;
                    auto.active.push(name);
                }
                // Somebody may have read or pinned it since the list was made.
                Some(Step::Archive) if !self.is_still_idle(&one, now) => {}
                Some(Step::Archive) => match self.put_away(&one.skill, By::Curator) {
                    Ok(_) => auto.archived.push(idle(&one, now)),
                    Err(refused) => auto.failed.push(format!("{name}: {refused}")),
                },
            }
        }
        Ok(auto)
    }

    fn is_still_idle(&self, one: &Standing, now: Timestamp) -> bool {
        let record = self.skills.usage.record(one.skill.name());
        let record = record.unwrap_or_default();
        decide(&record, one.source, now, &self.config.patience) == Some(Step::Archive)
    }

    fn outcome(&self, run: &Run, thought: Thought) -> Outcome {
        let after = self.states();
        let auto = &run.auto;
        let is_idle = |name: &String| auto.archived.iter().any(|gone| gone.name == *name);
        let gone = run.before.keys().filter(|name| !after.contains_key(*name));
        let gone = gone.filter(|name| !is_idle(name)).cloned().collect();
        let merged = classify(&gone, &self.names(), &thought.calls, &thought.text);
        let added = after.keys().filter(|name| !run.before.contains_key(*name));
        let transition = |(name, was): (&String, &String)| {
            let is = after.get(name).map_or("archived", String::as_str);
            (is != was).then(|| (name.clone(), was.clone(), is.to_owned()))
        };
        Outcome {
            started: run.started,
            seconds: (run.clock.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            backup: run.backup.clone(),
            auto: json!({
                "checked": auto.checked, "marked_stale": auto.stale.len(),
                "archived": auto.archived.len(), "reactivated": auto.active.len(),
            }),
            before: run.before.len(),
            after: after.len(),
            gone: auto.archived.iter().cloned().chain(merged).collect(),
            added: added.cloned().collect(),
            transitions: run.before.iter().filter_map(transition).collect(),
            failed: auto.failed.clone(),
            thought,
        }
    }

    fn states(&self) -> BTreeMap<String, String> {
        let state = |one: Standing| (one.skill.name().to_owned(), one.state().to_owned());
        self.managed().into_iter().map(state).collect()
    }
}

impl Outcome {
    /// In one line, for the owner.
    pub fn summary(&self) -> String {
        let pruned = self.gone.iter().filter(|gone| gone.fate == Fate::Pruned);
        let merged = self.gone.iter().filter_map(|gone| match &gone.fate {
            Fate::Into(into) => Some(format!("{} → {into}", gone.name)),
            Fate::Pruned => None,
        });
        let turned = |to: &str| {
            let rows = self.transitions.iter().filter(|(_, _, is)| is == to);
            rows.map(|(name, _, _)| name.clone()).collect::<Vec<_>>()
        };
        let part = |what: &str, names: Vec<String>| {
            (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
        };
        let failed = self
            .failed
            .iter()
            .cloned()
            .chain(self.thought.error.clone());
        let parts = [
            part("archived", pruned.map(|gone| gone.name.clone()).collect()),
            part("merged", merged.collect()),
            part("new", self.added.clone()),
            part("stale now", turned("stale")),
            part("active again", turned("active")),
            part("failed:", failed.collect()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => "everything is in order".to_owned(),
            false => parts.join("; "),
        }
    }
}

fn idle(one: &Standing, now: Timestamp) -> Gone {
    let days = one.idle_days(now).unwrap_or_default();
    Gone {
        name: one.skill.name().to_owned(),
        fate: Fate::Pruned,
        known_by: "idle",
        reason: format!("not used for {days} days"),
    }
}

/// As other programs write it.
pub(super) fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}
