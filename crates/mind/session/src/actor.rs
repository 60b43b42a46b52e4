//! The session itself: one task owns the conversation and runs its turns, one after another.

use std::collections::VecDeque;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::stream::{self, Stream};
use hermes_agent::{Conversation, Events, Hints, Limits, Prompt, Steer, Toolbox, Turn};
use hermes_home::clock;
use hermes_skills::Skills;
use hermes_skills::curator::Curator;
use hermes_store::Store;
use hermes_types::{
    AgentEvent, Answer, Message, ModelClient, ModelError, Models, Scope, SessionId, SwitchedBy,
    Witness, Workspace,
};
use jiff::Zoned;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::about::Work;
use crate::ask::{Asking, SessionAsker};
use crate::background::Tasks;
use crate::begin::{Beginning, Current};
use crate::command::Then;
use crate::controls::Controls;
use crate::feed::{Feed, Source, feed};
use crate::jobs::{Forget, StopJobs};
use crate::learned::Learned;
use crate::memory_provider::{Outside, words};
use crate::model::Reload;
use crate::personality::Personalities;
use crate::quick::QuickShell;
use crate::references::{Attach, Said};
use crate::review::{Counters, Review};
use crate::rollback::Rollback;
use crate::servers::ToolServers;
use crate::slash::Slash;
use crate::spending::{Purses, Spending};
use crate::title;

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
    /// Somebody is at this question: its time stands still for a moment.
    Attend {
        id: u64,
    },
    /// A slash command and what follows it.
    Command(&'static Slash, String),
    /// A command of the owner's configuration, and what follows it.
    Quick {
        name: String,
        rest: String,
    },
    /// A skill somebody calls, and what they say with it.
    Skill {
        name: String,
        words: String,
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
    /// Looked at when a turn begins; a running turn keeps what it has.
    pub tools: ToolSource,
    pub workspace: Arc<dyn Workspace>,
    pub limits: Limits,
    /// Builds the system prompt: for a session that has none yet, and anew when a conversation was made shorter.
    pub system: Prompt,
    /// Finds another model by the name a person types.
    pub switch: Switch,
    /// Where `/save` writes.
    pub saved_dir: PathBuf,
    /// Whether a side model thinks up a title.
    pub titles: Titles,
}

/// Whether new conversations get a title by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Titles {
    Suggested,
    None,
}

/// The tools as they are now.
pub type ToolSource = Arc<dyn Fn() -> Toolbox + Send + Sync>;

/// From what a person typed to a model; its server may have to be asked.
pub type Switch = Arc<dyn Fn(Wanted) -> BoxFuture<'static, Switched> + Send + Sync>;

/// Another model, as a person asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Perhaps with a provider in front.
    pub model: String,
    pub provider: Option<String>,
    /// In later sessions, too.
    pub lasting: bool,
}

/// What became of a wish for another model.
pub type Switched = Result<Arc<dyn ModelClient>, ModelError>;

/// A handle to a live session. Dropping it closes the session.
#[derive(Debug)]
pub struct Session {
    /// Changes when the person goes on with another conversation, or this one goes on in another row.
    current: watch::Receiver<Current>,
    inbox: mpsc::Sender<Input>,
}

impl Session {
    /// Opens a conversation. The caller runs [`Live::run`] beside its own work and reads the feed.
    pub async fn open(opening: Opening) -> hermes_store::Result<(Self, Live, Feed)> {
        let (source, feed) = feed();
        let events = source.events();
        let (inbox, incoming) = mpsc::channel(INBOX);
        let beginning = Beginning::of(&opening).await?;
        events.send(beginning.opened(&opening));
        let (current, seen) = watch::channel(beginning.current.clone());
        let Current { row, task } = beginning.current.clone();
        let conversation = beginning.conversation(&opening, current.clone());
        let live = Live {
            current,
            asker: Arc::new(SessionAsker::new(opening.asking, events.clone())),
            hints: Arc::new(Mutex::new(Hints::new(opening.workspace.cwd()))),
            scope: Scope::new(task.clone()),
            id: row,
            task,
            waiting: VecDeque::new(),
            steer: Steer::default(),
            conversation,
            incoming,
            events,
            opening,
            started: clock::now(),
            wanted_title: None,
            stop_jobs: None,
            forget: None,
            servers: None,
            personalities: None,
            attach: None,
            preface: String::new(),
            switch_note: None,
            quick: QuickShell::default(),
            rollback: None,
            reload: None,
            witness: None,
            skills: None,
            curator: None,
            review: None,
            outside: None,
            learned: None,
            counters: Counters::default(),
            controls: None,
            tasks: Tasks::default(),
            spending: Spending::default(),
            purses: Purses::default(),
            span: Span::Open,
            aside: JoinSet::new(),
            _source: source,
        };
        let current = seen;
        Ok((Self { current, inbox }, live, feed))
    }

