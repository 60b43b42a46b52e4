//! The session itself: one task owns the conversation and runs its turns, one after another.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hermes_agent::{Conversation, Events, Hints, Limits, Steer, Toolbox, Turn};
use hermes_store::{NewSession, Reach, Store};
use hermes_types::{Answer, Message, ModelClient, Models, Scope, SessionId, TurnEnd, Workspace};
use jiff::{Timestamp, Zoned};
use tokio::sync::mpsc;

use crate::ask::{Asking, SessionAsker};
use crate::feed::{Feed, Source, feed};
use crate::journal::{Billing, StoreJournal};

/// What may wait to be taken in.
const INBOX: usize = 64;

/// What a face can say to a session.
#[derive(Debug)]
pub enum Input {
    Prompt(Message),
    /// Guidance for the running turn.
    Steer(String),
    Answer {
        id: u64,
        answer: Answer,
    },
    /// Ends the running turn.
    Interrupt,
    /// Ends the session after the running turn was interrupted.
    Close,
}

/// What happens to a prompt that comes while a turn runs: `display.busy_input_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Busy {
    /// The running turn ends and the prompt is next.
    #[default]
    Interrupt,
    Queue,
    Steer,
}

/// Which conversation to open.
#[derive(Clone, Debug)]
pub enum Which {
    New,
    Existing(SessionId),
}

/// What a session is opened with.
pub struct Opening {
    pub which: Which,
    pub source: String,
    pub asking: Asking,
    pub busy: Busy,
    pub store: Store,
    pub model: Arc<dyn ModelClient>,
    pub models: Arc<dyn Models>,
    pub toolbox: Toolbox,
    pub workspace: Arc<dyn Workspace>,
    pub limits: Limits,
    /// The system prompt, should the session have none yet.
    pub system: String,
}

/// A handle to a live session. Dropping it closes the session.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    inbox: mpsc::Sender<Input>,
}

impl Session {
    /// Opens a conversation. The caller runs [`Live::run`] beside its own work and reads the feed.
    pub async fn open(opening: Opening) -> hermes_store::Result<(Self, Live, Feed)> {
        let (source, feed) = feed();
        let events = source.events();
        let (inbox, incoming) = mpsc::channel(INBOX);
        let (id, conversation) = begin(&opening).await?;
        let live = Live {
            asker: Arc::new(SessionAsker::new(opening.asking, events.clone())),
            hints: Arc::new(Mutex::new(Hints::new(opening.workspace.cwd()))),
            scope: Scope::new(id.clone()),
            id: id.clone(),
            waiting: VecDeque::new(),
            steer: Steer::default(),
            conversation,
            incoming,
            events,
            opening,
            _source: source,
        };
        Ok((Self { id, inbox }, live, feed))
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Waits for room in the inbox; a session that is over takes nothing in.
    pub async fn send(&self, input: Input) -> bool {
        self.inbox.send(input).await.is_ok()
    }
}

async fn begin(opening: &Opening) -> hermes_store::Result<(SessionId, Conversation)> {
    let info = opening.model.info();
    let billing = Billing {
        provider: info.provider.clone(),
        base_url: info.base_url.clone(),
    };
    let (id, system, messages) = match &opening.which {
        Which::New => (new_id(), opening.system.clone(), Vec::new()),
        Which::Existing(id) => {
            let stored = opening
                .store
                .session(id)
                .await?
                .and_then(|session| session.system_prompt);
            let messages = opening.store.conversation(id, Reach::Session).await?;
            opening.store.reopen_session(id).await?;
            (
                id.clone(),
                stored
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| opening.system.clone()),
                messages,
            )
        }
    };
    let row = NewSession {
        model: Some(info.model.clone()),
        system_prompt: Some(system.clone()),
        ..NewSession::new(id.clone(), opening.source.clone())
    };
    let journal = Arc::new(StoreJournal::new(opening.store.clone(), row, billing));
    Ok((id, Conversation::resume(system, messages, journal)))
}

