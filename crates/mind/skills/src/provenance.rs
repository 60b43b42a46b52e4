//! Where a skill came from: with the program, from the hub, or from somebody who wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::find::{Place, Skill};
use crate::service::Skills;

/// Where a skill came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// With the program.
    Bundled,
    Hub,
    /// Somebody made it here.
    Local,
    /// It lies in one of `skills.external_dirs`.
    External,
}

/// A skill in a list of all, with what an owner wants to know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub skill: Skill,
    pub source: Source,
    /// Whether sessions here can use it.
    pub enabled: bool,
}

impl Listed {
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.skill.name(),
            "category": self.skill.category(),
            "description": self.skill.found.description,
            "source": self.source.to_string(),
            "enabled": self.enabled,
            "path": self.skill.dir(),
        })
    }
}

impl Skills {
    /// Every skill there is, by category and name.
    pub fn list(&self) -> Vec<Listed> {
        let visible = self.visible();
        let listed = |skill: Skill| Listed {
            source: self.source(&skill),
            enabled: visible.contains(&skill),
            skill,
        };
        let mut all: Vec<Listed> = self.library.skills().into_iter().map(listed).collect();
        all.sort_by(|a, b| {
            let key = |listed: &Listed| {
                (
                    listed.skill.category().map(str::to_owned),
                    listed.skill.found.name.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        all
    }

    pub fn source(&self, skill: &Skill) -> Source {
        let (own, name) = (self.library.own(), skill.name());
        match skill.place {
            Place::External => Source::External,
            Place::Own if bundled(own).contains_key(name) => Source::Bundled,
            Place::Own if installed(own).contains(name) => Source::Hub,
            Place::Own => Source::Local,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bundled => "builtin",
            Self::Hub => "hub",
            Self::Local => "local",
            Self::External => "external",
        })
    }
}

/// Names and digests in `.bundled_manifest`; older lines have no digest.
pub(crate) fn bundled(skills_dir: &Path) -> BTreeMap<String, Option<String>> {
    let text = fs::read_to_string(skills_dir.join(".bundled_manifest")).unwrap_or_default();
    let line = |line: &str| {
        let (name, digest) = line.split_once(':').unwrap_or((line, ""));
        let digest = Some(digest.trim()).filter(|digest| !digest.is_empty());
        (name.trim().to_owned(), digest.map(str::to_owned))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(line).collect()
}

/// Names of skills that were installed from the hub.
pub(crate) fn installed(skills_dir: &Path) -> BTreeSet<String> {
    let text = fs::read(skills_dir.join(".hub/lock.json")).unwrap_or_default();
    let lock: Value = serde_json::from_slice(&text).unwrap_or_default();
    let installed = lock.get("installed").and_then(Value::as_object);
    installed
        .into_iter()
        .flat_map(|all| all.keys().cloned())
        .collect()
}

/// Whether usage is counted: not for what comes and goes with the program or the hub.
pub(crate) fn is_counted(skills_dir: &Path, name: &str) -> bool {
    !bundled(skills_dir).contains_key(name) && !installed(skills_dir).contains(name)
}
