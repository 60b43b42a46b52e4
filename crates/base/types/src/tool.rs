//! Acting: what a tool is, and what a call may use.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Asker, Child, Models, Scope, SessionId, Workspace};

/// The arguments of a call, already repaired and brought to the schema's types.
pub type Args = Map<String, Value>;

/// An argument that the calls of a script carry. A program reads what they give: it wants all of it every time, and
/// the model has seen nothing of it.
pub const FOR_SCRIPT: &str = "_for_script";

/// Something the model can do. Services are given to it when it is built; a call brings only its [`CallCx`].
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Never fails: what went wrong is part of the output.
    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput>;

    fn available(&self) -> Availability {
        Availability::Yes
    }

    /// How many calls of it one reply may have; those beyond are left out.
    fn most_per_reply(&self) -> Option<usize> {
        None
    }

    /// The conversation was made shorter: what this tool has shown in it is gone. What the model must be told
    /// again, if anything.
    fn compacted(&self, _session: &SessionId) -> Option<String> {
        None
    }
}

/// Re-enters the whole per-call pipeline: for tools that call tools.
pub trait ToolCaller: Send + Sync {
    fn call<'a>(&'a self, name: &'a str, args: Args) -> BoxFuture<'a, ToolOutput>;
}

/// Everything about a tool that isn't code.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    pub name: String,
    pub toolset: &'static str,
    pub description: String,
    /// A JSON Schema object.
    pub parameters: Value,
    /// For activity feeds.
    pub emoji: &'static str,
    pub parallel: Parallel,
    /// The same call gives the same result as long as nothing else happens.
    pub idempotent: bool,
    /// Keeps the agent's own house (memory, todo); text beside it can be the answer.
    pub housekeeping: bool,
    /// A reply with only such calls doesn't count against the budget.
    pub refundable: bool,
    /// The files a call is about.
    pub paths: fn(&Args) -> Vec<PathBuf>,
    /// One line that says what a call was about, for feeds and compaction.
    pub digest: fn(&Args, &ToolOutput) -> String,
    /// Longer results are put into a file; `None`: never.
    pub max_output: Option<usize>,
}

/// Which calls of one reply may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallel {
    Never,
    Always,
    /// With calls on other files.
    ByPath,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    Yes,
    /// What is missing, and how to get it.
    No(String),
}

/// What a call may use; nothing else, ever.
#[derive(Clone)]
pub struct CallCx {
    pub scope: Scope,
    /// The id the model gave the call.
    pub call_id: String,
    pub progress: Progress,
    pub workspace: Arc<dyn Workspace>,
    pub asker: Arc<dyn Asker>,
    pub models: Arc<dyn Models>,
    pub caller: Arc<dyn ToolCaller>,
}

/// Tells whoever watches what a running call is doing.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Told<'_>) + Send + Sync>);

/// What a running call can tell.
#[derive(Debug)]
pub enum Told<'a> {
    Text(&'a str),
    /// Something happened in one of the conversations it started.
    Child(Child),
}

impl Progress {
    pub fn new(told: impl Fn(Told<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }

    /// Nobody watches.
    pub fn silent() -> Self {
        Self::new(|_| {})
    }

    pub fn tell(&self, text: &str) {
        (self.0)(Told::Text(text));
    }

    pub fn child(&self, child: Child) {
        (self.0)(Told::Child(child));
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

impl fmt::Debug for CallCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallCx")
            .field("scope", &self.scope)
            .field("call_id", &self.call_id)
            .finish_non_exhaustive()
    }
}

/// A result with its outcome, so that nobody has to guess it from the text.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model reads, usually JSON.
    pub text: String,
    pub outcome: Outcome,
    /// Files this call changed.
    pub changed: Vec<PathBuf>,
    /// Who or what allowed or refused it, for the record; empty where nobody had to decide.
    pub decision: String,
    pub took: Duration,
    /// For people who watch.
    pub shown: Shown,
}

/// What somebody who watches may want to see of a call besides its one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The exit code of a command.
    pub code: Option<i32>,
    /// What became of files, as a unified diff with paths as the owner would say them.
    pub diff: String,
    /// What is to be done, all of it, after a call that is about that.
    pub plan: Vec<Step>,
}

/// One of the things the model has set out to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub text: String,
    pub status: StepStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed,
    Denied,
    Cancelled,
}

impl ToolOutput {
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            outcome: Outcome::Done,
            changed: Vec::new(),
            decision: String::new(),
            took: Duration::ZERO,
            shown: Shown::default(),
        }
    }

    pub fn json(value: &Value) -> Self {
        Self::done(value.to_string())
    }

    /// `{"error": …}`
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Failed,
            ..Self::json(&serde_json::json!({ "error": error.into() }))
        }
    }

    pub fn cancelled(text: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Cancelled,
            ..Self::done(text)
        }
    }

    #[must_use]
    pub fn with_outcome(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// With what people see of the change it made.
    #[must_use]
    pub fn with_diff(mut self, diff: String) -> Self {
        self.shown.diff = diff;
        self
    }

    #[must_use]
    pub fn decided(self, by: impl Into<String>) -> Self {
        let decision = by.into();
        Self { decision, ..self }
    }
}
