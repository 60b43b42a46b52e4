//! Who may run what: the only place that can make a [`Permit`].
//!
//! A convenience guard against accidents and careless models, not a boundary against an attacker: that is the
//! isolation of the backend.

mod danger;
mod decide;
mod hardline;
mod keys;
mod look;
mod program;
mod rules;
mod runs;
mod shell;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_home::redact::Redactor;
use hermes_types::{Answer, CallCx, Question};

pub use decide::{Approvals, Decision, Isolation, Mode, Policy, Surface, Unasked, decide};
pub use look::Places;

/// Leave to run one command. A backend starts nothing without one.
#[derive(Debug)]
pub struct Permit {
    command: String,
    note: Option<String>,
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

    /// For what Hermes itself runs to do its work; nothing of it comes from a model.
    pub(crate) fn for_ourselves(what: &str) -> Self {
        Self::unasked(what)
    }

    fn unasked(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            note: None,
        }
    }
}

/// Why a command does not run, as the model will read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    pub reason: String,
    pub by: DeniedBy,
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

/// Consent that outlives sessions: `command_allowlist`. One for the whole process.
pub struct Allowlist {
    entries: Mutex<BTreeSet<String>>,
    save: Save,
}

/// Writes new entries into the settings.
type Save = Box<dyn Fn(&[String]) + Send + Sync>;

impl Allowlist {
    pub fn new(
        entries: impl IntoIterator<Item = String>,
        save: impl Fn(&[String]) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            entries: Mutex::new(entries.into_iter().collect()),
            save: Box::new(save),
        })
    }

    fn entries(&self) -> BTreeSet<String> {
        lock(&self.entries).clone()
    }

    fn add(&self, keys: &[String]) {
        lock(&self.entries).extend(keys.iter().cloned());
        (self.save)(keys);
    }
}

impl fmt::Debug for Allowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allowlist").field(&self.entries).finish()
    }
}

/// Judges the commands of one session.
#[derive(Debug)]
pub struct Gate {
    policy: Policy,
    allowlist: Arc<Allowlist>,
    /// What was allowed in this session only.
    session: Mutex<Session>,
    /// Commands are shown without secrets.
    redactor: Redactor,
}

#[derive(Debug, Default)]
struct Session {
    keys: BTreeSet<String>,
    yolo: bool,
}

/// Whether dangerous commands pass unasked. The hardline holds in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yolo {
    On,
    Off,
}

impl Gate {
    pub fn new(policy: Policy, allowlist: Arc<Allowlist>, redactor: Redactor) -> Self {
        Self {
            policy,
            allowlist,
            session: Mutex::default(),
            redactor,
        }
    }

    /// `--yolo` when the session opens, `/yolo` later.
    pub fn set_yolo(&self, yolo: Yolo) {
        lock(&self.session).yolo = yolo == Yolo::On;
    }

    /// `/new`: nothing that was allowed for this session is allowed any more.
    pub fn forget(&self) {
        *lock(&self.session) = Session::default();
    }

    /// Leave to run `command`, asking the owner if need be.
    pub async fn permit(&self, command: &str, cx: &CallCx) -> Result<Permit, Denied> {
        match decide(command, &self.policy, &self.approvals()) {
            Decision::Allow => Ok(Permit::unasked(command)),
            Decision::Block { reason } => Err(Denied {
                reason,
                by: DeniedBy::Policy,
            }),
            Decision::Ask { warnings } => self.ask(command, warnings, cx).await,
        }
    }

    async fn ask(
        &self,
        command: &str,
        warnings: Vec<String>,
        cx: &CallCx,
    ) -> Result<Permit, Denied> {
        let question = Question::Approve {
            command: self.redactor.force(command).into_owned(),
            warnings: warnings.clone(),
            timeout: self.policy.timeout,
        };
        let answer = tokio::select! {
            biased;
            () = cx.scope.cancel.cancelled() => Answer::Cancelled,
            // The asker knows the timeout too; this is for one that doesn't keep it.
            answer = tokio::time::timeout(self.policy.timeout, cx.asker.ask(question, &cx.scope)) => {
                answer.unwrap_or(Answer::TimedOut)
            }
        };
        let flagged = warnings.join("; ");
        let how_long = match answer {
            Answer::Once => "this once",
            Answer::Session => {
                lock(&self.session).keys.extend(warnings);
                "for this session"
            }
            Answer::Always => {
                self.allowlist.add(&warnings);
                "for good"
            }
            refused => return Err(denied(&refused, &flagged)),
        };
        Ok(Permit {
            command: command.to_owned(),
            note: Some(format!(
                "Flagged ({flagged}); the user approved it {how_long}."
            )),
        })
    }

    fn approvals(&self) -> Approvals {
        let session = lock(&self.session);
        Approvals {
            always: self.allowlist.entries(),
            session: session.keys.clone(),
            yolo: session.yolo,
        }
    }
}

fn denied(answer: &Answer, flagged: &str) -> Denied {
    let (by, what) = match answer {
        Answer::TimedOut => (
            DeniedBy::Silence,
            "the request for approval timed out; silence is not consent",
        ),
        Answer::Nobody => (
            DeniedBy::Silence,
            "nobody is there to approve it; silence is not consent",
        ),
        Answer::Cancelled => (
            DeniedBy::Cancelled,
            "it was cancelled before the user answered",
        ),
        _ => (DeniedBy::Owner, "the user denied it"),
    };
    Denied {
        reason: format!(
            "BLOCKED: {what} ({flagged}). It was not run. Do not retry it, rephrase it, or reach the same by \
             another tool; ask the user how to go on."
        ),
        by,
    }
}

/// The words of every program a command line starts, the last of the line last.
pub(crate) fn commands(text: &str) -> Vec<Vec<String>> {
    let script = shell::parse(text, &std::collections::HashMap::new());
    let simple = script.pipelines.iter().flatten();
    simple
        .flat_map(|simple| program::started(&simple.words))
        .map(<[String]>::to_vec)
        .collect()
}

/// Whether `sudo` stands where a command begins.
pub(crate) fn calls_sudo(text: &str) -> bool {
    let script = shell::parse(text, &std::collections::HashMap::new());
    let mut simple = script.pipelines.iter().flatten();
    simple.any(|simple| {
        let written = program::started(&simple.words).into_iter().next();
        written.is_some_and(|words| words[0] == "sudo")
    })
}

/// A panic elsewhere doesn't make a list of keys wrong.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
