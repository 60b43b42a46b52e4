//! One child: a turn of its own, with its own conversation, hands and place in the record.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_agent::{Conversation, Events, Hints, Steer, Toolbox, Turn};
use hermes_store::NewSession;
use hermes_types::{
    Answer, Asker, CallCx, Message, ModelInfo, Pot, Purpose, Question, Scope, SessionId, Tool,
    TurnEnd,
};
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;

use super::args::{Role, Task};
use super::record::{Counted, Noted, Record, Stage};
use super::{ChildHands, Delegate, NAME, one_line};
use crate::begin::{Current, new_id};
use crate::journal::StoreJournal;
use crate::toolsets::Selection;

/// What no child gets: it cannot ask, has no memory, speaks to nobody, and starts nothing that acts on its own.
/// Only orchestrators get a way to delegate back.
const KEPT_BACK: &[&str] = &[NAME, "clarify", "memory", "send_message", "execute_code"];

/// How its row says that it is no conversation of the owner's.
const SOURCE: &str = "subagent";
const DELEGATED: &str = "_delegate_from";
const OVER: &str = "subagent_complete";

#[derive(Clone, Debug)]
pub(super) struct Child {
    pub id: SessionId,
    pub index: usize,
    pub task: Task,
    pub record: Record,
    pub scope: Scope,
    /// Where its conversation is stored; another row once it was made shorter.
    pub current: watch::Sender<Current>,
    pub started: Instant,
    /// The same by the clock that files are stamped with.
    pub since: SystemTime,
}

/// How a child's work ended by itself.
#[derive(Debug)]
pub(super) enum End {
    Turn(Box<TurnEnd>),
    /// It never got as far as a turn, or broke inside.
    Failed(String),
    /// It was stopped and did not end in time.
    Abandoned,
}

impl Child {
    pub fn new(index: usize, task: Task, cx: &CallCx) -> Self {
        let id = new_id();
        let pot = Pot {
            name: "this task",
            ..Pot::default()
        };
        Self {
            scope: Scope {
                session: id.clone(),
                purse: cx.scope.purse.inside(pot),
                ..cx.scope.child()
            },
            current: watch::Sender::new(Current {
                row: id.clone(),
                task: id.clone(),
            }),
            id,
            index,
            task,
            record: Record::default(),
            started: Instant::now(),
            since: SystemTime::now(),
        }
    }
}

/// Runs a child to its end and puts in order what it leaves. Ends soon after its scope is cancelled, whatever
/// the child does.
pub(super) async fn live(delegate: Delegate, child: Child, cx: CallCx) -> End {
    let end = {
        let work = AssertUnwindSafe(work(&delegate, &child, &cx)).catch_unwind();
        tokio::pin!(work);
        let grace = delegate.config.timing.grace;
        let ended = tokio::select! {
            ended = &mut work => Some(ended),
            () = child.scope.cancel.cancelled() => tokio::time::timeout(grace, &mut work).await.ok(),
        };
        match ended {
            Some(Ok(Ok(end))) => End::Turn(Box::new(end)),
            Some(Ok(Err(reason))) => End::Failed(reason),
            Some(Err(_)) => End::Failed("it failed internally".to_owned()),
            None => End::Abandoned,
        }
    };
    child.record.reached(Stage::Over);
    let services = &delegate.services;
    (services.farewell)(child.id.clone()).await;
    let row = child.current.borrow().row.clone();
    let ended = services.store.end_session(&row, OVER, Timestamp::now());
    if let Err(error) = ended.await {
        tracing::warn!("{}: {error}", child.id);
    }
    end
}

async fn work(delegate: &Delegate, child: &Child, cx: &CallCx) -> Result<TurnEnd, String> {
    let record = &child.record;
    let model = cx.models.client(&Purpose::Child);
    let model = model.map_err(|error| error.to_string())?;
    let info = model.info().clone();
    record.change(|known| {
        known.model = Some(info.clone());
        known.stage = Stage::MakingTools;
    });
    let cwd = cx.workspace.cwd();
    let hands = (delegate.services.hands)(cwd.clone()).await;
    let workspace = hands.workspace.clone();
    let toolbox = toolbox(delegate, hands, &child.task)?;
    let system = system(&child.task, &cwd);
    record.change(|known| {
        let schemas = toolbox.definitions();
        known.tools = schemas.iter().map(|tool| tool.name.clone()).collect();
        let bytes = schemas.iter().map(|tool| {
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        });
        known.preamble = (system.len(), bytes.sum());
        known.stage = Stage::Beginning;
    });
    let mut conversation = conversation(delegate, child, cx, (system, &info));
    let turn = Turn {
        model: Arc::new(Counted {
            inner: model,
            record: record.clone(),
        }),
        toolbox,
        workspace,
        asker: Arc::new(Nobody),
        models: cx.models.clone(),
        witness: delegate.witness.clone(),
        scope: child.scope.clone(),
        events: events(child, cx),
        steer: Steer::default(),
        hints: Arc::new(Mutex::new(Hints::new(cwd))),
        limits: delegate.config.limits.clone(),
    };
    let prompt = Message::user(child.task.goal.clone());
    Ok(turn.run(&mut conversation, prompt).await)
}

