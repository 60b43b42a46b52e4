//! A session that can delegate, and a model that answers each conversation by what it is about.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};
use hermes_agent::{Limits, Toolbox};
use hermes_home::redact::Redactor;
use hermes_home::{Env, Modes};
use hermes_session::{
    Asking, Busy, ChildHands, ChildServices, Delegate, Delegation, Feed, Input, Live, MakeHands,
    Opening, Session, Timing, Titles, Which,
};
use hermes_store::{OpenOptions, Store};
use hermes_testkit::doubles::{Canned, CannedModel, FixedAsker, MemoryWorkspace};
use hermes_types::{
    AgentEvent, Answer, Args, CallCx, Content, Message, ModelClient, ModelError, ModelErrorKind,
    ModelEvent, ModelInfo, ModelRequest, Models, Parallel, Progress, Purpose, Role, Scope,
    SessionId, Tool, ToolCaller, ToolOutput, ToolSpec, TurnEnd,
};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

pub const PRICE: f64 = 0.25;

/// What the model does about a request.
pub enum Act {
    Say(Canned),
    /// Waits until somebody asked with this goal.
    After(&'static str, Canned),
}

type Answers = Box<dyn Fn(&ModelRequest) -> Act + Send + Sync>;

/// A model for all conversations at once.
pub struct Mind {
    info: ModelInfo,
    answers: Answers,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Mind {
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The requests of the conversation that began with this.
    pub fn asked(&self, goal: &str) -> Vec<ModelRequest> {
        let mut requests = self.requests();
        requests.retain(|request| first(request) == goal);
        requests
    }
}

/// What a conversation began with.
pub fn first(request: &ModelRequest) -> String {
    let user = request.messages.iter().find(|m| m.role == Role::User);
    user.map(text).unwrap_or_default()
}

pub fn text(message: &Message) -> String {
    message
        .content
        .as_ref()
        .map(Content::plain)
        .unwrap_or_default()
}

/// The result the conversation ends with, as JSON.
pub fn result(request: &ModelRequest) -> Option<Value> {
    let last = request.messages.last().filter(|m| m.role == Role::Tool)?;
    serde_json::from_str(&text(last)).ok()
}

/// Calls `delegate_task` first, and answers with what came of it.
pub fn delegating(request: &ModelRequest, args: &Value) -> Act {
    let after_tools = request
        .messages
        .last()
        .is_some_and(|m| m.role == Role::Tool);
    Act::Say(match after_tools {
        true => Canned::text("all done"),
        false => Canned::calls(&[("delegate_task", &args.to_string())]),
    })
}

impl ModelClient for Mind {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: ModelRequest,
        scope: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        scope.purse.pay(Some(PRICE));
        self.requests.lock().unwrap().push(request.clone());
        match (self.answers)(&request) {
            Act::Say(canned) => CannedModel::new([canned]).stream(request, scope),
            Act::After(goal, canned) => {
                let requests = self.requests.clone();
                stream::once(async move {
                    while !requests.lock().unwrap().iter().any(|r| first(r) == goal) {
                        tokio::task::yield_now().await;
                    }
                    CannedModel::new([canned]).stream(request, scope)
                })
                .flatten()
                .boxed()
            }
        }
    }
}

struct Minds(Arc<Mind>);

impl Models for Minds {
    fn client(&self, purpose: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        assert_eq!(*purpose, Purpose::Child);
        Ok(self.0.clone())
    }
}

/// A tool that says who called it.
struct Stub(ToolSpec);

pub fn stub(name: &str) -> Arc<dyn Tool> {
    Arc::new(Stub(ToolSpec {
        name: name.to_owned(),
        toolset: "test",
        description: String::new(),
        parameters: json!({"type": "object", "properties": {}}),
        emoji: "",
        parallel: Parallel::Never,
        idempotent: false,
        housekeeping: false,
        refundable: false,
        paths: |_| Vec::new(),
        digest: |_, _| String::new(),
        max_output: None,
    }))
}

impl Tool for Stub {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        std::future::ready(ToolOutput::done(cx.scope.session.to_string())).boxed()
    }
}

struct NoCaller;

impl ToolCaller for NoCaller {
    fn call<'a>(&'a self, name: &'a str, _: Args) -> BoxFuture<'a, ToolOutput> {
        std::future::ready(ToolOutput::failed(name)).boxed()
    }
}

/// What the hands of children are like.
pub enum Hands {
    Usual,
    /// They are never ready.
    Never,
}

pub struct World {
    dir: tempfile::TempDir,
    pub store: Store,
    pub mind: Arc<Mind>,
    pub workspace: Arc<MemoryWorkspace>,
    pub config: Delegation,
    pub hands: Hands,
    pub farewells: Arc<Mutex<Vec<SessionId>>>,
    pub tasks: TaskTracker,
}

