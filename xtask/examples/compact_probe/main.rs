//! What making a long conversation shorter costs us, for `cargo xtask bench`: everything but the model's own work and the
//! disk. Prints the milliseconds of CPU time each round took.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail, ensure};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use hermes_agent::{
    Conversation, Events, Focus, Hints, Limits, Passed, Redact, Steer, Toolbox, Turn,
};
use hermes_exec::files::{Cwd, LocalWorkspace};
use hermes_home::redact::Redactor;
use hermes_types::{
    Answer, Asker, Cost, Finish, Journal, Message, ModelClient, ModelError, ModelEvent, ModelInfo,
    ModelReply, ModelRequest, Models, Purpose, Question, Scope, SessionId, Shorter, Usage,
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let [messages, bytes, rounds] = args[..] else {
        bail!("MESSAGES BYTES ROUNDS");
    };
    let (messages, bytes, rounds): (usize, usize, usize) =
        (messages.parse()?, bytes.parse()?, rounds.parse()?);
    let mut times = Vec::new();
    for _ in 0..rounds {
        let mut conversation = Conversation::resume(
            "You help.".to_owned(),
            talk(messages, bytes)?,
            Arc::new(Nowhere),
        );
        let turn = turn();
        let before = cpu_ms()?;
        let passed = turn.compact(&mut conversation, Focus::Everything).await;
        times.push(cpu_ms()? - before);
        ensure!(matches!(passed, Passed::Shorter(_)), "{passed:?}");
        let left = conversation.messages().len();
        ensure!(left < messages / 2, "{left} messages are left");
    }
    println!("{}", json!(times));
    Ok(())
}

/// Question, call, result, answer, over and over; most of it is results, as it is in practice.
fn talk(messages: usize, bytes: usize) -> Result<Vec<Message>> {
    let each = bytes / messages;
    let line = "fn main() { let value = read(\"config.yaml\")?; println!(\"{value}\"); } // and a comment\n";
    let text = |size: usize| line.chars().cycle().take(size).collect::<String>();
    let one = |at: usize| -> Result<Message> {
        Ok(match at % 4 {
            0 => Message::user(format!("question {at}: {}", text(each / 4))),
            1 => {
                serde_json::from_value(json!({"role": "assistant", "content": "", "tool_calls": [
                    {"id": format!("call_{at}"), "type": "function", "function": {"name": "write_file",
                     "arguments": json!({"path": format!("/src/{at}.rs"), "content": text(each)}).to_string()}},
                ]}))?
            }
            2 => Message::tool(
                format!("call_{}", at - 1),
                "write_file",
                format!("{at}: {}", text(each * 2)),
            ),
            _ => Message::assistant(format!("answer {at}: {}", text(each / 2))),
        })
    };
    (0..messages).map(one).collect()
}

fn turn() -> Turn {
    let redactor = Redactor::default();
    let mut limits = Limits::default();
    limits.compaction.redact = Redact::new(move |text| redactor.apply(text).into_owned());
    let model: Arc<Notes> = Arc::default();
    Turn {
        model: model.clone(),
        toolbox: Toolbox::default(),
        workspace: Arc::new(LocalWorkspace::new(Cwd::new("/"))),
        asker: Arc::new(Nobody),
        models: model,
        witness: None,
        scope: Scope::new("probe".into()),
        events: Events::new(|_| {}),
        steer: Steer::default(),
        hints: Arc::new(Mutex::new(Hints::new("/".into()))),
        limits,
    }
}

/// CPU time of this thread, from the kernel's own account.
fn cpu_ms() -> Result<f64> {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = account.split_whitespace().next().context("no account")?;
    Ok(nanoseconds.parse::<f64>()? / 1e6)
}

/// A model that sums everything up at once.
struct Notes(ModelInfo);

impl Default for Notes {
    fn default() -> Self {
        Self(ModelInfo {
            provider: "probe".to_owned(),
            model: "notes".to_owned(),
            base_url: String::new(),
            context_length: 1_000_000,
        })
    }
}

impl ModelClient for Notes {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    fn stream(
        &self,
        _: ModelRequest,
        _: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let reply = ModelReply {
            message: Message::assistant("## Goal\nTo be short.\n".repeat(100)),
            finish: Finish::Stop,
            usage: Usage::default(),
            cost: Cost::default(),
        };
        stream::iter([Ok(ModelEvent::Done(reply))]).boxed()
    }
}

impl Models for Notes {
    fn client(&self, _: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        Ok(Arc::new(Self::default()))
    }
}

/// Asked nothing.
struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
        async { Answer::Deny }.boxed()
    }
}

/// The disk is measured elsewhere.
struct Nowhere;

impl Journal for Nowhere {
    fn append<'a>(&'a self, _: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        async { Ok(()) }.boxed()
    }

    fn rewrite<'a>(&'a self, _: &'a [Message]) -> BoxFuture<'a, Result<(), String>> {
        async { Ok(()) }.boxed()
    }

    fn compact<'a>(&'a self, _: Shorter<'a>) -> BoxFuture<'a, Result<Option<SessionId>, String>> {
        async { Ok(None) }.boxed()
    }

    fn usage<'a>(&'a self, _: &'a Usage, _: &'a Cost) -> BoxFuture<'a, Result<(), String>> {
        async { Ok(()) }.boxed()
    }
}
