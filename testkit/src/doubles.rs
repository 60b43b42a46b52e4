//! Stand-ins for the seams: each does the least that is real.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use hermes_types::{
    Act, Answer, Args, Asker, CallCx, Cost, Exchange, FileError, Finish, FunctionCall, Journal,
    MemoryNews, MemoryProvider, Message, ModelClient, ModelError, ModelErrorKind, ModelEvent,
    ModelInfo, ModelReply, ModelRequest, Models, Progress, Purpose, Question, Scope, SessionId,
    Shorter, Stat, Tool, ToolCall, ToolCaller, ToolOutput, Usage, Whom, Witness, Workspace,
};
use serde_json::Value;

/// What [`CannedModel`] says next.
#[derive(Clone, Debug)]
pub enum Canned {
    Reply(ModelReply),
    Error(ModelError),
    /// Says nothing until it is cancelled.
    Hang,
}

/// A model that says what it was told to say, and remembers what it was asked.
#[derive(Debug)]
pub struct CannedModel {
    info: ModelInfo,
    canned: Mutex<VecDeque<Canned>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl CannedModel {
    pub fn new(canned: impl IntoIterator<Item = Canned>) -> Arc<Self> {
        Self::named("canned-1", 131_072, canned)
    }

    /// With a name and a window of its own.
    pub fn named(
        model: &str,
        context_length: u64,
        canned: impl IntoIterator<Item = Canned>,
    ) -> Arc<Self> {
        Arc::new(Self {
            info: ModelInfo {
                provider: "canned".to_owned(),
                model: model.to_owned(),
                base_url: String::new(),
                context_length,
            },
            canned: Mutex::new(canned.into_iter().collect()),
            requests: Mutex::default(),
        })
    }

    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Canned {
    pub fn text(text: &str) -> Self {
        Self::reply(Message::assistant(text), Finish::Stop)
    }

    /// Calls of tools, each with its arguments as the model would write them.
    pub fn calls(calls: &[(&str, &str)]) -> Self {
        let call = |(index, (name, arguments)): (usize, &(&str, &str))| ToolCall {
            id: format!("call_{index}"),
            kind: "function".to_owned(),
            function: FunctionCall {
                name: (*name).to_owned(),
                arguments: (*arguments).to_owned(),
                extra: serde_json::Map::new(),
            },
            extra: serde_json::Map::new(),
        };
        let message = Message {
            tool_calls: calls.iter().enumerate().map(call).collect(),
            ..Message::assistant("")
        };
        Self::reply(message, Finish::ToolCalls)
    }

    pub fn reply(message: Message, finish: Finish) -> Self {
        let usage = Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        };
        Self::Reply(ModelReply {
            message,
            finish,
            usage,
            cost: Cost::default(),
        })
    }

    /// The same reply at a price; everything else stays as it is.
    #[must_use]
    pub fn costing(mut self, usd: f64) -> Self {
        if let Self::Reply(reply) = &mut self {
            reply.cost = Cost {
                usd: Some(usd),
                status: "estimated".to_owned(),
                source: "test".to_owned(),
                ..Cost::default()
            };
        }
        self
    }

    pub fn error(kind: ModelErrorKind) -> Self {
        Self::Error(ModelError::new(kind, format!("{kind:?}")))
    }
}

impl ModelClient for CannedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: ModelRequest,
        scope: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let next = self.canned.lock().unwrap().pop_front();
        if next.is_none() && request.whom == Whom::Next {
            let nobody = ModelError::new(ModelErrorKind::NotConfigured, "there is nobody else");
            return stream::iter([Err(nobody)]).boxed();
        }
        self.requests.lock().unwrap().push(request);
        match next {
            Some(Canned::Reply(reply)) => {
                scope.purse.pay(reply.cost.usd);
                let text = reply
                    .message
                    .content
                    .as_ref()
                    .map(hermes_types::Content::plain)
                    .unwrap_or_default();
                let text = (!text.is_empty()).then_some(Ok(ModelEvent::Text(text)));
                stream::iter(text.into_iter().chain([Ok(ModelEvent::Done(reply))])).boxed()
            }
            Some(Canned::Error(error)) => stream::iter([Err(error)]).boxed(),
            Some(Canned::Hang) => stream::once(async move {
                scope.cancel.cancelled().await;
                Err(ModelError::new(ModelErrorKind::Cancelled, "cancelled"))
            })
            .boxed(),
            None => stream::iter([Err(ModelError::new(
                ModelErrorKind::Unknown,
                "the canned model has nothing left to say",
            ))])
            .boxed(),
        }
    }
}

impl Models for CannedModel {
    fn client(&self, _: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        Err(ModelError::new(
            ModelErrorKind::NotConfigured,
            "no other model in this test",
        ))
    }
}

/// The same model for every side task.
#[derive(Debug)]
pub struct SideModel(pub Arc<CannedModel>);

