//! One turn: from a user's message to an answer, through as many replies and tools as it takes.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use hermes_types::{
    AgentEvent, Asker, Content, Cost, Effort, Message, ModelClient, ModelError, ModelErrorKind,
    ModelEvent, ModelReply, ModelRequest, Models, Outcome, Role, Scope, Speed, ToolOutput, TurnEnd,
    Usage, Whom, Witness, Workspace,
};

use crate::batch;
use crate::compact::{Compaction, Relief, Strain};
use crate::conversation::Conversation;
use crate::guard::{Guard, GuardLimits};
use crate::hints::Hints;
use crate::ladder::{Climb, NOTHING, Next};
use crate::pipeline::Pipeline;
use crate::recover::{Recovered, Recovery};
use crate::spend::SPENT;
use crate::steer::Steer;
use crate::toolbox::Toolbox;

/// What a turn works with.
pub struct Turn {
    pub model: Arc<dyn ModelClient>,
    pub toolbox: Toolbox,
    pub workspace: Arc<dyn Workspace>,
    pub asker: Arc<dyn Asker>,
    pub models: Arc<dyn Models>,
    /// Who writes down every call, if anybody.
    pub witness: Option<Arc<dyn Witness>>,
    pub scope: Scope,
    pub events: Events,
    pub steer: Steer,
    pub hints: Arc<Mutex<Hints>>,
    pub limits: Limits,
}

/// How far a turn may go.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Replies with tool calls.
    pub iterations: u32,
    pub max_output: Option<u64>,
    pub effort: Effort,
    pub speed: Speed,
    pub guard: GuardLimits,
    /// Whether an answer says which files were not changed.
    pub verify_files: bool,
    /// How long an interrupted stream may take to end.
    pub patience: Duration,
    pub compaction: Compaction,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            iterations: 90,
            max_output: None,
            effort: Effort::Default,
            speed: Speed::AsSet,
            guard: GuardLimits::default(),
            verify_files: true,
            patience: Duration::from_millis(300),
            compaction: Compaction::default(),
        }
    }
}

/// Whoever watches.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(AgentEvent) + Send + Sync>);

impl Events {
    pub fn new(told: impl Fn(AgentEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }

    pub fn send(&self, event: AgentEvent) {
        (self.0)(event);
    }
}

pub(crate) const SUMMARISE: &str = "[The step limit of this turn is reached. Without calling any tools, sum up what was done, \
                         what was found and what is left to do.]";

impl Turn {
    /// Runs until there is an answer, an error or an interrupt. The conversation is valid afterwards.
    pub async fn run(self, conversation: &mut Conversation, prompt: Message) -> TurnEnd {
        self.run_when(conversation, std::future::ready(prompt))
            .await
    }

    /// The same with a prompt that takes a while: the turn has begun as soon as somebody waits for it.
    pub async fn run_when(
        self,
        conversation: &mut Conversation,
        prompt: impl Future<Output = Message>,
    ) -> TurnEnd {
        self.events.send(AgentEvent::TurnStarted);
        let mut end = TurnEnd::default();
        match self.affordable() {
            Ok(()) => {
                let before = conversation.messages().len();
                conversation.push(prompt.await).await;
                self.climb(conversation, &mut end).await;
                conversation.forget_recalled();
                self.settle(conversation.messages().get(before..), &mut end);
            }
            // Nothing was asked, so nothing is remembered.
            Err(error) => unanswered(&mut end, &error),
        }
        end.pending_steer = self.steer.take();
        end.unsaved = conversation.take_loss();
        if let Some(reason) = &end.unsaved {
            self.events.send(AgentEvent::Notice(unsaved(reason)));
        }
        tracing::info!(
            "turn ended: {} after {} requests",
            end.reason,
            end.api_calls
        );
        self.events
            .send(AgentEvent::TurnEnded(Box::new(end.clone())));
        end
    }

