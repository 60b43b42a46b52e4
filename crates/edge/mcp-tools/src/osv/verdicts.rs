//! What OSV said, and for how long that counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{Modes, replace_file};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::package::Package;

/// A day: long enough that reconnects don't depend on the network.
const FRESH: u64 = 24 * 3600;
/// How many verdicts are kept, and how much of an advisory is shown.
const MOST: usize = 1000;
const SHOWN: usize = 3;
const SUMMARY: usize = 100;

/// What is known about a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Clean,
    /// It must not run.
    Malware(Vec<Advisory>),
    /// Nobody could be asked, and why. It runs.
    Unknown(String),
}

/// One report of malware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advisory {
    pub id: String,
    #[serde(default)]
    pub summary: String,
}

impl Verdict {
    pub(super) fn of(found: Vec<Advisory>) -> Self {
        match found.is_empty() {
            true => Self::Clean,
            false => Self::Malware(found),
        }
    }

    /// Why the server may not run; `None` if it may.
    pub fn refusal(&self) -> Option<String> {
        let Self::Malware(found) = self else {
            return None;
        };
        let mut text = "its package is reported as malware".to_owned();
        for advisory in found.iter().take(SHOWN) {
            let summary: String = advisory.summary.chars().take(SUMMARY).collect();
            let sign = if text.contains(':') { ';' } else { ':' };
            // Writing to a text cannot fail.
            let _ = write!(text, "{sign} {}", advisory.id);
            if !summary.is_empty() {
                let _ = write!(text, " ({summary})");
            }
        }
        if found.len() > SHOWN {
            let _ = write!(text, " and {} more", found.len() - SHOWN);
        }
        Some(text)
    }
}

impl Advisory {
    /// Only reports of malware; other weaknesses are the owner's to judge.
    pub(super) fn all(answer: &Value) -> Vec<Self> {
        let reports = answer.get("vulns").and_then(Value::as_array);
        let advisory = |report: &Value| {
            let text = |key: &str| {
                let text = report.get(key).and_then(Value::as_str).unwrap_or_default();
                text.chars()
                    .filter(|c| !c.is_control())
                    .take(200)
                    .collect::<String>()
            };
            let id = text("id");
            id.starts_with("MAL-").then(|| Self {
                id,
                summary: text("summary"),
            })
        };
        reports.into_iter().flatten().filter_map(advisory).collect()
    }
}

/// Verdicts by package and version, as they lie on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Verdicts(BTreeMap<String, Dated>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Dated {
    /// Seconds since 1970.
    at: u64,
    malware: Vec<Advisory>,
}

impl Verdicts {
    /// What cannot be read is as good as nothing.
    pub async fn load(file: PathBuf) -> Self {
        let read = move || {
            fs::read(file)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        };
        tokio::task::spawn_blocking(read)
            .await
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    /// Adds one and writes the file. Of two processes at a time the last one stays, which costs a question.
    pub async fn remember(
        mut self,
        file: &Path,
        modes: &Modes,
        package: &Package,
        verdict: &Verdict,
        now: u64,
    ) {
        self.put(package, verdict, now);
        let (file, modes) = (file.to_owned(), modes.clone());
        let write = move || {
            if let Some(dir) = file.parent() {
                fs::create_dir_all(dir).map_err(|error| error.to_string())?;
            }
            let text = serde_json::to_vec(&self).map_err(|error| error.to_string())?;
            replace_file(&file, text, &modes).map_err(|error| error.to_string())
        };
        if let Ok(Err(why)) = tokio::task::spawn_blocking(write).await {
            tracing::debug!("the verdict of the malware check was not kept: {why}");
        }
    }

    pub fn get(&self, package: &Package, now: u64) -> Option<Verdict> {
        let found = self
            .0
            .get(&key(package))
            .filter(|found| is_fresh(found, now))?;
        Some(Verdict::of(found.malware.clone()))
    }

    fn put(&mut self, package: &Package, verdict: &Verdict, now: u64) {
        self.0.retain(|_, known| is_fresh(known, now));
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let malware = match verdict {
            Verdict::Malware(found) => found.clone(),
            Verdict::Clean => Vec::new(),
            Verdict::Unknown(_) => return,
        };
        self.0.insert(key(package), Dated { at: now, malware });
    }
}

/// Not if it is from the future either: a clock was wrong then or is now.
fn is_fresh(known: &Dated, now: u64) -> bool {
    now.checked_sub(known.at).is_some_and(|age| age < FRESH)
}

fn key(package: &Package) -> String {
    let version = package.version.as_deref().unwrap_or("*");
    format!("{}:{}@{version}", package.ecosystem.name(), package.name)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::super::package::Ecosystem;
    use super::*;

    #[test]
    fn only_malware_counts_and_is_named() {
        let report = |id: &str| json!({"id": id, "summary": "s".repeat(300)});
        let answer = json!({"vulns": [report("GHSA-1"), report("MAL-1"), report("MAL-2"), report("MAL-3"), report("MAL-4")]});
        let verdict = Verdict::of(Advisory::all(&answer));
        let text = verdict.refusal().unwrap();
        let short = "s".repeat(100);
        assert_eq!(
            text,
            format!(
                "its package is reported as malware: MAL-1 ({short}); MAL-2 ({short}); MAL-3 ({short}) and 1 more"
            )
        );
        for clean in [json!({}), json!({"vulns": [report("CVE-1")]}), json!(null)] {
            assert_eq!(Verdict::of(Advisory::all(&clean)).refusal(), None);
        }
        assert_eq!(Verdict::Unknown("down".to_owned()).refusal(), None);
    }

    #[test]
    fn a_verdict_counts_for_a_day() {
        let package = |version: Option<&str>| Package {
            ecosystem: Ecosystem::Npm,
            name: "p".to_owned(),
            version: version.map(str::to_owned),
        };
        let bad = Verdict::Malware(vec![Advisory {
            id: "MAL-1".to_owned(),
            summary: String::new(),
        }]);
        let mut known = Verdicts::default();
        known.put(&package(None), &bad, 1_000_000);
        known.put(&package(Some("1.0")), &Verdict::Clean, 1_000_000);
        known.put(
            &package(Some("2.0")),
            &Verdict::Unknown("x".to_owned()),
            1_000_000,
        );
        let check = |version, now, expected: Option<Verdict>| {
            assert_eq!(known.get(&package(version), now), expected)
        };
        check(None, 1_000_000 + FRESH - 1, Some(bad));
        check(None, 1_000_000 + FRESH, None);
        check(None, 999_999, None);
        check(Some("1.0"), 1_000_001, Some(Verdict::Clean));
        check(Some("2.0"), 1_000_001, None);
    }
}