    /// Where the conversation is stored now.
    pub fn id(&self) -> SessionId {
        self.current.borrow().row.clone()
    }

    /// What files, task lists and background jobs know the conversation by; stays when it is made shorter.
    pub fn task(&self) -> SessionId {
        self.current.borrow().task.clone()
    }

    /// The same as a stream: the one that is open now, and each that the person goes on with.
    pub fn tasks(&self) -> impl Stream<Item = SessionId> + Send + use<> {
        let current = self.current.clone();
        stream::unfold((current, None), |(mut current, before)| async move {
            let moved = current.wait_for(|now| before.as_ref() != Some(&now.task));
            let task = moved.await.ok()?.task.clone();
            Some((task.clone(), (current, Some(task))))
        })
    }

    /// Waits for room in the inbox; a session that is over takes nothing in.
    pub async fn send(&self, input: Input) -> bool {
        self.inbox.send(input).await.is_ok()
    }
}

/// The running side of a session.
pub struct Live {
    /// Where the conversation is stored.
    pub(crate) id: SessionId,
    /// What tools know it by.
    pub(crate) task: SessionId,
    /// Tells the handle when they change.
    pub(crate) current: watch::Sender<Current>,
    pub(crate) opening: Opening,
    pub(crate) conversation: Conversation,
    pub(crate) events: Events,
    pub(crate) started: Zoned,
    /// A title given before there was anything to give it to.
    pub(crate) wanted_title: Option<String>,
    incoming: mpsc::Receiver<Input>,
    /// Prompts that came while a turn ran.
    pub(crate) waiting: VecDeque<Said>,
    pub(crate) asker: Arc<SessionAsker>,
    steer: Steer,
    hints: Arc<Mutex<Hints>>,
    scope: Scope,
    /// What goes on beside the turns.
    pub(crate) aside: JoinSet<()>,
    pub(crate) stop_jobs: Option<StopJobs>,
    pub(crate) forget: Option<Forget>,
    pub(crate) servers: Option<ToolServers>,
    pub(crate) personalities: Option<Personalities>,
    pub(crate) attach: Option<Attach>,
    /// What the next message begins with.
    pub(crate) preface: String,
    /// The part of it that says which model answers.
    pub(crate) switch_note: Option<String>,
    pub(crate) quick: QuickShell,
    pub(crate) rollback: Option<Rollback>,
    pub(crate) reload: Option<Reload>,
    /// Who writes down what the tools do.
    witness: Option<Arc<dyn Witness>>,
    pub(crate) skills: Option<Arc<Skills>>,
    pub(crate) curator: Option<Arc<Curator>>,
    pub(crate) review: Option<Review>,
    /// A memory beside the notes of our own.
    pub(crate) outside: Option<Outside>,
    pub(crate) learned: Option<Learned>,
    pub(crate) counters: Counters,
    pub(crate) controls: Option<Controls>,
    /// What runs beside the conversation.
    pub(crate) tasks: Tasks,
    pub(crate) spending: Spending,
    /// Of the running turn, or the last one.
    pub(crate) purses: Purses,
    span: Span,
    /// Ends the feed when the session is over.
    _source: Source,
}

/// How long a session lasts.
#[derive(Clone, Copy, PartialEq)]
enum Span {
    /// Until it is closed.
    Open,
    OneTurn,
}

/// Why a turn's wait ended.
#[derive(PartialEq)]
pub(crate) enum After {
    Turn,
    Close,
}

impl Live {
    /// Ends with its first answer; what comes too late for that is for nobody.
    #[must_use]
    pub fn for_one_turn(self) -> Self {
        let span = Span::OneTurn;
        Self { span, ..self }
    }

    /// With somebody who writes down what the tools do.
    #[must_use]
    pub fn with_witness(self, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { witness, ..self }
    }