/// A fresh one, in a row that no list of conversations shows.
fn conversation(
    delegate: &Delegate,
    child: &Child,
    cx: &CallCx,
    (system, info): (String, &ModelInfo),
) -> Conversation {
    let parent = &cx.scope.session;
    let row = NewSession {
        model: Some(info.model.clone()),
        model_config: Some(json!({ DELEGATED: parent.as_str() })),
        system_prompt: Some(system.clone()),
        parent: Some(parent.clone()),
        ..NewSession::new(child.id.clone(), SOURCE)
    };
    let journal = Noted {
        inner: StoreJournal::new(
            delegate.services.store.clone(),
            row,
            delegate.config.limits.compaction.continuation,
            child.current.clone(),
        ),
        record: child.record.clone(),
    };
    Conversation::resume(system, Vec::new(), Arc::new(journal))
}

/// What happens in the child happens, one level down, in the call that started it.
fn events(child: &Child, cx: &CallCx) -> Events {
    let (record, progress) = (child.record.clone(), cx.progress.clone());
    let (call_id, index) = (cx.call_id.clone(), child.index);
    let goal = one_line(&child.task.goal);
    Events::new(move |event| {
        record.saw(&event);
        progress.child(hermes_types::Child {
            call_id: call_id.clone(),
            index,
            goal: goal.clone(),
            event: Box::new(event),
        });
    })
}

/// What was asked for out of what the parent has, without what no child gets.
fn toolbox(delegate: &Delegate, hands: ChildHands, task: &Task) -> Result<Toolbox, String> {
    let wanted = Selection::of(task.toolsets.iter().map(String::as_str), &[]);
    let all = task.toolsets.is_empty();
    let may_have = |name: &str| delegate.reach.covers(name) && !KEPT_BACK.contains(&name);
    let mut tools: Vec<Arc<dyn Tool>> = hands.tools;
    tools.retain(|tool| {
        let name = &tool.spec().name;
        may_have(name) && (all || wanted.allows(name))
    });
    let named = |server: &str| {
        let names_it = |name: &String| name.strip_prefix("mcp-").unwrap_or(name) == server;
        task.toolsets.iter().any(names_it)
    };
    let asked_for = !tools.is_empty() || hands.servers.iter().any(|(server, _)| named(server));
    if !all && !asked_for && task.role == Role::Leaf {
        return Err(format!(
            "You have no tools of the toolsets {}. Leave toolsets out to hand on all you have.",
            task.toolsets.join(", ")
        ));
    }
    let inherited = hands.servers.into_iter().filter(|(server, tool)| {
        let wanted = all || delegate.config.inherit_servers || named(server);
        wanted && may_have(&tool.spec().name)
    });
    tools.extend(inherited.map(|(_, tool)| tool));
    if task.role == Role::Orchestrator {
        let names: BTreeSet<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        tools.push(Arc::new(delegate.for_child(names)));
    }
    Ok(Toolbox::new(tools))
}

fn system(task: &Task, cwd: &Path) -> String {
    let Task { goal, context, .. } = task;
    let words = match context.as_str() {
        "" => goal.clone(),
        context => format!("{goal}\n\nWhat you must know for it:\n{context}"),
    };
    // The words of the task last: they may hold anything, also what looks like a place for ours.
    let text = include_str!("../prompts/child.md")
        .trim()
        .replace("{cwd}", &cwd.display().to_string())
        .replace("{task}", &words);
    match task.role {
        Role::Leaf => text,
        Role::Orchestrator => {
            let more = include_str!("../prompts/orchestrator.md").trim();
            format!("{text}\n\n{more}")
        }
    }
}

/// Nobody is there to be asked.
struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
        std::future::ready(Answer::Nobody).boxed()
    }
}
