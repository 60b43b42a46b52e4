//! What can be wanted of a skill, and what becomes of it.

use std::path::PathBuf;

use hermes_text::Occurrences;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::guard::Finding;

/// What is to be done with a skill.
#[derive(Clone, Debug)]
pub enum Change {
    Create {
        content: String,
        category: Option<String>,
    },
    Edit {
        content: String,
    },
    Patch {
        old: String,
        new: String,
        occurrences: Occurrences,
        /// `None`: `SKILL.md` itself.
        file: Option<String>,
    },
    /// Into the archive. `absorbed_into`: where its content went; empty: nowhere.
    Delete {
        absorbed_into: Option<String>,
    },
    WriteFile {
        path: String,
        content: String,
    },
    RemoveFile {
        path: String,
    },
}

/// On whose behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In a conversation with the owner.
    Foreground,
    /// The agent looking back on its own: only its own skills, and only what it has read.
    Review,
    /// The curator, under the same rules; what it deletes it can bring back.
    Curator,
}

/// Whether somebody has agreed to what the guard found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    NotAsked,
    Given,
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// `created`, `updated`, `patched`, `written`, `removed` or `deleted`.
    pub kind: &'static str,
    pub name: String,
    pub message: String,
    /// The file or directory that changed.
    pub path: PathBuf,
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    #[error("{message}")]
    No {
        message: String,
        /// What may help to do better.
        help: Map<String, Value>,
    },
    /// The guard wants somebody to look at this first.
    #[error("The guard found this dangerous: {}", told(findings))]
    Dangerous { findings: Vec<Finding> },
}

fn told(findings: &[Finding]) -> String {
    let worst = findings.iter().take(5).map(Finding::to_string);
    worst.collect::<Vec<_>>().join("; ")
}

impl Refused {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::No {
            message: message.into(),
            help: Map::new(),
        }
    }

    pub(super) fn with(self, key: &str, value: impl Into<Value>) -> Self {
        match self {
            Self::No { message, mut help } => {
                help.insert(key.to_owned(), value.into());
                Self::No { message, help }
            }
            other => other,
        }
    }

    pub fn to_json(&self) -> Value {
        let mut result = json!({"success": false, "error": self.to_string()});
        if let Self::No { help, .. } = self {
            for (key, value) in help {
                result[key] = value.clone();
            }
        }
        result
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}