    /// With a text that follows the system prompt, and others to choose from.
    #[must_use]
    pub fn with_personalities(mut self, personalities: Personalities) -> Self {
        self.conversation.overlay = personalities.overlay();
        self.personalities = Some(personalities);
        self
    }

    /// Runs turns until the session is closed.
    pub async fn run(mut self) {
        self.tidy_up();
        while let Some(prompt) = self.next_prompt().await {
            let after = self.turn(prompt).await;
            self.name().await;
            if after == After::Close || self.span == Span::OneTurn {
                break;
            }
        }
        self.end_with("cli_close").await;
        self.leave_outside().await;
    }

    async fn next_prompt(&mut self) -> Option<Said> {
        if let Some(prompt) = self.waiting.pop_front() {
            return Some(prompt);
        }
        loop {
            let input = tokio::select! {
                input = self.incoming.recv() => input?,
                // Taken note of so that nothing piles up; each says itself what went wrong.
                Some(_) = self.aside.join_next() => continue,
            };
            match input {
                Input::Prompt(prompt) => return Some(Said::typed(prompt)),
                Input::Steer(text) => return Some(Message::user(text).into()),
                Input::Command(slash, rest) => match self.command(slash, &rest).await {
                    Then::Wait => {}
                    Then::Ask(prompt) => return Some(prompt),
                    Then::Leave => return None,
                },
                Input::Quick { name, rest } => self.run_quick(&name, &rest),
                Input::Skill { name, words } => {
                    let prompt = self.skill(&name, &words).await;
                    // Whoever has one question only and no skill for it is told why, and nothing follows.
                    if prompt.is_some() || self.span == Span::OneTurn {
                        return prompt;
                    }
                }
                Input::Close => return None,
                // A background task may have asked.
                Input::Answer { id, answer } => {
                    self.asker.answer(id, answer);
                }
                Input::Attend { id } => self.asker.attend(id),
                // Nothing runs that an interrupt could mean.
                Input::Interrupt => {}
            }
        }
    }

    /// Gives the session the title it was promised, or has one thought up.
    async fn name(&mut self) {
        if self.conversation.messages().is_empty() {
            return;
        }
        if let Some(title) = self.wanted_title.take() {
            if let Err(error) = self.opening.store.set_title(&self.id, &title).await {
                self.notice(error.to_string());
            }
        } else if self.opening.titles == Titles::Suggested
            && self.purses.session.empty().is_none()
            && let Some(beginning) = title::beginning(self.conversation.messages())
        {
            let (store, models) = (self.opening.store.clone(), self.opening.models.clone());
            let (id, events) = (self.id.clone(), self.events.clone());
            let scope = Scope {
                purse: self.purses.session.clone(),
                ..self.scope.child()
            };
            self.aside.spawn(async move {
                if let Err(reason) = title::give(&store, &id, &models, beginning, scope).await {
                    tracing::warn!("no title for {id}: {reason}");
                    events.send(AgentEvent::Notice(format!(
                        "no title for this conversation: {reason}"
                    )));
                }
            });
        }
    }

