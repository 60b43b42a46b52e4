//! The notes as their owner sees them: what is in them, how full they are, and what is wrong with them.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use hermes_home::Home;
use hermes_home::config::Settings;
use hermes_types::Finding;
use serde_json::{Value, json};

use super::{Choice, Memory, Target};

/// One store as it is on disk now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub target: Target,
    pub path: PathBuf,
    /// `12% — 264/2,200 chars`; `None` if the store is off or cannot be read.
    pub usage: Option<String>,
    pub enabled: bool,
    pub entries: Vec<String>,
    /// What is wrong with the file, and what to do.
    pub problem: Option<String>,
}

impl Memory {
    /// Both stores as they are now, switched on or not.
    pub fn shown(&self, home: &Home) -> Vec<Shown> {
        let all = Target::ALL.into_iter();
        all.map(|target| self.show(home, target)).collect()
    }

    fn show(&self, home: &Home, target: Target) -> Shown {
        let mut shown = Shown {
            target,
            path: Self::path(home.dir(), target),
            usage: None,
            enabled: false,
            entries: Vec::new(),
            problem: None,
        };
        if let Some(notes) = self.notes(target) {
            shown.enabled = true;
            shown.problem = notes.problem();
            if let Ok(entries) = notes.entries() {
                shown.usage = Some(notes.usage(&entries));
                shown.entries = entries;
            }
        }
        shown
    }

    /// What is wrong with the files, each with what to do.
    pub fn problems(&self) -> Vec<String> {
        let notes = self.targets().filter_map(|target| self.notes(target));
        notes.filter_map(super::Notes::problem).collect()
    }

    /// For `hermes doctor`.
    pub fn findings(home: &Home, settings: &Settings) -> Vec<Finding> {
        let memory = Self::new(home, settings);
        let mut findings: Vec<Finding> = memory.shown(home).iter().map(Shown::finding).collect();
        let choice = Choice::read(settings);
        findings.push(match choice.problem() {
            Some(problem) => Finding::warning(
                problem,
                "what is remembered stays in the files above",
                "hermes memory setup",
            ),
            None => Finding::ok(format!("provider: {choice}")),
        });
        findings
    }
}

impl Shown {
    /// How full it is, or why that cannot be said.
    pub fn state(&self) -> &str {
        match (&self.usage, self.enabled) {
            (Some(usage), _) => usage,
            (None, true) => "cannot be read",
            (None, false) => "off",
        }
    }

    pub fn to_json(&self) -> Value {
        json!({
            "target": self.target.name(), "path": self.path, "enabled": self.enabled,
            "usage": self.usage, "entries": self.enabled.then_some(&self.entries), "problem": self.problem,
        })
    }

    fn finding(&self) -> Finding {
        let (file, state) = (self.target.file(), self.state());
        match &self.problem {
            None => Finding::ok(format!("{file}: {state}")),
            Some(problem) => Finding::warning(
                problem,
                "the agent cannot change it, and may not see all of it",
                format!("edit {}", self.path.display()),
            ),
        }
    }
}

impl Display for Shown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.target.file(), self.state())?;
        if let Some(problem) = &self.problem {
            write!(f, "\n! {problem}")?;
        }
        for entry in &self.entries {
            write!(f, "\n- {}", entry.replace('\n', "\n  "))?;
        }
        Ok(())
    }
}