impl Models for SideModel {
    fn client(&self, _: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        Ok(self.0.clone())
    }
}

/// Keeps everything in memory.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    messages: Mutex<Vec<Message>>,
    usage: Mutex<Vec<Usage>>,
}

impl MemoryJournal {
    pub fn messages(&self) -> Vec<Message> {
        self.messages.lock().unwrap().clone()
    }

    pub fn usage(&self) -> Vec<Usage> {
        self.usage.lock().unwrap().clone()
    }
}

impl Journal for MemoryJournal {
    fn append<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        self.messages.lock().unwrap().push(message.clone());
        async { Ok(()) }.boxed()
    }

    fn rewrite<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<(), String>> {
        *self.messages.lock().unwrap() = messages.to_vec();
        async { Ok(()) }.boxed()
    }

    fn compact<'a>(
        &'a self,
        shorter: Shorter<'a>,
    ) -> BoxFuture<'a, Result<Option<SessionId>, String>> {
        *self.messages.lock().unwrap() = shorter.messages.to_vec();
        async { Ok(None) }.boxed()
    }

    fn usage<'a>(&'a self, usage: &'a Usage, _: &'a Cost) -> BoxFuture<'a, Result<(), String>> {
        self.usage.lock().unwrap().push(*usage);
        async { Ok(()) }.boxed()
    }
}

/// Files in memory.
#[derive(Debug, Default)]
pub struct MemoryWorkspace {
    files: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    cwd: Option<PathBuf>,
}

impl MemoryWorkspace {
    pub fn with(files: &[(&str, &str)]) -> Arc<Self> {
        let files = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()));
        Arc::new(Self {
            files: Mutex::new(files.collect()),
            cwd: None,
        })
    }

    /// Without files, in a directory of this machine.
    pub fn at(cwd: impl Into<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            files: Mutex::default(),
            cwd: Some(cwd.into()),
        })
    }

    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let files = self.files.lock().unwrap();
        files
            .get(path.as_ref())
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

impl Workspace for MemoryWorkspace {
    fn cwd(&self) -> PathBuf {
        self.cwd.clone().unwrap_or_else(|| "/project".into())
    }

    fn read<'a>(
        &'a self,
        path: &'a Path,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        let files = self.files.lock().unwrap();
        let found = files.get(path).map(|bytes| {
            let start = usize::try_from(offset).unwrap().min(bytes.len());
            bytes[start..(start + max).min(bytes.len())].to_vec()
        });
        async move { found.ok_or_else(|| FileError::NotFound(path.to_owned())) }.boxed()
    }

    fn write<'a>(
        &'a self,
        path: &'a Path,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), FileError>> {
        self.files
            .lock()
            .unwrap()
            .insert(path.to_owned(), content.to_vec());
        async { Ok(()) }.boxed()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Stat, FileError>> {
        let files = self.files.lock().unwrap();
        let size = files.get(path).map(|bytes| bytes.len() as u64);
        let is_dir = size.is_none() && files.keys().any(|file| file.starts_with(path));
        async move {
            let size = size.or(is_dir.then_some(0));
            Ok(Stat {
                size: size.ok_or_else(|| FileError::NotFound(path.to_owned()))?,
                modified: SystemTime::UNIX_EPOCH,
                is_dir,
            })
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        path: &'a Path,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, FileError>> {
        let files = self.files.lock().unwrap();
        let names = files.keys().filter_map(|file| {
            file.strip_prefix(path)
                .ok()?
                .iter()
                .next()?
                .to_str()
                .map(str::to_owned)
        });
        let names: Vec<_> = names.take(max).collect();
        async { Ok(names) }.boxed()
    }
}

/// Gives the same answer to everything, and remembers what was asked.
#[derive(Debug)]
pub struct FixedAsker {
    answer: Answer,
    asked: Mutex<Vec<Question>>,
}

impl FixedAsker {
    pub fn new(answer: Answer) -> Arc<Self> {
        Arc::new(Self {
            answer,
            asked: Mutex::default(),
        })
    }

    pub fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

impl Asker for FixedAsker {
    fn ask<'a>(&'a self, question: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
        self.asked.lock().unwrap().push(question);
        async { self.answer.clone() }.boxed()
    }
}

/// Keeps what it saw in memory.
#[derive(Debug, Default)]
pub struct MemoryWitness {
    acts: Mutex<Vec<Act>>,
    /// What it has to say about each.
    says: Option<String>,
}

impl MemoryWitness {
    /// Whoever writes nothing down, and says why.
    pub fn failing(reason: &str) -> Self {
        Self {
            says: Some(reason.to_owned()),
            ..Self::default()
        }
    }

    pub fn acts(&self) -> Vec<Act> {
        self.acts.lock().unwrap().clone()
    }
}

