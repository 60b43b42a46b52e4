//! `skills/.usage.json`: who made a skill and how often it was of use. Shared with other programs, so every change
//! is made under the file's lock, and fields we don't know stay.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{FileLock, Modes, replace_file};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{Error, Result};

const FILE: &str = ".usage.json";
/// A record as other programs begin one.
const FIELDS: [&str; 11] = [
    "created_by",
    "use_count",
    "view_count",
    "last_used_at",
    "last_viewed_at",
    "patch_count",
    "last_patched_at",
    "created_at",
    "state",
    "pinned",
    "archived_at",
];

/// The records of one home's skills.
#[derive(Clone, Debug)]
pub struct Usage {
    path: PathBuf,
    modes: Modes,
}

/// What is known of one skill.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(pub Map<String, Value>);

/// What was done with a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Its text was shown, to be followed.
    Viewed,
    /// A person called it by its slash command.
    Called,
    Changed,
}

/// Who made a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The agent on its own, while looking back: the curator may tidy it up.
    Agent,
    /// A person, or the agent because a person wanted it.
    Owner,
}

impl Record {
    pub fn is_pinned(&self) -> bool {
        self.0
            .get("pinned")
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    /// Whether the agent made it on its own.
    pub fn is_agents(&self) -> bool {
        let legacy = self.0.get("agent_created").and_then(Value::as_bool);
        self.text("created_by") == Some("agent") || legacy.unwrap_or_default()
    }

    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str)
    }

    pub fn count(&self, field: &str) -> u64 {
        self.0
            .get(field)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }

    pub fn set(&mut self, field: &str, value: Value) {
        self.0.insert(field.to_owned(), value);
    }

    /// It is about to go to the archive from this folder below `skills`.
    pub(crate) fn leaves(&mut self, folder: &str) {
        self.set("archived_from", folder.into());
    }

    /// It lies in the archive.
    pub(crate) fn put_away(&mut self) {
        self.set("state", "archived".into());
        self.set("archived_at", now().into());
    }

    /// Somebody wanted it back, which is as good as using it.
    pub(crate) fn brought_back(&mut self) {
        self.set("state", "active".into());
        self.set("archived_at", Value::Null);
        self.set("restored_at", now().into());
        self.0.shift_remove("archived_from");
    }

    fn new() -> Self {
        let value = |field: &str| match field {
            "state" => json!("active"),
            "pinned" => json!(false),
            "created_at" => json!(now()),
            field if field.ends_with("_count") => json!(0),
            _ => Value::Null,
        };
        Self(
            FIELDS
                .iter()
                .map(|field| ((*field).to_owned(), value(field)))
                .collect(),
        )
    }

    fn add(&mut self, count: &str, time: &str) {
        let more = self.count(count).saturating_add(1);
        self.set(count, more.into());
        self.set(time, now().into());
    }
}

impl Usage {
    pub fn new(skills_dir: &Path, modes: &Modes) -> Self {
        Self {
            path: skills_dir.join(FILE),
            modes: modes.clone(),
        }
    }

    pub fn record(&self, name: &str) -> Option<Record> {
        record(self.load().get(name)?)
    }

    pub fn all(&self) -> Vec<(String, Record)> {
        let all = self.load().into_iter();
        all.filter_map(|(name, value)| Some((name, record(&value)?)))
            .collect()
    }

    /// Counts an act.
    pub fn note(&self, name: &str, act: Act) -> Result<()> {
        self.edit(name, |record| match act {
            Act::Viewed => {
                record.add("view_count", "last_viewed_at");
                record.add("use_count", "last_used_at");
            }
            Act::Called => record.add("use_count", "last_used_at"),
            Act::Changed => record.add("patch_count", "last_patched_at"),
        })
    }

    pub fn created(&self, name: &str, author: Author) -> Result<()> {
        self.edit(name, |record| match author {
            Author::Agent => record.set("created_by", "agent".into()),
            // One of that name may have been the agent's, and its record outlived it.
            Author::Owner => {
                record.set("created_by", Value::Null);
                record.0.shift_remove("agent_created");
            }
        })
    }

    /// Changes one record; one that isn't there begins empty.
    pub fn edit(&self, name: &str, change: impl FnOnce(&mut Record)) -> Result<()> {
        self.write(|all| {
            let known = all.get(name).and_then(record);
            let mut record = known.unwrap_or_else(Record::new);
            change(&mut record);
            all.insert(name.to_owned(), Value::Object(record.0));
        })
    }

