//! `processes.json`: what runs in the background, so that a later Hermes can find it again.
//!
//! Several Hermes share the file. A record names the process that looks after its job; while that one lives,
//! nobody else touches the record. What the Python program wrote names nobody and stays as it is.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_home::{FileLock, Modes};
use hermes_proc::start_time;
use hermes_types::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A session that never comes back is not told of an end any more after this.
const OWED: Duration = Duration::from_secs(7 * 24 * 3600);
/// Records of others; where nobody can tell whether a job still runs, the oldest go.
const MAX_OTHERS: usize = 256;

/// Where jobs are written down.
#[derive(Clone, Debug)]
pub struct Registry {
    /// `<home>/processes.json`
    pub path: PathBuf,
    pub modes: Modes,
}

/// One job on disk. What other versions wrote beside it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub session_id: String,
    pub command: String,
    pub pid: Option<u32>,
    /// `host` or `sandbox`; only the former can be found again.
    #[serde(default = "host")]
    pub pid_scope: String,
    /// With the pid, names a process for good.
    #[serde(default)]
    pub host_start_time: Option<u64>,
    #[serde(default)]
    pub cwd: String,
    #[serde(default)]
    pub started_at: f64,
    #[serde(default)]
    pub task_id: String,
    #[serde(default)]
    pub session_key: String,
    #[serde(default)]
    pub notify_on_complete: bool,
    #[serde(default)]
    pub watch_patterns: Vec<String>,
    #[serde(default)]
    pub owner: Option<Owner>,
    /// `watcher_platform` and the like.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The Hermes that looks after a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pid: u32,
    start_time: Option<u64>,
}

impl Owner {
    pub fn us() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_time: start_time(pid),
        }
    }

    /// Where the system doesn't tell, it counts as alive: its jobs must not be taken from it.
    fn is_gone(self) -> bool {
        let began = self.start_time;
        began.is_some() && start_time(self.pid) != began
    }
}

fn host() -> String {
    "host".to_owned()
}

impl Record {
    /// Whether its process has ended; not known of one without a start time, or in a sandbox.
    fn has_ended(&self) -> bool {
        let began = self.host_start_time.filter(|_| self.pid_scope == "host");
        began.is_some() && self.pid.and_then(start_time) != began
    }

    fn is_ours(&self) -> bool {
        self.owner == Some(Owner::us())
    }

    fn is_free(&self) -> bool {
        self.owner.is_none_or(Owner::is_gone)
    }

    /// Nobody looks after it, and there is nothing to look after or to tell.
    fn is_stale(&self) -> bool {
        self.is_free() && self.has_ended() && !self.is_owed()
    }

    /// Its session still waits to hear of its end.
    fn is_owed(&self) -> bool {
        let age = Duration::try_from_secs_f64(self.started_at).unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.notify_on_complete && now.unwrap_or_default().saturating_sub(age) < OWED
    }

    /// Whether a Hermes that has this session may look after it.
    fn can_be_found(&self, session: &SessionId) -> bool {
        self.session_key == session.as_str()
            && self.pid_scope == "host"
            && self.pid.is_some()
            && self.host_start_time.is_some()
            && (self.is_free() || self.is_ours())
    }
}

impl Registry {
    /// Writes down our jobs beside those of others.
    pub(super) fn save(&self, own: &[Record]) {
        if own.is_empty() && !self.path.exists() {
            return;
        }
        self.change(
            |entry| match record(&entry) {
                Some(known)
                    if known.is_ours()
                        || own.iter().any(|own| own.session_id == known.session_id) =>
                {
                    None
                }
                _ => Some(entry),
            },
            own,
        );
    }

    /// Takes over the jobs of this session that nobody looks after, but for those that are `known` already.
    /// Those that ended meanwhile are among them if the session is owed the news.
    pub(super) fn claim(&self, session: &SessionId, known: impl Fn(&str) -> bool) -> Vec<Record> {
        let mut found = Vec::new();
        if !self.path.exists() {
            return found;
        }
        self.change(
            |entry| match record(&entry) {
                Some(mut record) if record.can_be_found(session) && !known(&record.session_id) => {
                    record.owner = Some(Owner::us());
                    let taken = serde_json::to_value(&record).ok();
                    if !record.has_ended() || record.is_owed() {
                        found.push(record);
                    }
                    taken
                }
                _ => Some(entry),
            },
            &[],
        );
        found
    }

