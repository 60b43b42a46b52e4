//! One call from the model's wish to the result it reads: the same way for every tool and every caller.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_types::{
    Act, AgentEvent, Args, Asker, CallCx, Models, Outcome, Progress, Round, Scope, Told, Tool,
    ToolCaller, ToolOutput, ToolSpec, Witness, Workspace,
};
use serde_json::Value;

use crate::coerce::coerce;
use crate::guard::Guard;
use crate::hints::Hints;
use crate::spill::spill;
use crate::toolbox::Toolbox;
use crate::turn::Events;
use crate::verifier::Verifier;

/// How long a cancelled tool may take to say so itself.
const GRACE: Duration = Duration::from_millis(150);

/// What the calls of one turn share.
pub struct Pipeline {
    pub toolbox: Toolbox,
    pub scope: Scope,
    pub events: Events,
    pub workspace: Arc<dyn Workspace>,
    pub asker: Arc<dyn Asker>,
    pub models: Arc<dyn Models>,
    /// Of the reply whose calls run.
    round: Mutex<Round>,
    guard: Mutex<Guard>,
    verifier: Mutex<Verifier>,
    hints: Arc<Mutex<Hints>>,
    witness: Option<Arc<dyn Witness>>,
}

impl Pipeline {
    pub fn new(
        toolbox: Toolbox,
        scope: Scope,
        events: Events,
        world: (Arc<dyn Workspace>, Arc<dyn Asker>, Arc<dyn Models>),
        guard: Guard,
        hints: Arc<Mutex<Hints>>,
    ) -> Self {
        let (workspace, asker, models) = world;
        let (guard, verifier) = (Mutex::new(guard), Mutex::default());
        Self {
            toolbox,
            scope,
            events,
            workspace,
            asker,
            models,
            round: Mutex::new(Round::begin()),
            guard,
            verifier,
            hints,
            witness: None,
        }
    }

    /// The calls that follow belong to another reply.
    pub fn next_round(&self) {
        *lock(&self.round) = Round::begin();
    }

    /// With somebody who writes down every call.
    #[must_use]
    pub fn seen_by(self, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { witness, ..self }
    }

    /// Why the turn must end, if a guardrail says so.
    pub fn halted(&self) -> Option<String> {
        lock(&self.guard).halted().map(str::to_owned)
    }

    /// What to add below the answer.
    pub fn footer(&self) -> Option<String> {
        lock(&self.verifier).footer()
    }

    /// Runs one call to its end, whatever happens in it.
    pub async fn run(self: &Arc<Self>, id: &str, name: &str, mut args: Args) -> ToolOutput {
        let Some(tool) = self.toolbox.get(name).cloned() else {
            let unknown = ToolOutput::failed(format!("Unknown tool: {name}"));
            self.unseen(name, &unknown).await;
            return unknown;
        };
        let spec = tool.spec();
        coerce(&mut args, &spec.parameters);
        let about = (spec.digest)(&args, &ToolOutput::done(""));
        let place = self.workspace.cwd();
        let blocked = lock(&self.guard).before(spec, &args);
        if let Some(blocked) = blocked {
            self.saw(&spec.name, about, place, &blocked).await;
            return blocked;
        }
        self.events.send(AgentEvent::ToolStarted {
            id: id.to_owned(),
            name: name.to_owned(),
            about,
        });
        let started = Instant::now();
        let mut output = self.call(&tool, id, args.clone()).await;
        output.took = started.elapsed();
        let warning = lock(&self.guard).after(spec, &args, &output);
        lock(&self.verifier).observe(spec, &args, &output);
        let about = (spec.digest)(&args, &output);
        self.events.send(AgentEvent::ToolFinished {
            id: id.to_owned(),
            name: name.to_owned(),
            outcome: output.outcome,
            about: about.clone(),
            took: output.took,
            shown: std::mem::take(&mut output.shown),
        });
        self.saw(&spec.name, about, place, &output).await;
        output.text = self.fitted(spec, id, output.text).await;
        let hints = Hints::discover(&self.hints, &args, self.workspace.as_ref()).await;
        output.text.extend([hints, warning].into_iter().flatten());
        output
    }

