//! Calls whose answers go out on a line: the stream of HTTP+SSE, or the pipe of a child.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::call::Caller;
use super::fault::Fault;
use super::rpc::Rpc;
use super::session::{Open, Out, Outbox, Owner};
use super::spoil;
use super::state::{Inner, Shared};
use super::streamable::acknowledged;
use super::text::Text;

/// Calls a client may have going at once; more have to wait.
const MAX_CALLS: usize = 256;

#[derive(Debug)]
pub(crate) struct Work {
    pub rpc: Rpc,
    /// The fault that hit it.
    pub fault: Option<Fault>,
    /// Made with the call, so that no cancellation is too early.
    cancelled: oneshot::Receiver<()>,
}

impl Work {
    pub fn new(inner: &mut Inner, scope: &str, rpc: Rpc, fault: Option<Fault>) -> Self {
        let id = rpc.id.clone().unwrap_or_default();
        Self {
            cancelled: inner.cancellable(scope, &id),
            rpc,
            fault,
        }
    }
}

/// Where the answers go.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    pub shared: Arc<Shared>,
    pub outbox: Outbox,
    /// Of the child at the other end.
    pub env: Arc<BTreeMap<String, String>>,
    /// What tells its calls from those of others.
    pub scope: String,
}

impl Pipe {
    /// Answers calls side by side until there are no more to come.
    pub async fn run(&self, mut calls: mpsc::Receiver<Work>) {
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                work = calls.recv(), if running.len() < MAX_CALLS => match work {
                    None => return,
                    Some(work) => {
                        let pipe = self.clone();
                        running.spawn(async move { pipe.call(work).await });
                    }
                },
                Some(_) = running.join_next() => {}
            }
        }
    }

    async fn call(&self, work: Work) {
        if work.rpc.method == "subscriptions/listen" && work.rpc.is_modern() {
            return self.listen(work).await;
        }
        let (rpc, fault) = (&work.rpc, work.fault.as_ref());
        let answer = match fault.and_then(|fault| spoil::other_answer(fault, rpc)) {
            Some(answer) => answer,
            None => self.made(rpc, fault, work.cancelled).await,
        };
        let text = spoil::spoiled(fault, rpc, answer);
        for out in spoil::on_line(fault, text) {
            self.send(out).await;
        }
    }

    async fn made(
        &self,
        rpc: &Rpc,
        fault: Option<&Fault>,
        mut cancelled: oneshot::Receiver<()>,
    ) -> Value {
        let (messages, mut inbox) = mpsc::channel(64);
        let caller = Caller {
            shared: self.shared.clone(),
            messages,
            env: self.env.clone(),
        };
        let work = async {
            if fault == Some(&Fault::Held) {
                std::future::pending::<()>().await;
            }
            caller.answer(rpc).await
        };
        tokio::pin!(work);
        let say = |message: Value| self.send(Out::Say(Text::json(&message)));
        let answer = loop {
            tokio::select! {
                biased;
                Some(message) = inbox.recv() => say(message).await,
                answer = &mut work => break answer,
                Ok(()) = &mut cancelled => break rpc.error(0, "Request cancelled"),
            }
        };
        // What the call said with its last breath.
        while let Ok(message) = inbox.try_recv() {
            say(message).await;
        }
        answer
    }

    /// A subscription lasts until it is cancelled.
    async fn listen(&self, work: Work) {
        let id = work.rpc.id.clone().unwrap_or_default();
        let text = Text::json(&acknowledged(&work.rpc, &id));
        self.send(Out::Say(text)).await;
        let owner = Owner::Subscription(id);
        let _open = Open::new(&self.shared, self.outbox.clone(), owner);
        // Nothing to tell apart: cancelled, or the server is gone.
        let _ = work.cancelled.await;
    }

    async fn send(&self, out: Out) {
        // Nobody reads a line that is gone.
        let _ = self.outbox.send(out).await;
    }
}