    /// Passes every entry through `each` and adds `more`, while no other Hermes does the same.
    fn change(&self, each: impl FnMut(Value) -> Option<Value>, more: &[Record]) {
        let changed = FileLock::for_file(&self.path)
            .map_err(|error| error.to_string())
            .and_then(|_lock| {
                let before = self.read();
                let fresh = before
                    .iter()
                    .filter(|entry| !record(entry).is_some_and(|known| known.is_stale()));
                let mut after: Vec<Value> = fresh.cloned().filter_map(each).collect();
                after.drain(..after.len().saturating_sub(MAX_OTHERS));
                for own in more {
                    after.push(serde_json::to_value(own).map_err(|error| error.to_string())?);
                }
                if after == before {
                    return Ok(());
                }
                let text =
                    serde_json::to_string_pretty(&after).map_err(|error| error.to_string())?;
                hermes_home::replace_file(&self.path, text, &self.modes)
                    .map_err(|error| error.to_string())
            });
        if let Err(error) = changed {
            tracing::warn!("background processes will not be found after a restart: {error}");
        }
    }

    fn read(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// An entry we don't understand is somebody else's.
fn record(entry: &Value) -> Option<Record> {
    serde_json::from_value(entry.clone()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn registry(entries: &Value) -> (Registry, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let registry = Registry {
            path: dir.path().join("processes.json"),
            modes: Modes {
                dir: 0o700,
                secret: Some(0o600),
            },
        };
        std::fs::write(&registry.path, entries.to_string()).unwrap();
        (registry, dir)
    }

    fn ids(entries: &[Value]) -> Vec<&str> {
        let ids = entries.iter().map(|entry| entry["session_id"].as_str());
        ids.map(Option::unwrap_or_default).collect()
    }

    /// A job of session `s`, played by a process that runs, or by one that is gone.
    fn job(id: &str, runs: bool, owner: &Value) -> Value {
        let me = std::process::id();
        let began = start_time(me).unwrap() + u64::from(!runs);
        json!({"session_id": id, "command": "x", "pid": me, "host_start_time": began, "session_key": "s",
               "owner": owner})
    }

    #[test]
    fn jobs_of_others_are_left_to_them() {
        let alive = json!({"pid": 1, "start_time": start_time(1)});
        let gone = json!({"pid": 1, "start_time": 0});
        let python =
            json!({"session_id": "python", "command": "x", "pid": 1, "watcher_chat_id": "7"});
        let mut owed = job("owed", false, &gone);
        owed["notify_on_complete"] = json!(true);
        owed["started_at"] = json!(jiff::Timestamp::now().as_second());
        let entries = json!([
            job("theirs", true, &alive),
            job("their ended", false, &alive),
            job("left", true, &gone),
            job("left and ended", false, &gone),
            job("other's", false, &json!(null)),
            owed,
            python,
            "not one of ours",
        ]);
        let (registry, _dir) = registry(&entries);
        let other = registry.claim(&"other".into(), |_| false);
        assert_eq!(other, []);
        let found = registry.claim(&"s".into(), |_| false);
        let found: Vec<&str> = found.iter().map(|job| job.session_id.as_str()).collect();
        assert_eq!(found, ["left", "owed"]);
        assert_eq!(registry.claim(&"s".into(), |id| found.contains(&id)), []);
        let us = json!(Owner::us());
        let own: Vec<Record> = ["left", "new"]
            .iter()
            .filter_map(|id| record(&job(id, true, &us)))
            .collect();
        registry.save(&own);
        let after = registry.read();
        let expected = ["theirs", "their ended", "python", "", "left", "new"];
        assert_eq!(ids(&after), expected);
        assert_eq!(after[2], python, "as it was");
        registry.save(&[]);
        assert_eq!(
            ids(&registry.read()),
            ["theirs", "their ended", "python", ""]
        );
    }

    #[test]
    fn no_file_is_made_for_nothing() {
        let (registry, _dir) = registry(&json!([]));
        std::fs::remove_file(&registry.path).unwrap();
        registry.save(&[]);
        assert_eq!(registry.claim(&"s".into(), |_| false), []);
        assert!(!registry.path.exists());
    }
}
