//! A connection to a child, as the rest of the crate sees it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, BoxFuture};
use hermes_proc::{Piped, Watched};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::error_log::ErrorLog;
use super::keeper::{Keeper, Orders, Outgoing};
use super::pending::{Outcome, Pending};
use super::reader::Reader;
use crate::config::ServerConfig;
use crate::failure::{Class, Failure};
use crate::link::{Inbox, Link, Protocol, Request, SideProbe};

/// Messages waiting for a child that does not read. Whoever comes later waits where it can be called off.
const QUEUE: usize = 64;

/// Dropping it kills the child and all it started.
pub(super) struct StdioLink {
    pending: Arc<Pending>,
    lines: mpsc::Sender<Outgoing>,
    orders: Orders,
    /// The keeper and the reader, ended when dropped.
    _tasks: JoinSet<()>,
}

/// A child that was just started.
pub(super) struct Started {
    pub config: Arc<ServerConfig>,
    pub piped: Piped,
    pub watched: Option<Watched>,
    pub error_log: Option<ErrorLog>,
    /// How long the child may take to go after its input was closed.
    pub farewell: Duration,
}

impl StdioLink {
    pub(super) fn new(started: Started, inbox: Inbox) -> Self {
        let pending = Arc::new(Pending::default());
        let orders = Orders::default();
        let (lines, queue) = mpsc::channel(QUEUE);
        let (ended, output_end) = oneshot::channel();
        let reader = Reader::new(started.config, Arc::clone(&pending), inbox, lines.clone());
        let keeper = Keeper {
            process: started.piped.process,
            input: Some(started.piped.input),
            writing: None,
            written: 0,
            queue,
            output_end,
            pending: Arc::clone(&pending),
            orders: orders.clone(),
            error_log: started.error_log,
            farewell: started.farewell,
            _watched: started.watched,
        };
        let output = started.piped.output;
        let gone = orders.gone.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // Somebody who left the group may hold the output open for ever.
            if let Some(end) = gone.run_until_cancelled(reader.run(output)).await {
                // The keeper may have ended first.
                let _ = ended.send(end);
            }
        });
        tasks.spawn(keeper.run());
        Self {
            pending,
            lines,
            orders,
            _tasks: tasks,
        }
    }

    async fn exchange(&self, request: Request) -> Outcome {
        let mut slot = self.pending.enter(request.id)?;
        let outgoing = Outgoing {
            line: line(&request.message()),
            id: Some(request.id),
        };
        tokio::select! {
            biased;
            outcome = slot.answer() => return outcome,
            // If the keeper is gone, the slot knows why.
            _ = self.lines.send(outgoing) => {}
        }
        slot.answer().await
    }

    async fn tell(&self, message: Value) -> Result<(), Failure> {
        let line = line(&message);
        match self.lines.send(Outgoing { line, id: None }).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Failure {
                class: Class::NotSent,
                ..self.pending.ended().await
            }),
        }
    }
}

impl Link for StdioLink {
    fn request(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(self.exchange(request))
    }

    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(self.tell(message))
    }

    fn agreed(&self, _: &Protocol) {}

    fn closed(&self) -> BoxFuture<'_, Failure> {
        Box::pin(self.pending.ended())
    }

    fn side_probe(&self) -> BoxFuture<'_, SideProbe> {
        // There is one way to a child, and its end is noticed anyway.
        Box::pin(future::ready(SideProbe::Inconclusive))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.orders.close.cancel();
        Box::pin(self.orders.gone.cancelled())
    }

    fn abandon(&self) -> BoxFuture<'_, ()> {
        self.orders.kill.cancel();
        Box::pin(self.orders.gone.cancelled())
    }
}

/// JSON has no raw line breaks, so the one at the end is the only one.
pub(super) fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