fn new_id() -> SessionId {
    SessionId::from_stamp(
        &Zoned::now().strftime("%Y%m%d_%H%M%S").to_string(),
        fastrand::u32(..),
    )
}

/// The running side of a session.
pub struct Live {
    id: SessionId,
    opening: Opening,
    conversation: Conversation,
    incoming: mpsc::Receiver<Input>,
    /// Prompts that came while a turn ran.
    waiting: VecDeque<Message>,
    asker: Arc<SessionAsker>,
    events: Events,
    steer: Steer,
    hints: Arc<Mutex<Hints>>,
    scope: Scope,
    /// Ends the feed when the session is over.
    _source: Source,
}

/// Why a turn's wait ended.
enum After {
    Turn,
    Close,
}

impl Live {
    /// Runs turns until the session is closed.
    pub async fn run(mut self) {
        while let Some(prompt) = self.next_prompt().await {
            if let After::Close = self.turn(prompt).await {
                break;
            }
        }
        self.end().await;
    }

    async fn next_prompt(&mut self) -> Option<Message> {
        if let Some(prompt) = self.waiting.pop_front() {
            return Some(prompt);
        }
        loop {
            match self.incoming.recv().await? {
                Input::Prompt(prompt) => return Some(prompt),
                Input::Steer(text) => return Some(Message::user(text)),
                Input::Close => return None,
                // Nothing runs: there is nothing to interrupt and nobody waits for an answer.
                Input::Interrupt | Input::Answer { .. } => {}
            }
        }
    }

    /// Runs one turn and takes in what comes meanwhile.
    async fn turn(&mut self, prompt: Message) -> After {
        let scope = self.scope.child();
        let turn = Turn {
            model: self.opening.model.clone(),
            toolbox: self.opening.toolbox.clone(),
            workspace: self.opening.workspace.clone(),
            asker: self.asker.clone(),
            models: self.opening.models.clone(),
            scope: scope.clone(),
            events: self.events.clone(),
            steer: self.steer.clone(),
            hints: self.hints.clone(),
            limits: self.opening.limits.clone(),
        };
        let running = turn.run(&mut self.conversation, prompt);
        tokio::pin!(running);
        let mut after = After::Turn;
        let end: TurnEnd = loop {
            let input = tokio::select! {
                end = &mut running => break end,
                input = self.incoming.recv() => input,
            };
            match input {
                Some(Input::Answer { id, answer }) => {
                    self.asker.answer(id, answer);
                }
                Some(Input::Steer(text)) => self.steer.push(&text),
                Some(Input::Interrupt) => scope.cancel.cancel(),
                Some(Input::Prompt(prompt)) => busy(
                    self.opening.busy,
                    prompt,
                    &scope,
                    &self.steer,
                    &mut self.waiting,
                ),
                Some(Input::Close) | None => {
                    scope.cancel.cancel();
                    after = After::Close;
                    break running.await;
                }
            }
        };
        if let Some(text) = end.pending_steer.filter(|_| !end.interrupted) {
            self.waiting.push_front(Message::user(text));
        }
        after
    }

    async fn end(self) {
        if self.conversation.messages().is_empty() {
            return;
        }
        if let Err(error) = self
            .opening
            .store
            .end_session(&self.id, "cli_close", Timestamp::now())
            .await
        {
            tracing::warn!("{}: {error}", self.id);
        }
    }
}

fn busy(
    mode: Busy,
    prompt: Message,
    scope: &Scope,
    steer: &Steer,
    waiting: &mut VecDeque<Message>,
) {
    match (mode, prompt.content.as_ref()) {
        (Busy::Steer, Some(hermes_types::Content::Text(text))) => steer.push(text),
        (Busy::Interrupt, _) => {
            waiting.push_back(prompt);
            scope.cancel.cancel();
        }
        (Busy::Queue | Busy::Steer, _) => waiting.push_back(prompt),
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening")
            .field("which", &self.which)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
