//! Who may run what: the only place that can make a [`Permit`].
//!
//! A convenience guard against accidents and careless models, not a boundary against an attacker: that is the
//! isolation of the backend.

mod allowlist;
mod ask;
mod danger;
mod decide;
mod hardline;
mod keys;
mod look;
mod paths;
mod policy;
mod program;
mod runs;
mod shell;
mod smart;
mod tirith;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use allowlist::Allowlist;
use ask::Warning;
pub use ask::{Gate, Yolo};
pub use decide::{Decision, decide, decide_script};
pub use look::{Findings, Places, look};
pub use policy::{Approvals, Isolation, Mode, Policy, Surface, Unasked};
pub use tirith::{Otherwise, Tirith};

/// Leave to run one command. A backend starts nothing without one.
#[derive(Debug)]
pub struct Permit {
    command: String,
    note: Option<String>,
    decision: String,
}

impl Permit {
    /// The command it was given for.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// What to tell the model about how it was given.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Who or what allowed it, for the record; empty where there was nothing to decide.
    pub fn decision(&self) -> &str {
        &self.decision
    }

    /// For what Hermes itself runs to do its work; nothing of it comes from a model.
    pub fn for_ourselves(what: &'static str) -> Self {
        Self::unasked(what, "")
    }

    fn unasked(command: &str, decision: &str) -> Self {
        Self {
            command: command.to_owned(),
            note: None,
            decision: decision.to_owned(),
        }
    }

    fn noted(command: &str, note: String, decision: &str) -> Self {
        Self {
            note: Some(note),
            ..Self::unasked(command, decision)
        }
    }
}

/// Why a command does not run, as the model will read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    pub reason: String,
    pub by: DeniedBy,
    /// Who or what refused it, for the record.
    pub decision: &'static str,
}

impl Denied {
    fn by_policy(reason: String, decision: &'static str) -> Self {
        Self {
            reason,
            by: DeniedBy::Policy,
            decision,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeniedBy {
    Policy,
    Owner,
    /// Nobody answered in time, or nobody is there.
    Silence,
    /// The call was cancelled while the owner was asked.
    Cancelled,
}

/// The words of every program a command line starts, the last of the line last.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let script = shell::parse(text, Vec::new());
    script
        .commands()
        .flat_map(|simple| program::started(&simple.words))
        .map(<[String]>::to_vec)
        .collect()
}

/// Whether `sudo` stands where a command begins.
pub fn calls_sudo(text: &str) -> bool {
    let script = shell::parse(text, Vec::new());
    script.commands().any(|simple| {
        let written = program::started(&simple.words).into_iter().next();
        written.is_some_and(|words| words[0] == "sudo")
    })
}

/// A panic elsewhere doesn't make a list of keys wrong.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