    /// Forgets a skill that is gone.
    pub fn forget(&self, name: &str) -> Result<()> {
        if self.record(name).is_none() {
            return Ok(());
        }
        self.write(|all| {
            all.shift_remove(name);
        })
    }

    fn load(&self) -> Map<String, Value> {
        let bytes = fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn write(&self, change: impl FnOnce(&mut Map<String, Value>)) -> Result<()> {
        let _lock = FileLock::for_file(&self.path)?;
        let mut all = match fs::read(&self.path) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(all) => all,
                Err(error) => {
                    self.set_aside(&error)?;
                    Map::new()
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(Error::io("read", &self.path, &error)),
        };
        change(&mut all);
        let mut sorted: Vec<_> = all.into_iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let all: Map<String, Value> = sorted.into_iter().collect();
        let text = format!("{:#}", Value::Object(all));
        Ok(replace_file(&self.path, text, &self.modes)?)
    }

    /// Somebody broke the file: what was in it is kept beside the new one.
    fn set_aside(&self, error: &serde_json::Error) -> Result<()> {
        let kept = self
            .path
            .with_file_name(format!("{FILE}.broken-{}", Timestamp::now().as_second()));
        tracing::warn!(
            "{} is no JSON ({error}); kept as {}",
            self.path.display(),
            kept.display()
        );
        fs::rename(&self.path, &kept).map_err(|error| Error::io("rename", &self.path, &error))
    }
}

fn record(value: &Value) -> Option<Record> {
    value.as_object().cloned().map(Record)
}

/// `2026-01-31T10:20:30.123456+00:00`, as other programs write it.
pub(crate) fn now() -> String {
    Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
        .to_string()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn usage(dir: &Path) -> Usage {
        let modes = Modes {
            dir: 0o700,
            secret: Some(0o600),
        };
        Usage::new(dir, &modes)
    }

    #[test]
    fn counts_and_keeps_what_it_does_not_know() {
        let dir = tempfile::tempdir().unwrap();
        let usage = usage(dir.path());
        fs::write(
            dir.path().join(FILE),
            r#"{"z": {"use_count": 4, "pinned": true, "agent_created": true, "colour": "red"}, "odd": 7}"#,
        )
        .unwrap();
        usage.note("z", Act::Viewed).unwrap();
        usage.note("a", Act::Changed).unwrap();
        usage.created("b", Author::Agent).unwrap();
        let z = usage.record("z").unwrap();
        assert_eq!((z.count("use_count"), z.count("view_count")), (5, 1));
        assert!(z.is_pinned() && z.is_agents());
        assert_eq!(z.text("colour"), Some("red"));
        assert_eq!(usage.record("a").unwrap().count("patch_count"), 1);
        assert!(!usage.record("a").unwrap().is_agents() && usage.record("b").unwrap().is_agents());
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert!(
            text.contains("\"odd\": 7") && text.starts_with("{\n  \"a\""),
            "{text}"
        );
        let created = usage
            .record("a")
            .unwrap()
            .text("created_at")
            .unwrap()
            .to_owned();
        assert!(
            created.ends_with("+00:00") && created.len() == 32,
            "{created}"
        );
        usage.created("z", Author::Owner).unwrap();
        assert!(!usage.record("z").unwrap().is_agents() && usage.record("z").unwrap().is_pinned());
        usage.forget("z").unwrap();
        assert_eq!(usage.record("z"), None);
    }

    #[test]
    fn a_broken_file_is_kept_beside_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), "{\"a\": ").unwrap();
        let usage = usage(dir.path());
        usage.note("b", Act::Called).unwrap();
        assert_eq!(usage.record("b").unwrap().count("use_count"), 1);
        let names = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name());
        let kept = names
            .filter(|name| name.to_string_lossy().contains("broken"))
            .count();
        assert_eq!(kept, 1);
    }

    #[test]
    fn nobody_loses_a_count() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        usage(dir.path()).note("a", Act::Called).unwrap();
                    }
                });
            }
        });
        assert_eq!(
            usage(dir.path()).record("a").unwrap().count("use_count"),
            40
        );
    }
}