    async fn climb(&self, conversation: &mut Conversation, end: &mut TurnEnd) {
        let pipeline = self.pipeline();
        let mut climb = Climb::default();
        let mut budget = self.limits.iterations;
        let mut room = None;
        let mut whom = Whom::Usual;
        let mut recovered = Recovered::default();
        let mut strain = Strain::default();
        self.make_room(conversation, end).await;
        loop {
            if self.scope.is_cancelled() {
                return interrupted(end, "interrupted_by_user");
            }
            if budget == 0 {
                return self.summarise(conversation, end).await;
            }
            if let Some(text) = self.steer.take_if(last_is_tool(conversation)) {
                conversation.push(Message::user(text)).await;
            }
            let asked = self.ask(
                conversation,
                self.toolbox.definitions(),
                room.take().or(climb.room(self.limits.max_output)),
                whom,
                end,
            );
            let asked = asked.await;
            let asked_whom = std::mem::replace(&mut whom, Whom::Stay);
            let reply = match asked {
                Ok(reply) => reply,
                Err(error) if is_nobody(&error, asked_whom) => {
                    conversation.take_back_dangling().await;
                    end.api_calls -= 1;
                    let reason = "empty_response_exhausted";
                    return failed(end, String::new(), NOTHING.to_owned(), reason);
                }
                Err(error) => match recovered.from(&error, conversation) {
                    Some(Recovery::Changed(told)) => {
                        self.events.send(AgentEvent::Notice(told.to_owned()));
                        continue;
                    }
                    Some(Recovery::Room(tokens)) => {
                        room = Some(tokens);
                        continue;
                    }
                    None => match self.relieve(&error, conversation, &mut strain, end).await {
                        Relief::Shorter => continue,
                        Relief::Exhausted(told) => {
                            return failed(end, String::new(), told, "compression_exhausted");
                        }
                        Relief::Other => return unanswered(end, &error),
                    },
                },
            };
            strain.is_over();
            conversation.heard(&reply.usage);
            conversation.count(&reply.usage, &reply.cost).await;
            match climb.next(reply, conversation.messages(), &self.toolbox) {
                Next::Answer { message, text } => {
                    conversation.push(message).await;
                    return self.answer(&pipeline, text, end);
                }
                Next::Run { message, calls } => {
                    budget -= u32::from(!self.refundable(&calls));
                    conversation.push(message).await;
                    self.act(conversation, &pipeline, &calls).await;
                    climb.tools_ran();
                    if let Some(reason) = pipeline.halted() {
                        return self.halt(conversation, reason, end).await;
                    }
                    self.keep_room(conversation, end).await;
                }
                Next::Append(messages) => {
                    budget -= 1;
                    for message in messages {
                        unseen(&pipeline, &message).await;
                        conversation.push(message).await;
                    }
                }
                Next::PropUp(messages) => conversation.prop_up(messages),
                Next::Again { max_output } => room = max_output,
                Next::Elsewhere => whom = Whom::Next,
                Next::Stop {
                    text,
                    error,
                    reason,
                } => {
                    conversation.take_back_dangling().await;
                    return failed(end, text, error, reason);
                }
            }
        }
    }

    fn pipeline(&self) -> Arc<Pipeline> {
        let pipeline = Pipeline::new(
            self.toolbox.clone(),
            self.scope.clone(),
            self.events.clone(),
            (
                self.workspace.clone(),
                self.asker.clone(),
                self.models.clone(),
            ),
            Guard::new(self.limits.guard.clone()),
            self.hints.clone(),
        );
        Arc::new(pipeline.seen_by(self.witness.clone()))
    }

    /// One request and its reply; everything that streams in goes to whoever watches. What was read of a reply
    /// before an interrupt has been said, and stays.
    async fn ask(
        &self,
        conversation: &mut Conversation,
        tools: Vec<hermes_types::ToolDef>,
        max_output: Option<u64>,
        whom: Whom,
        end: &mut TurnEnd,
    ) -> Result<ModelReply, ModelError> {
        let request = ModelRequest {
            system: conversation.instructions(),
            messages: conversation.outgoing(),
            tools,
            max_output: max_output.or(self.limits.max_output),
            effort: self.limits.effort,
            speed: self.limits.speed,
            whom,
            ..ModelRequest::default()
        };
        self.affordable()?;
        end.api_calls += 1;
        let mut stream = self.model.stream(request, self.scope.child());
        let mut said = String::new();
        while let Some(event) = stream.next().await {
            let event = match event {
                Err(error) if error.kind == ModelErrorKind::Cancelled => {
                    if !said.trim().is_empty() {
                        conversation.push(Message::assistant(said)).await;
                    }
                    return Err(error);
                }
                event => event?,
            };
            match event {
                ModelEvent::Text(text) => {
                    said.push_str(&text);
                    self.events.send(AgentEvent::Text(text));
                }
                ModelEvent::Reasoning(text) => self.events.send(AgentEvent::Reasoning(text)),
                ModelEvent::Retrying(retrying) => {
                    // The reply begins anew.
                    said.clear();
                    self.events.send(AgentEvent::Retrying(retrying));
                }
                ModelEvent::Switched(switched) => {
                    said.clear();
                    self.events.send(AgentEvent::Switched(switched));
                }
                ModelEvent::ToolCall(name) => self.events.send(AgentEvent::Preparing(name)),
                ModelEvent::Done(reply) => {
                    self.add_up(&reply.usage, &reply.cost, end);
                    return Ok(reply);
                }
            }
        }
        Err(ModelError::new(
            ModelErrorKind::Malformed,
            "the model's reply ended without an end",
        ))
    }

    pub(crate) fn add_up(&self, usage: &Usage, cost: &Cost, end: &mut TurnEnd) {
        end.usage += *usage;
        self.events.send(AgentEvent::Usage {
            usage: *usage,
            usd: cost.usd,
        });
    }

