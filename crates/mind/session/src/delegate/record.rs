//! What is known of a child while it works: enough to report on it even if it never ends by itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use hermes_types::{
    AgentEvent, Content, Cost, Journal, Message, ModelClient, ModelError, ModelEvent, ModelInfo,
    ModelRequest, Outcome, Role, Scope, SessionId, Shorter, Usage,
};

/// Calls that are reported, the last ones.
const TRACED: usize = 200;

/// One child's record. Clones are the same record.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Arc<Mutex<Known>>);

#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Counted when they are sent.
    pub api_calls: u32,
    pub usage: Usage,
    pub trace: VecDeque<Traced>,
    /// What it said last.
    pub said: String,
    pub model: Option<ModelInfo>,
    pub tools: Vec<String>,
    /// Bytes of what every request begins with: the system text and the tools.
    pub preamble: (usize, usize),
    /// Calls that run: id and tool.
    pub running: Vec<(String, String)>,
    pub stage: Stage,
    /// Grows with everything that counts as progress.
    pub steps: u64,
}

/// How far a child has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    GettingModel,
    MakingTools,
    /// Its first message is being written down.
    Beginning,
    /// It sends requests and runs tools.
    Working,
    Over,
}

/// One call of a tool.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    id: String,
    pub tool: String,
    pub args_bytes: usize,
    pub result_bytes: usize,
    pub outcome: Outcome,
}

impl Record {
    pub fn known(&self) -> Known {
        self.lock().clone()
    }

    pub fn reached(&self, stage: Stage) {
        self.change(|known| known.stage = stage);
    }

    pub fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.lock();
        change(&mut known);
        known.steps += 1;
    }

    /// How much has happened, and whether a tool runs.
    pub fn pulse(&self) -> (u64, bool) {
        let known = self.lock();
        (known.steps, !known.running.is_empty())
    }

    pub fn saw(&self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolStarted { id, name, .. } => {
                self.change(|known| known.running.push((id.clone(), name.clone())));
            }
            AgentEvent::ToolFinished { id, outcome, .. } => self.change(|known| {
                known.running.retain(|(running, _)| running != id);
                if let Some(traced) = known.trace.iter_mut().rfind(|traced| traced.id == *id) {
                    traced.outcome = *outcome;
                }
            }),
            // A child that waits for its own children is busy as long as they are.
            AgentEvent::Child(_) => self.change(|_| {}),
            _ => {}
        }
    }

    fn heard(&self, message: &Message) {
        self.change(|known| match message.role {
            Role::Assistant => known.called(message),
            Role::Tool => known.answered(message),
            _ => {}
        });
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn called(&mut self, message: &Message) {
        let text = plain(message);
        if !text.trim().is_empty() {
            self.said = text;
        }
        for call in &message.tool_calls {
            if self.trace.len() == TRACED {
                self.trace.pop_front();
            }
            self.trace.push_back(Traced {
                id: call.id.clone(),
                tool: call.function.name.clone(),
                args_bytes: call.function.arguments.len(),
                result_bytes: 0,
                // Until it has ended well.
                outcome: Outcome::Cancelled,
            });
        }
    }

    fn answered(&mut self, message: &Message) {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        if let Some(traced) = self.trace.iter_mut().rfind(|traced| traced.id == id) {
            traced.result_bytes = plain(message).len();
        }
    }
}

fn plain(message: &Message) -> String {
    let content = message.content.as_ref();
    content.map(Content::plain).unwrap_or_default()
}

/// A journal that tells the record what is written down.
pub(super) struct Noted<J> {
    pub inner: J,
    pub record: Record,
}

impl<J: Journal> Journal for Noted<J> {
    fn append<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        self.record.heard(message);
        self.inner.append(message)
    }

    fn rewrite<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<(), String>> {
        self.inner.rewrite(messages)
    }

    fn compact<'a>(
        &'a self,
        shorter: Shorter<'a>,
    ) -> BoxFuture<'a, Result<Option<SessionId>, String>> {
        self.inner.compact(shorter)
    }

    fn usage<'a>(&'a self, usage: &'a Usage, cost: &'a Cost) -> BoxFuture<'a, Result<(), String>> {
        self.record.change(|known| known.usage += *usage);
        self.inner.usage(usage, cost)
    }
}

/// A model whose requests are counted as they are sent.
pub(super) struct Counted {
    pub inner: Arc<dyn ModelClient>,
    pub record: Record,
}

impl ModelClient for Counted {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn stream(
        &self,
        request: ModelRequest,
        scope: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.record.change(|known| {
            known.api_calls += 1;
            known.stage = Stage::Working;
        });
        self.inner.stream(request, scope)
    }
}