    /// Runs one turn and takes in what comes meanwhile.
    async fn turn(&mut self, said: Said) -> After {
        self.fill_purses().await;
        self.count_turn();
        let scope = Scope {
            purse: self.purses.turn.clone(),
            ..self.work()
        };
        let asked = words(&said.message);
        let prompt = self.attaching(said, &scope);
        let prompt = self.recalling(prompt, &scope);
        // The turn has the conversation for itself; everything else stays with us meanwhile.
        let mut conversation = self.conversation.hand_over();
        let (end, after) = {
            let turn = self.prepare(&scope);
            let running = turn.run_when(&mut conversation, prompt);
            tokio::pin!(running);
            self.watch(running, &scope).await
        };
        self.conversation = conversation;
        self.follow();
        self.keep_outside(asked, &end);
        if after == After::Turn && self.span == Span::Open {
            self.look_back(&end);
        }
        if let Some(text) = end.pending_steer.filter(|_| !end.interrupted) {
            self.waiting.push_front(Message::user(text).into());
        }
        after
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Work on the conversation that can be interrupted on its own.
    pub(crate) fn work(&self) -> Scope {
        Scope {
            session: self.task.clone(),
            purse: self.purses.session.clone(),
            ..self.scope.child()
        }
    }

    /// Takes note of where the conversation is now.
    pub(crate) fn follow(&mut self) {
        let current = self.current.borrow().clone();
        if self.id == current.row {
            return;
        }
        let why = match self.task == current.task {
            true => SwitchedBy::Compression,
            false => SwitchedBy::Owner,
        };
        let before = std::mem::replace(&mut self.id, current.row);
        self.task = current.task;
        self.switched(before, why);
    }

    /// Waits for the end of some work while taking in what comes.
    pub(crate) async fn watch<T>(
        &mut self,
        mut running: Pin<&mut impl Future<Output = T>>,
        scope: &Scope,
    ) -> (T, After) {
        loop {
            let input = tokio::select! {
                end = &mut running => return (end, After::Turn),
                input = self.incoming.recv() => input,
            };
            self.follow();
            match input.filter(|input| !is_leaving(input)) {
                Some(input) => {
                    let taking = self.meanwhile(input, scope);
                    tokio::pin!(taking);
                    // Some of it asks a server: the work does not wait for that.
                    tokio::select! {
                        () = &mut taking => {}
                        end = &mut running => {
                            taking.await;
                            return (end, After::Turn);
                        }
                    }
                }
                None => {
                    scope.cancel.cancel();
                    return (running.await, After::Close);
                }
            }
        }
    }

    pub(crate) fn prepare(&self, scope: &Scope) -> Turn {
        let mut limits = self.opening.limits.clone();
        limits.compaction.prompt = self.opening.system.clone();
        limits.compaction.besides = self.adding();
        Turn {
            model: self.opening.model.clone(),
            toolbox: (self.opening.tools)(),
            workspace: self.opening.workspace.clone(),
            asker: self.asker.clone(),
            models: self.opening.models.clone(),
            witness: self.witness.clone(),
            scope: scope.clone(),
            events: self.watched(),
            steer: self.steer.clone(),
            hints: self.hints.clone(),
            limits,
        }
    }

    /// Takes in what comes while a turn runs.
    async fn meanwhile(&mut self, input: Input, scope: &Scope) {
        match input {
            Input::Answer { id, answer } => {
                self.asker.answer(id, answer);
            }
            Input::Attend { id } => self.asker.attend(id),
            Input::Steer(text) => self.steer.push(&text),
            Input::Interrupt => scope.cancel.cancel(),
            Input::Command(slash, _) if slash.name == "stop" => {
                scope.cancel.cancel();
                if let Some(told) = self.stop_background() {
                    self.notice(told);
                }
                self.stop_jobs_aside();
            }
            Input::Command(slash, rest) if matches!(slash.name, "queue" | "steer") => {
                let said = self.say_later(slash.name, &rest);
                self.notice(said);
            }
            Input::Command(slash, _) if slash.name == "agents" => {
                let said = self.agents(Some("running"));
                self.notice(said);
            }
            Input::Command(slash, _) if slash.name == "status" => {
                let said = self.status(Work::Runs).await;
                self.notice(said);
            }
            Input::Command(slash, rest) => {
                let said = self.tell(slash, &rest).await;
                self.notice(said);
            }
            Input::Quick { name, rest } => self.run_quick(&name, &rest),
            Input::Prompt(prompt) => self.busy(Said::typed(prompt), scope),
            Input::Skill { name, words } => {
                if let Some(prompt) = self.skill(&name, &words).await {
                    self.busy(prompt, scope);
                }
            }
            Input::Close => {}
        }
    }

    /// Guidance for the running turn.
    pub(crate) fn steer(&self, text: &str) {
        self.steer.push(text);
    }

    /// What becomes of a prompt that comes while a turn runs.
    fn busy(&mut self, prompt: Said, scope: &Scope) {
        match (self.opening.busy, prompt.message.content.as_ref()) {
            (Busy::Steer, Some(hermes_types::Content::Text(text))) => self.steer.push(text),
            (Busy::Interrupt, _) => {
                self.waiting.push_back(prompt);
                scope.cancel.cancel();
            }
            (Busy::Queue | Busy::Steer, _) => self.waiting.push_back(prompt),
        }
    }
}

fn is_leaving(input: &Input) -> bool {
    matches!(input, Input::Close)
        || matches!(input, Input::Command(slash, _) if slash.name == "quit")
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
