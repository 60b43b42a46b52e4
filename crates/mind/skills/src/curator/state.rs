//! `skills/.curator_state`: when the curator last ran and what came of it. Shared with other programs: fields we
//! don't know stay.

use std::fs;
use std::path::PathBuf;

use hermes_home::{FileLock, Home, replace_file};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::Config;
use super::decide::moment;
use crate::Result;

/// What there is before the first run.
const FIELDS: [&str; 7] = [
    "last_report_path",
    "last_run_at",
    "last_run_duration_seconds",
    "last_run_summary",
    "last_run_summary_shown_at",
    "paused",
    "run_count",
];

#[derive(Clone, Debug, PartialEq)]
pub struct State(pub Map<String, Value>);

/// Whether it is time to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Off,
    Paused,
    /// Nobody has ever looked: the clock starts now.
    First,
    NotBefore(Timestamp),
    /// Hermes was used a moment ago.
    InUse,
    Now,
}

impl State {
    pub fn load(home: &Home) -> Self {
        let bytes = fs::read(path(home)).unwrap_or_default();
        let known: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
        let empty = |field: &str| match field {
            "paused" => json!(false),
            "run_count" => json!(0),
            _ => Value::Null,
        };
        let fields = FIELDS
            .iter()
            .map(|field| ((*field).to_owned(), empty(field)));
        let mut all: Map<String, Value> = fields.collect();
        all.extend(known);
        Self(all)
    }

    /// Changes what is there now; nobody else does meanwhile.
    pub fn edit(home: &Home, change: impl FnOnce(&mut Self)) -> Result<()> {
        let path = path(home);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(|error| crate::Error::io("create", dir, &error))?;
        }
        let _lock = FileLock::for_file(&path)?;
        let mut state = Self::load(home);
        change(&mut state);
        let mut sorted: Vec<_> = state.0.into_iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let all: Map<String, Value> = sorted.into_iter().collect();
        let text = format!("{:#}", Value::Object(all));
        Ok(replace_file(&path, text, home.modes())?)
    }

    pub fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.0.insert(field.to_owned(), value.into());
    }

    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str)
    }

    pub fn at(&self, field: &str) -> Option<Timestamp> {
        self.text(field).and_then(moment)
    }

    pub fn is_paused(&self) -> bool {
        self.0
            .get("paused")
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    pub fn runs(&self) -> u64 {
        self.0
            .get("run_count")
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }

    /// What the last run came to, if its owner has not been told.
    pub fn untold(&self) -> Option<&str> {
        let summary = self
            .text("last_run_summary")
            .filter(|text| !text.is_empty())?;
        let run = self.at("last_run_at")?;
        let told = self.at("last_run_summary_shown_at");
        told.is_none_or(|told| told < run).then_some(summary)
    }

    /// Whether to run now; `used`: when somebody last talked with Hermes.
    pub fn due(&self, config: &Config, now: Timestamp, used: Option<Timestamp>) -> Due {
        // A clock that was wrong once is not believed for years: what is ahead of it is as far away as what is behind.
        let apart = |at: Timestamp| now.duration_since(at).abs();
        if !config.enabled {
            return Due::Off;
        }
        if self.is_paused() {
            return Due::Paused;
        }
        let Some(last) = self.at("last_run_at") else {
            return Due::First;
        };
        if apart(last) < config.interval {
            let next = last.checked_add(config.interval);
            return Due::NotBefore(next.unwrap_or(Timestamp::MAX));
        }
        match used {
            Some(used) if apart(used) < config.min_idle.max(SignedDuration::ZERO) => Due::InUse,
            _ => Due::Now,
        }
    }
}

fn path(home: &Home) -> PathBuf {
    home.skills_dir().join(".curator_state")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn it_runs_once_a_week_when_nobody_is_there() {
        let now = at("2026-06-08T12:00:00Z");
        let config = Config::default();
        let state = |last: Value, paused: bool| {
            let fields = json!({"last_run_at": last, "paused": paused});
            State(fields.as_object().unwrap().clone())
        };
        let week_ago = json!("2026-06-01T12:00:00.000000+00:00");
        let check = |state: State, used: Option<&str>, expected: Due| {
            assert_eq!(
                state.due(&config, now, used.map(at)),
                expected,
                "{state:?} {used:?}"
            );
        };
        check(state(week_ago.clone(), false), None, Due::Now);
        check(
            state(week_ago.clone(), false),
            Some("2026-06-08T10:00:00Z"),
            Due::Now,
        );
        check(
            state(week_ago.clone(), false),
            Some("2026-06-08T10:00:01Z"),
            Due::InUse,
        );
        check(state(week_ago.clone(), true), None, Due::Paused);
        check(state(Value::Null, false), None, Due::First);
        check(state(json!("yesterday"), false), None, Due::First);
        let soon = Due::NotBefore(at("2026-06-08T12:00:01Z"));
        check(state(json!("2026-06-01T12:00:01Z"), false), None, soon);
        // The clock went back: by years, by an hour.
        let years_ahead = json!("2031-06-08T12:00:00Z");
        check(state(years_ahead, false), None, Due::Now);
        let used_then = Some("2031-06-08T12:00:00Z");
        check(state(week_ago.clone(), false), used_then, Due::Now);
        let soon = Due::NotBefore(at("2026-06-15T13:00:00Z"));
        check(state(json!("2026-06-08T13:00:00Z"), false), None, soon);
        let off = Config {
            enabled: false,
            ..Config::default()
        };
        assert_eq!(state(week_ago, false).due(&off, now, None), Due::Off);
    }

    #[test]
    fn a_summary_is_news_until_it_was_shown() {
        let state = |summary: Value, run: &str, shown: Value| {
            let fields = json!({"last_run_summary": summary, "last_run_at": run, "last_run_summary_shown_at": shown});
            State(fields.as_object().unwrap().clone())
        };
        let (early, late) = ("2026-06-01T00:00:00+00:00", "2026-06-02T00:00:00+00:00");
        assert_eq!(state(json!("a"), early, Value::Null).untold(), Some("a"));
        assert_eq!(state(json!("a"), late, json!(early)).untold(), Some("a"));
        assert_eq!(state(json!("a"), early, json!(late)).untold(), None);
        assert_eq!(state(Value::Null, early, Value::Null).untold(), None);
    }
}