impl Witness for MemoryWitness {
    fn saw(&self, act: Act) -> BoxFuture<'_, Option<String>> {
        self.acts.lock().unwrap().push(act);
        async { self.says.clone() }.boxed()
    }
}

/// A memory outside that recalls what it was told to, and remembers what it heard.
#[derive(Default)]
pub struct CannedMemory {
    recalls: Option<Result<String, String>>,
    /// What it adds to a summary; empty: nothing.
    adds: String,
    tools: Vec<Arc<dyn Tool>>,
    heard: Mutex<Vec<Heard>>,
}

/// What [`CannedMemory`] was asked and told, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Asked(String),
    Kept(Exchange),
    News(MemoryNews),
    /// How many messages are about to be summed up.
    Going(usize),
}

impl CannedMemory {
    /// Recalls the same whatever it is asked.
    pub fn recalling(recalls: Result<&str, &str>) -> Self {
        let recalls = recalls.map(str::to_owned).map_err(str::to_owned);
        Self {
            recalls: Some(recalls),
            ..Self::default()
        }
    }

    /// Neither recalls nor takes in anything before its time is up.
    pub fn hanging() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_tools(self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let tools = tools.into_iter().collect();
        Self { tools, ..self }
    }

    #[must_use]
    pub fn adding(self, adds: &str) -> Self {
        let adds = adds.to_owned();
        Self { adds, ..self }
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    fn hear(&self, heard: Heard) {
        self.heard.lock().unwrap().push(heard);
    }
}

impl std::fmt::Debug for CannedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CannedMemory").finish_non_exhaustive()
    }
}

impl MemoryProvider for CannedMemory {
    fn name(&self) -> &str {
        "canned"
    }

    fn recall<'a>(&'a self, words: &'a str, _: &'a Scope) -> BoxFuture<'a, Result<String, String>> {
        self.hear(Heard::Asked(words.to_owned()));
        match self.recalls.clone() {
            Some(recalls) => async { recalls }.boxed(),
            None => std::future::pending().boxed(),
        }
    }

    fn keep<'a>(
        &'a self,
        exchange: &'a Exchange,
        _: &'a Scope,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.hear(Heard::Kept(exchange.clone()));
        match self.recalls {
            Some(_) => async { Ok(()) }.boxed(),
            None => std::future::pending().boxed(),
        }
    }

    fn before_summary<'a>(
        &'a self,
        messages: &'a [Message],
        _: &'a Scope,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.hear(Heard::Going(messages.len()));
        match self.recalls {
            Some(_) => async { Ok(self.adds.clone()) }.boxed(),
            None => std::future::pending().boxed(),
        }
    }

    fn noted<'a>(
        &'a self,
        news: &'a MemoryNews,
        _: &'a Scope,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.hear(Heard::News(news.clone()));
        async { Ok(()) }.boxed()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }
}

/// No tool calls another one.
#[derive(Debug)]
pub struct NoTools;

impl ToolCaller for NoTools {
    fn call<'a>(&'a self, name: &'a str, _: Args) -> BoxFuture<'a, ToolOutput> {
        async move { ToolOutput::failed(format!("no {name} in this test")) }.boxed()
    }
}

/// Answers the calls of tools by other tools, and remembers them.
pub struct CannedTools {
    answer: Box<AnswerCall>,
    calls: Mutex<Vec<(String, Value)>>,
}

/// What a call gives; `None`: it never ends.
type AnswerCall = dyn Fn(&str, &Args) -> Option<ToolOutput> + Send + Sync;

impl CannedTools {
    pub fn new(
        answer: impl Fn(&str, &Args) -> Option<ToolOutput> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            answer: Box::new(answer),
            calls: Mutex::default(),
        })
    }

    /// Gives back the arguments.
    pub fn echo() -> Arc<Self> {
        Self::new(|_, args| Some(ToolOutput::json(&Value::Object(args.clone()))))
    }

    pub fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().unwrap().clone()
    }
}

impl ToolCaller for CannedTools {
    fn call<'a>(&'a self, name: &'a str, args: Args) -> BoxFuture<'a, ToolOutput> {
        let answer = (self.answer)(name, &args);
        let call = (name.to_owned(), Value::Object(args));
        self.calls.lock().unwrap().push(call);
        match answer {
            Some(output) => async { output }.boxed(),
            None => std::future::pending().boxed(),
        }
    }
}

impl std::fmt::Debug for CannedTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CannedTools").finish_non_exhaustive()
    }
}

/// A call in session `one` that nobody watches, with this owner to ask.
pub fn cx_with(asker: Arc<dyn Asker>) -> CallCx {
    CallCx {
        scope: Scope::new("one".into()),
        call_id: "call_0".to_owned(),
        progress: Progress::silent(),
        workspace: MemoryWorkspace::with(&[]),
        asker,
        models: CannedModel::new([]),
        caller: Arc::new(NoTools),
    }
}