    /// What is too long for the conversation goes to a file.
    async fn fitted(&self, spec: &ToolSpec, id: &str, text: String) -> String {
        let is_long = |max| text.len() > max && text.chars().count() > max;
        match spec.max_output.is_some_and(is_long) {
            true => spill(&text, id, self.workspace.as_ref()).await,
            false => text,
        }
    }

    /// Takes down a call that nothing came of, and why.
    pub async fn unseen(&self, name: &str, output: &ToolOutput) {
        let body: Option<Value> = serde_json::from_str(&output.text).ok();
        let why = body.as_ref().and_then(|body| body["error"].as_str());
        let about = why.unwrap_or(&output.text).to_owned();
        self.saw(name, about, self.workspace.cwd(), output).await;
    }

    /// Takes down how a call ended, before the model hears of it.
    async fn saw(&self, name: &str, about: String, place: PathBuf, output: &ToolOutput) {
        let Some(witness) = &self.witness else {
            return;
        };
        let act = Act {
            session: self.scope.session.clone(),
            tool: name.to_owned(),
            about,
            place,
            decision: output.decision.clone(),
            outcome: output.outcome,
            took: output.took,
            changed: output.changed.clone(),
        };
        if let Some(told) = witness.saw(act).await {
            self.events.send(AgentEvent::Notice(told));
        }
    }

    /// The tool's own part: a panic is an error, and a cancelled call is answered soon.
    async fn call(self: &Arc<Self>, tool: &Arc<dyn Tool>, id: &str, args: Args) -> ToolOutput {
        let name = tool.spec().name.clone();
        if self.scope.is_cancelled() {
            return not_started();
        }
        let cx = self.context(id);
        // Called inside, so that a panic before its first await is caught too.
        let work = AssertUnwindSafe(async { tool.call(args, &cx).await }).catch_unwind();
        tokio::pin!(work);
        let finished = tokio::select! {
            finished = &mut work => finished,
            () = self.scope.cancel.cancelled() => match tokio::time::timeout(GRACE, &mut work).await {
                Ok(finished) => finished,
                Err(_) => return ToolOutput::cancelled(format!("{{\"error\":\"{name} was interrupted\"}}")),
            },
        };
        finished.unwrap_or_else(|_| {
            ToolOutput::failed(format!(
                "Error executing tool '{name}': it failed internally"
            ))
        })
    }

    fn context(self: &Arc<Self>, id: &str) -> CallCx {
        let (events, call) = (self.events.clone(), id.to_owned());
        CallCx {
            scope: Scope {
                round: *lock(&self.round),
                ..self.scope.child()
            },
            call_id: id.to_owned(),
            progress: Progress::new(move |told| {
                events.send(match told {
                    Told::Text(text) => AgentEvent::ToolProgress {
                        id: call.clone(),
                        text: text.to_owned(),
                    },
                    Told::Child(child) => AgentEvent::Child(child),
                });
            }),
            workspace: self.workspace.clone(),
            asker: self.asker.clone(),
            models: self.models.clone(),
            caller: Arc::new(Inner {
                pipeline: self.clone(),
                id: id.to_owned(),
                made: AtomicUsize::new(0),
            }),
        }
    }
}

/// The answer for a call that an interrupt came before.
pub fn not_started() -> ToolOutput {
    ToolOutput::cancelled("{\"error\":\"cancelled by the user before it started\"}")
        .with_outcome(Outcome::Cancelled)
}

/// Calls made by a tool go the same way as the model's own.
struct Inner {
    pipeline: Arc<Pipeline>,
    /// Of the call that makes them.
    id: String,
    made: AtomicUsize,
}

impl ToolCaller for Inner {
    fn call<'a>(&'a self, name: &'a str, args: Args) -> BoxFuture<'a, ToolOutput> {
        // Each has a name of its own, or the files of long results would replace each other.
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("{}-{number}", self.id);
        async move { self.pipeline.run(&id, name, args).await }.boxed()
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("toolbox", &self.toolbox)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