impl World {
    pub async fn new(answers: impl Fn(&ModelRequest) -> Act + Send + Sync + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("state.db"), OpenOptions::default());
        let store = store.await.unwrap();
        let info = ModelInfo {
            provider: "canned".to_owned(),
            model: "canned-1".to_owned(),
            base_url: "https://me:sk-secret-123456789012345@x.test/v1".to_owned(),
            context_length: 131_072,
        };
        Self {
            dir,
            store,
            mind: Arc::new(Mind {
                info,
                answers: Box::new(answers),
                requests: Arc::default(),
            }),
            workspace: MemoryWorkspace::with(&[]),
            config: Delegation::default(),
            hands: Hands::Usual,
            farewells: Arc::default(),
            tasks: TaskTracker::new(),
        }
    }

    pub fn timing(self, timing: Timing) -> Self {
        let config = Delegation {
            timing,
            ..self.config
        };
        Self { config, ..self }
    }

    pub fn logs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.path().join("logs"));
        let entries = entries.into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub async fn open(&self) -> (Session, Live, Feed) {
        let toolbox = Toolbox::new([Arc::new(self.delegate()) as Arc<dyn Tool>, stub("memory")]);
        let opening = Opening {
            which: Which::New,
            source: "cli".to_owned(),
            asking: Asking::Nobody,
            busy: Busy::Queue,
            store: self.store.clone(),
            model: self.mind.clone(),
            models: Arc::new(Minds(self.mind.clone())),
            tools: Arc::new(move || toolbox.clone()),
            workspace: self.workspace.clone(),
            limits: Limits::default(),
            system: hermes_agent::Prompt::new(|_| "the prompt".to_owned()),
            switch: Arc::new(|_| {
                let error = ModelError::new(ModelErrorKind::NotConfigured, "no other model");
                std::future::ready(Err(error)).boxed()
            }),
            saved_dir: self.dir.path().join("saved"),
            titles: Titles::None,
        };
        Session::open(opening).await.unwrap()
    }

    /// The tool itself, and what a call of it in this scope may use.
    pub fn call(&self, scope: Scope) -> (Delegate, CallCx) {
        let cx = CallCx {
            scope,
            call_id: "call_0".to_owned(),
            progress: Progress::silent(),
            workspace: self.workspace.clone(),
            asker: FixedAsker::new(Answer::Nobody),
            models: Arc::new(Minds(self.mind.clone())),
            caller: Arc::new(NoCaller),
        };
        (self.delegate(), cx)
    }

    fn delegate(&self) -> Delegate {
        let farewells = self.farewells.clone();
        let services = ChildServices {
            store: self.store.clone(),
            hands: self.make_hands(),
            stale: Arc::new(|session, _| {
                assert!(!session.as_str().is_empty());
                (0..10)
                    .map(|n| Path::new("/f").join(n.to_string()))
                    .collect()
            }),
            farewell: Arc::new(move |id| {
                farewells.lock().unwrap().push(id);
                std::future::ready(()).boxed()
            }),
            logs: self.dir.path().join("logs"),
            modes: Modes::from_env(&Env::default(), None),
            redactor: Redactor::default(),
            tasks: self.tasks.clone(),
        };
        Delegate::new(services, self.config.clone())
    }

    fn make_hands(&self) -> MakeHands {
        let never = matches!(self.hands, Hands::Never);
        let workspace = self.workspace.clone();
        Arc::new(move |dir: PathBuf| {
            assert_eq!(dir, Path::new("/project"));
            let kept_back = ["delegate_task", "clarify", "memory", "send_message"];
            let names = ["read_file", "terminal", "execute_code"]
                .iter()
                .chain(&kept_back);
            let hands = ChildHands {
                workspace: workspace.clone(),
                tools: names.map(|name| stub(name)).collect(),
                servers: vec![("github".to_owned(), stub("mcp__github__issues"))],
            };
            match never {
                true => std::future::pending().boxed(),
                false => std::future::ready(hands).boxed(),
            }
        })
    }

    /// One turn; all events, the end last.
    pub async fn turn(&self, prompt: &str) -> (SessionId, Vec<AgentEvent>) {
        let (session, live, feed) = self.open().await;
        let id = session.id();
        let face = async {
            session.send(Input::Prompt(Message::user(prompt))).await;
            let events = events_of_turn(&feed).await;
            session.send(Input::Close).await;
            events
        };
        let all = async { tokio::join!(face, live.run()).0 };
        let events = tokio::time::timeout(Duration::from_secs(20), all).await;
        (id, events.expect("the turn never ended"))
    }

    /// One turn in which these tasks are handed on, and the result of that.
    pub async fn delegated(&self, prompt: &str) -> Value {
        let (_, events) = self.turn(prompt).await;
        let asked = self.mind.asked(prompt);
        result(asked.last().unwrap()).unwrap_or_else(|| panic!("{:?}", events.last()))
    }
}

pub async fn events_of_turn(feed: &Feed) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    while let Some(event) = feed.next().await {
        let over = matches!(event, AgentEvent::TurnEnded(_));
        events.push(event);
        if over {
            break;
        }
    }
    events
}

pub fn end(events: &[AgentEvent]) -> &TurnEnd {
    match events.last() {
        Some(AgentEvent::TurnEnded(end)) => end,
        other => panic!("{other:?}"),
    }
}

/// The names of the tools a request offers.
pub fn offered(request: &ModelRequest) -> Vec<&str> {
    request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect()
}