    async fn act(
        &self,
        conversation: &mut Conversation,
        pipeline: &Arc<Pipeline>,
        calls: &[batch::Call],
    ) {
        pipeline.next_round();
        let outputs = batch::run(pipeline, calls).await;
        let last = calls.len().saturating_sub(1);
        for (index, (call, mut output)) in calls.iter().zip(outputs).enumerate() {
            if index == last
                && let Some(text) = self.steer.take()
            {
                output.text.push_str(&Steer::marked(&text));
            }
            conversation
                .push(Message::tool(&call.id, &call.name, output.text))
                .await;
        }
    }

    fn refundable(&self, calls: &[batch::Call]) -> bool {
        calls.iter().all(|call| {
            self.toolbox
                .get(&call.name)
                .is_some_and(|tool| tool.spec().refundable)
        })
    }

    fn answer(&self, pipeline: &Pipeline, text: String, end: &mut TurnEnd) {
        let footer = pipeline
            .footer()
            .filter(|_| self.limits.verify_files)
            .unwrap_or_default();
        if !footer.is_empty() {
            self.events.send(AgentEvent::Text(footer.clone()));
        }
        end.text = text + &footer;
        end.reason = "text_response(finish_reason=stop)".to_owned();
    }

    async fn halt(&self, conversation: &mut Conversation, reason: String, end: &mut TurnEnd) {
        let text = format!("I stopped because I was going round in circles: {reason}.");
        self.events.send(AgentEvent::Text(text.clone()));
        conversation.push(Message::assistant(text.clone())).await;
        end.text = text;
        end.reason = "guardrail_halt".to_owned();
    }

    /// The budget is used up: one request without tools, for an account of what was done.
    async fn summarise(&self, conversation: &mut Conversation, end: &mut TurnEnd) {
        self.events.send(AgentEvent::Notice(format!(
            "Iteration budget exhausted ({0}/{0})",
            self.limits.iterations
        )));
        conversation.push(Message::user(SUMMARISE)).await;
        for _ in 0..2 {
            let asked = self.ask(conversation, Vec::new(), None, Whom::Stay, end);
            match asked.await {
                Ok(reply) => {
                    conversation.count(&reply.usage, &reply.cost).await;
                    let text = reply
                        .message
                        .content
                        .as_ref()
                        .map(Content::plain)
                        .unwrap_or_default();
                    if !text.trim().is_empty() {
                        conversation.push(Message::assistant(text.clone())).await;
                        end.text = text;
                        end.reason =
                            format!("max_iterations_reached({0}/{0})", self.limits.iterations);
                        return;
                    }
                }
                Err(error) if error.kind == ModelErrorKind::Cancelled => {
                    return interrupted(end, "interrupted_during_api_call");
                }
                Err(error) if error.kind == ModelErrorKind::Spent => {
                    return unanswered(end, &error);
                }
                Err(error) => {
                    return failed(end, String::new(), error.to_string(), "budget_exhausted");
                }
            }
        }
        failed(
            end,
            String::new(),
            "the step limit was reached and the model gave no summary".to_owned(),
            "budget_exhausted",
        );
    }
}

/// Whether somebody else was to be asked and there is nobody.
fn is_nobody(error: &ModelError, whom: Whom) -> bool {
    whom == Whom::Next && error.kind == ModelErrorKind::NotConfigured
}

/// Calls that were answered without being run are part of the record, too.
async fn unseen(pipeline: &Pipeline, message: &Message) {
    if message.role == Role::Tool {
        let text = message.content.as_ref().map(Content::plain);
        let refused = ToolOutput::done(text.unwrap_or_default()).with_outcome(Outcome::Failed);
        let name = message.name.as_deref().unwrap_or_default();
        pipeline.unseen(name, &refused).await;
    }
}

fn last_is_tool(conversation: &Conversation) -> bool {
    conversation
        .messages()
        .last()
        .is_some_and(|message| message.role == Role::Tool)
}

/// How the owner is told.
fn unsaved(reason: &str) -> String {
    format!("this conversation is not being saved: {reason}")
}

fn interrupted(end: &mut TurnEnd, reason: &str) {
    end.interrupted = true;
    end.reason = reason.to_owned();
}

/// No reply came, and none will.
fn unanswered(end: &mut TurnEnd, error: &ModelError) {
    if error.kind == ModelErrorKind::Cancelled {
        return interrupted(end, "interrupted_during_api_call");
    }
    let reason = match error.kind {
        ModelErrorKind::Spent => SPENT,
        _ => "all_retries_exhausted_no_response",
    };
    failed(end, String::new(), error.to_string(), reason);
}

fn failed(end: &mut TurnEnd, text: String, error: String, reason: &str) {
    end.text = text;
    end.error = Some(error);
    end.reason = reason.to_owned();
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn")
            .field("toolbox", &self.toolbox)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}

/// Keeps a poisoned lock usable: what it guards is only counted, never half-changed.
pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
