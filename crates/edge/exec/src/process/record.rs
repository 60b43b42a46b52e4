//! `processes.json`: what runs in the background, so that a later Hermes can find it again.

use std::path::PathBuf;

use hermes_home::Modes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// `watcher_platform` and the like.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn host() -> String {
    "host".to_owned()
}

impl Registry {
    pub(super) fn read(&self) -> Vec<Record> {
        let Ok(text) = std::fs::read_to_string(&self.path) else {
            return Vec::new();
        };
        let entries: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        // An entry we don't understand is nothing we could take care of.
        entries
            .into_iter()
            .filter_map(|entry| serde_json::from_value(entry).ok())
            .collect()
    }

    pub(super) fn write(&self, records: &[Record]) {
        let written = serde_json::to_string_pretty(records)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                hermes_home::replace_file(&self.path, text, &self.modes)
                    .map_err(|error| error.to_string())
            });
        if let Err(error) = written {
            tracing::warn!("background processes will not be found after a restart: {error}");
        }
    }
}
