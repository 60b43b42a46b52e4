//! Whole turns against a canned model and small real tools.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod compact;
mod guards;
mod ladder;
mod runs;
mod script;
mod tools;
mod turns;
mod valid;
mod witness;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::{Conversation, Events, Hints, Limits, Steer, Toolbox, Turn};
use hermes_testkit::doubles::{
    Canned, CannedModel, FixedAsker, MemoryJournal, MemoryWitness, MemoryWorkspace,
};
use hermes_types::{
    AgentEvent, Answer, Args, CallCx, Content, Message, Parallel, Role, Scope, Tool, ToolOutput,
    ToolSpec, TurnEnd,
};
use serde_json::{Value, json};

use crate::valid::assert_valid;

/// A tool made of a function.
struct Made {
    spec: ToolSpec,
    run: fn(Args, &CallCx) -> BoxFuture<'_, ToolOutput>,
}

impl Tool for Made {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        (self.run)(args, cx)
    }
}

fn tool(
    name: &str,
    parallel: Parallel,
    run: fn(Args, &CallCx) -> BoxFuture<'_, ToolOutput>,
) -> Arc<dyn Tool> {
    let spec = made_spec(name, parallel);
    Arc::new(Made { spec, run })
}

fn made_spec(name: &str, parallel: Parallel) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        toolset: "test",
        description: "for a test".to_owned(),
        parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        emoji: "⚡",
        parallel,
        idempotent: name.starts_with("read"),
        housekeeping: name == "todo",
        refundable: false,
        paths: |args| {
            args.get("path")
                .and_then(Value::as_str)
                .map(PathBuf::from)
                .into_iter()
                .collect()
        },
        digest: |args, _| {
            args.get("path")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        },
        max_output: Some(100_000),
    }
}

/// The tools every test has.
fn toolbox() -> Toolbox {
    Toolbox::new([
        tool("echo", Parallel::Never, |args, _| {
            async move { ToolOutput::json(&Value::Object(args)) }.boxed()
        }),
        tool("fail", Parallel::Never, |_, _| {
            async { ToolOutput::failed("no luck") }.boxed()
        }),
        tool("panic", Parallel::Never, |_, _| {
            async { panic!("inside a tool") }.boxed()
        }),
        tool("hang", Parallel::Never, |_, _| {
            std::future::pending().boxed()
        }),
        tool("huge", Parallel::Never, |_, _| {
            async { ToolOutput::done("x".repeat(150_000)) }.boxed()
        }),
        tool("caller", Parallel::Never, |_, cx| {
            async move {
                cx.caller.call("huge", Args::new()).await;
                cx.caller.call("huge", Args::new()).await;
                cx.caller.call("nonsense", Args::new()).await
            }
            .boxed()
        }),
        tool("read_slow", Parallel::Always, |args, _| {
            async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                ToolOutput::done(args["n"].to_string())
            }
            .boxed()
        }),
        tool("read_same", Parallel::Always, |_, _| {
            async { ToolOutput::done("the same") }.boxed()
        }),
        tool("write_file", Parallel::ByPath, |args, cx| {
            async move {
                let path = cx.workspace.cwd().join(args["path"].as_str().unwrap());
                if path.ends_with("locked") {
                    return ToolOutput::failed("permission denied");
                }
                cx.workspace
                    .write(&path, args["content"].as_str().unwrap().as_bytes())
                    .await
                    .unwrap();
                ToolOutput::done("written")
            }
            .boxed()
        }),
        tool("read_file", Parallel::ByPath, |args, cx| {
            async move {
                let path = cx.workspace.cwd().join(args["path"].as_str().unwrap());
                let bytes = cx.workspace.read(&path, 0, 1000).await;
                bytes.map_or_else(
                    |e| ToolOutput::failed(e.to_string()),
                    |b| ToolOutput::done(String::from_utf8(b).unwrap()),
                )
            }
            .boxed()
        }),
        tool("todo", Parallel::Never, |_, _| {
            async { ToolOutput::done("{}") }.boxed()
        }),
    ])
}

/// A conversation and all that is around it.
struct Bench {
    model: Arc<CannedModel>,
    journal: Arc<MemoryJournal>,
    workspace: Arc<MemoryWorkspace>,
    conversation: Conversation,
    events: Arc<Mutex<Vec<AgentEvent>>>,
    witness: Arc<MemoryWitness>,
    scope: Scope,
    steer: Steer,
    limits: Limits,
}

impl Bench {
    fn new(canned: impl IntoIterator<Item = Canned>) -> Self {
        let journal = Arc::new(MemoryJournal::default());
        Self {
            model: CannedModel::new(canned),
            conversation: Conversation::resume("system".to_owned(), Vec::new(), journal.clone()),
            journal,
            workspace: MemoryWorkspace::with(&[]),
            events: Arc::default(),
            witness: Arc::default(),
            scope: Scope::new("s".into()),
            steer: Steer::default(),
            limits: Limits::default(),
        }
    }

    async fn turn(&mut self, prompt: &str) -> TurnEnd {
        self.message(Message::user(prompt)).await
    }

    async fn message(&mut self, prompt: Message) -> TurnEnd {
        let events = self.events.clone();
        let turn = Turn {
            model: self.model.clone(),
            toolbox: toolbox(),
            workspace: self.workspace.clone(),
            asker: FixedAsker::new(Answer::Deny),
            models: self.model.clone(),
            witness: Some(self.witness.clone()),
            scope: self.scope.clone(),
            events: Events::new(move |event| events.lock().unwrap().push(event)),
            steer: self.steer.clone(),
            hints: Arc::new(Mutex::new(Hints::new(PathBuf::from("/project")))),
            limits: self.limits.clone(),
        };
        let end = turn.run(&mut self.conversation, prompt).await;
        for request in self.model.requests() {
            assert_valid(&request);
        }
        end
    }

    /// The results of the last request, in order.
    fn results(&self) -> Vec<String> {
        let last = self.model.requests().pop().unwrap();
        last.messages
            .iter()
            .filter(|m| m.role == Role::Tool)
            .map(text)
            .collect()
    }
}

fn text(message: &Message) -> String {
    message
        .content
        .as_ref()
        .map(Content::plain)
        .unwrap_or_default()
}

/// A user's message with a small picture.
fn with_picture(text: &str) -> Message {
    let content = json!([
        {"type": "text", "text": text},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]);
    let mut message = Message::user(text);
    message.content = Some(serde_json::from_value(content).unwrap());
    message
}
