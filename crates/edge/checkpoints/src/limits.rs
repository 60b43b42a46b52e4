//! What is set about checkpoints: how many, how large, how long.

use std::time::Duration;

use hermes_home::Env;
use hermes_home::config::Settings;

const MEGABYTE: f64 = 1024.0 * 1024.0;
const DAY: f64 = 86_400.0;
const MAX_FILES: usize = 50_000;

/// The section `checkpoints` of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many are kept of a project.
    pub snapshots: usize,
    /// Bytes of the whole store; `None`: no limit.
    pub total: Option<u64>,
    /// A project with more files is none to make snapshots of before every change.
    pub files: usize,
    /// Larger files are left out; `None`: none is.
    pub file: Option<u64>,
    /// A project nobody touched for so long is forgotten; `None`: never.
    pub retention: Option<Duration>,
    pub orphans: Orphans,
    /// How often the store is tidied up by itself; `None`: never.
    pub interval: Option<Duration>,
    /// How long one call of git may take; those that read many files, twice that.
    pub time: Duration,
}

/// What becomes of projects whose directory is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    Delete,
    Keep,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            snapshots: 20,
            total: Some(500 << 20),
            files: MAX_FILES,
            file: Some(10 << 20),
            retention: Some(Duration::from_secs(7 * 86_400)),
            orphans: Orphans::Delete,
            interval: Some(Duration::from_secs(86_400)),
            time: Duration::from_secs(30),
        }
    }
}

impl Limits {
    pub fn read(settings: &Settings, env: &Env) -> Self {
        let number = |key: &str| settings.number(&format!("checkpoints.{key}"));
        let bytes = |key: &str| megabytes(number(key));
        let is_on = |key: &str| settings.is_on(&format!("checkpoints.{key}"));
        let seconds = env.filled("HERMES_CHECKPOINT_TIMEOUT");
        let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(30.0);
        let hours = number("min_interval_hours").clamp(0.0, 1e6);
        Self {
            snapshots: number("max_snapshots").clamp(1.0, 10_000.0) as usize,
            total: bytes("max_total_size_mb"),
            files: MAX_FILES,
            file: bytes("max_file_size_mb"),
            retention: days(number("retention_days")),
            orphans: if is_on("delete_orphans") {
                Orphans::Delete
            } else {
                Orphans::Keep
            },
            interval: is_on("auto_prune").then(|| Duration::from_secs_f64(hours * 3_600.0)),
            time: Duration::from_secs_f64(f64::clamp(seconds, 10.0, 60.0)),
        }
    }
}

impl Limits {
    /// With another time after which projects are forgotten, if one is given.
    #[must_use]
    pub fn retaining(self, number: Option<u32>) -> Self {
        let retention = number.map_or(self.retention, |number| days(number.into()));
        Self { retention, ..self }
    }

    /// With another size of the whole store, if one is given.
    #[must_use]
    pub fn within(self, number: Option<u32>) -> Self {
        let total = number.map_or(self.total, |number| megabytes(number.into()));
        Self { total, ..self }
    }
}

/// Zero and less mean no limit.
fn megabytes(number: f64) -> Option<u64> {
    (number > 0.0).then_some((number * MEGABYTE) as u64)
}

/// The same for days.
fn days(number: f64) -> Option<Duration> {
    (number > 0.0).then(|| Duration::from_secs_f64((number * DAY).min(1e12)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hermes_home::config::Document;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn settings_and_their_edges() {
        let read = |text: &str, seconds: &str| {
            let document = Document::parse(Path::new("config.yaml"), text.to_owned());
            let env = Env::from([("HERMES_CHECKPOINT_TIMEOUT", seconds)]);
            Limits::read(&Settings::from_document(&document, &env), &env)
        };
        assert_eq!(read("", ""), Limits::default());
        let odd = read(
            "checkpoints: {max_snapshots: 0, max_total_size_mb: 0, max_file_size_mb: 1, retention_days: 0, \
             delete_orphans: false, auto_prune: false}",
            "1",
        );
        let expected = Limits {
            snapshots: 1,
            total: None,
            files: 50_000,
            file: Some(1 << 20),
            retention: None,
            orphans: Orphans::Keep,
            interval: None,
            time: Duration::from_secs(10),
        };
        assert_eq!(odd, expected);
    }
}
