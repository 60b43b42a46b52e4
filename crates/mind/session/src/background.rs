//! `/background`: a task of its own beside the conversation, with the same model and tools.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hermes_agent::{Conversation, Events, Hints, Steer, Turn};
use hermes_home::clock;
use hermes_store::NewSession;
use hermes_types::{AgentEvent, Background, Message, Scope, SessionId};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::actor::Live;
use crate::begin::Current;
use crate::journal::StoreJournal;

/// Tasks that may run beside a conversation.
const MOST: usize = 8;

/// A task that was started; gone when nobody runs it any more.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    number: usize,
    goal: String,
    scope: Scope,
    began: Instant,
}

/// Those that run, and how many there have been.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    running: Arc<Mutex<Vec<Task>>>,
    started: usize,
}

impl Live {
    /// Starts a task; says so.
    pub(crate) fn start_background(&mut self, goal: &str) -> String {
        if goal.is_empty() {
            return "/background needs something to do".to_owned();
        }
        if self.tasks.list().len() >= MOST {
            return format!("{MOST} tasks are running already; /agents lists them");
        }
        self.tasks.started += 1;
        let number = self.tasks.started;
        let stamp = clock::now().strftime("%H%M%S");
        let id = SessionId::new(format!("bg_{stamp}_{:06x}", fastrand::u32(..1 << 24)));
        let task = Task {
            number,
            goal: goal.to_owned(),
            scope: Scope {
                session: id.clone(),
                ..self.work()
            },
            began: Instant::now(),
        };
        let (turn, conversation) = self.besides(&task, &id);
        self.tasks.add(task.clone());
        let (tasks, store) = (self.tasks.clone(), self.opening.store.clone());
        let prompt = Message::user(goal);
        self.aside.spawn(async move {
            run(turn, conversation, prompt).await;
            tasks.remove(number);
            let ended = store.end_session(&id, "background_complete", Timestamp::now());
            if let Err(error) = ended.await {
                tracing::warn!("{id}: {error}");
            }
        });
        format!(
            "background #{number} started ({}); /agents lists what runs",
            task.scope.session
        )
    }

    /// A turn with a conversation of its own.
    fn besides(&self, task: &Task, id: &SessionId) -> (Turn, Conversation) {
        let (events, number, goal) = (self.events.clone(), task.number, task.goal.clone());
        let told = Events::new(move |event| {
            let event = Box::new(event);
            let goal = goal.clone();
            events.send(AgentEvent::Background(Background {
                number,
                goal,
                event,
            }));
        });
        let mut limits = self.opening.limits.clone();
        // A memory outside knows of one conversation, which this is not.
        limits.compaction.prompt = self.opening.system.clone();
        let turn = Turn {
            limits,
            events: told,
            steer: Steer::default(),
            hints: Arc::new(Mutex::new(Hints::new(self.opening.workspace.cwd()))),
            ..self.prepare(&task.scope)
        };
        let info = self.opening.model.info();
        let system = self.opening.system.build(info).unwrap_or_default();
        let row = NewSession {
            model: Some(info.model.clone()),
            system_prompt: Some(system.clone()),
            ..NewSession::new(id.clone(), self.opening.source.clone())
        };
        let (row_of, task_of) = (id.clone(), id.clone());
        let current = watch::Sender::new(Current {
            row: row_of,
            task: task_of,
        });
        let continuation = self.opening.limits.compaction.continuation;
        let journal = StoreJournal::new(self.opening.store.clone(), row, continuation, current);
        (
            turn,
            Conversation::resume(system, Vec::new(), Arc::new(journal)),
        )
    }

    /// Ends all tasks; says how many there were.
    pub(crate) fn stop_background(&self) -> Option<String> {
        let running = self.tasks.list();
        for task in &running {
            task.scope.cancel.cancel();
        }
        match running.len() {
            0 => None,
            1 => Some("stopped 1 background task".to_owned()),
            n => Some(format!("stopped {n} background tasks")),
        }
    }

    /// `/agents`
    pub(crate) fn agents(&self, turn: Option<&str>) -> String {
        let turn = turn.map(|turn| format!("turn           {turn}"));
        let tasks = self.tasks.list();
        let tasks = tasks.iter().map(|task| {
            let (number, lasted) = (task.number, span(task.began.elapsed()));
            let goal: String = task.goal.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("background #{number}  {lasted}  {goal}")
        });
        let lines: Vec<String> = turn.into_iter().chain(tasks).collect();
        match lines.is_empty() {
            true => "nothing is running".to_owned(),
            false => lines.join("\n"),
        }
    }
}

async fn run(turn: Turn, mut conversation: Conversation, prompt: Message) {
    turn.run(&mut conversation, prompt).await;
}

impl Tasks {
    fn list(&self) -> Vec<Task> {
        self.lock().clone()
    }

    fn add(&self, task: Task) {
        self.lock().push(task);
    }

    fn remove(&self, number: usize) {
        self.lock().retain(|task| task.number != number);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Task>> {
        let running = self.running.lock();
        running.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}
