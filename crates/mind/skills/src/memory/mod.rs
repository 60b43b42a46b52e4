//! Memory: two small files of notes that every session begins with, `MEMORY.md` and `USER.md`.

mod change;
mod choice;
mod entries;
mod notes;
mod prompt;
mod show;
mod tool;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::config::Settings;
use hermes_home::{FileLock, Home};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

pub use change::{Done, Refused, Wish};
pub use choice::{Choice, ELSEWHERE, ServerTools, ToolUse, Use};
pub use notes::{Changed, Notes, Stays};
pub use show::Shown;
pub use tool::{MemoryTool, Tell};

/// How long to wait for another program that is changing a store.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// What the agent wants to know next time.
    Memory,
    /// Who its owner is.
    User,
}

impl Target {
    pub const ALL: [Self; 2] = [Self::Memory, Self::User];

    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::User => "user",
        }
    }

    pub fn file(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY.md",
            Self::User => "USER.md",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// The stores that are switched on.
#[derive(Clone, Debug)]
pub struct Memory {
    memory: Option<Notes>,
    user: Option<Notes>,
}

impl Memory {
    pub fn new(home: &Home, settings: &Settings) -> Self {
        let notes = |target: Target, switch: &str, limit: &str| {
            let limit = settings.number(limit).max(1.0) as usize;
            let path = Self::path(home.dir(), target);
            settings
                .is_on(switch)
                .then(|| Notes::new(path, limit, home.modes().clone()))
        };
        Self {
            memory: notes(
                Target::Memory,
                "memory.memory_enabled",
                "memory.memory_char_limit",
            ),
            user: notes(
                Target::User,
                "memory.user_profile_enabled",
                "memory.user_char_limit",
            ),
        }
    }

    /// Where a store lies, switched on or not.
    pub fn path(home: &Path, target: Target) -> PathBuf {
        home.join("memories").join(target.file())
    }

    /// Removes a store, switched on or not.
    pub fn forget(home: &Home, target: Target) -> Result<()> {
        let path = Self::path(home.dir(), target);
        let _lock = Self::lock(&path)?;
        Self::remove(&path)
    }

    /// Nobody else changes this store until the lock is dropped.
    pub(crate) fn lock(path: &Path) -> Result<FileLock> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, &error))?;
        }
        Ok(FileLock::within(path, PATIENCE)?)
    }

    pub(crate) fn remove(path: &Path) -> Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", path, &error))
            }
            _ => Ok(()),
        }
    }

    /// `None` if it is switched off.
    pub fn notes(&self, target: Target) -> Option<&Notes> {
        match target {
            Target::Memory => self.memory.as_ref(),
            Target::User => self.user.as_ref(),
        }
    }

    /// Those that are switched on.
    pub fn targets(&self) -> impl Iterator<Item = Target> + '_ {
        let all = Target::ALL.into_iter();
        all.filter(|target| self.notes(*target).is_some())
    }

    pub fn is_off(&self) -> bool {
        self.targets().next().is_none()
    }
}
