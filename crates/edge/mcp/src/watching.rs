//! Watching a working connection: probes while it is silent, new lists when it says so, and orders of callers.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::config::Endpoint;
use crate::failure::{Class, Failure};
use crate::generation::Generation;
use crate::link::Era;
use crate::phase::Happening;
use crate::relist::Relist;
use crate::shared::{Command, Manner, Shared};

type Probe = BoxFuture<'static, Result<(), Failure>>;

/// The watch over one connection.
pub(crate) struct Watching<'a> {
    shared: &'a Arc<Shared>,
    current: Arc<Generation>,
    /// The server said that its tools changed.
    changed: Arc<Notify>,
    /// A question whether the connection still works.
    probe: Option<Probe>,
    relist: Relist,
    /// The stream on which a modern server tells changes.
    listening: BoxFuture<'static, ()>,
    /// When the silence is next looked at.
    keepalive: Option<Instant>,
}

/// How a watch ended.
pub(crate) struct End {
    pub happening: Happening,
    pub manner: Manner,
    pub failure: Option<Failure>,
    /// A mass event was the occasion.
    pub in_crowd: bool,
}

impl End {
    fn lost(failure: Failure, manner: Manner) -> Self {
        Self {
            happening: Happening::Lost,
            manner,
            failure: Some(failure),
            in_crowd: false,
        }
    }

    fn quiet(happening: Happening) -> Self {
        Self {
            happening,
            manner: Manner::Polite,
            failure: None,
            in_crowd: false,
        }
    }
}

impl<'a> Watching<'a> {
    pub(crate) fn new(
        shared: &'a Arc<Shared>,
        current: Arc<Generation>,
        changed: Arc<Notify>,
    ) -> Self {
        let keepalive = shared.config.keepalive;
        Self {
            listening: listen(Arc::clone(&current), shared.timing.relist_pause_max),
            keepalive: keepalive.map(|every| Instant::now() + every),
            relist: Relist::new(&shared.timing),
            shared,
            current,
            changed,
            probe: None,
        }
    }

    /// Watches until the connection has to go.
    pub(crate) async fn run(
        &mut self,
        commands: &mut mpsc::Receiver<Command>,
        herd: &mut watch::Receiver<u64>,
    ) -> End {
        let current = Arc::clone(&self.current);
        let closed = current.link.closed();
        tokio::pin!(closed);
        let mut in_crowd = false;
        loop {
            let (keepalive, unused_at) = (self.keepalive, self.unused_at());
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => return End::quiet(Happening::Stop),
                command = commands.recv() => match self.obey(command) {
                    Some(end) => return end,
                    None => continue,
                },
                failure = &mut closed => return End { in_crowd, ..End::lost(failure, Manner::Cut) },
                verdict = running(&mut self.probe) => {
                    self.probe = None;
                    if let Err(failure) = verdict {
                        return End { in_crowd, ..End::lost(failure, Manner::Cut) };
                    }
                    current.trust(self.shared.herd.count());
                    self.shared.breaker().succeeded();
                }
                () = at(keepalive) => self.keep_alive(),
                () = at(unused_at) => {
                    if self.is_unused() {
                        return End::quiet(Happening::Unused);
                    }
                }
                () = self.changed.notified() => self.relist.want(),
                listed = self.relist.next(&current) => {
                    if let Some(catalog) = listed {
                        self.shared.offer(catalog);
                    }
                }
                () = &mut self.listening => self.listening = Box::pin(std::future::pending()),
                Ok(()) = herd.changed() => {
                    in_crowd = true;
                    self.check_in_turn();
                }
            }
        }
    }

    fn obey(&mut self, command: Option<Command>) -> Option<End> {
        match command {
            None => Some(End::quiet(Happening::Stop)),
            Some(Command::Renew {
                generation,
                manner,
                why,
            }) if generation == self.current.number => Some(End::lost(why, manner)),
            Some(Command::Check { generation }) if generation == self.current.number => {
                let limit = self.shared.timing.liveness_probe;
                self.start_probe(limit);
                None
            }
            Some(Command::Refused(failure)) => Some(End {
                happening: Happening::Refused,
                ..End::lost(failure, Manner::Drain)
            }),
            // The rest is about connections that are gone already, or is the case anyway.
            Some(_) => None,
        }
    }

    /// Asks, if nothing was heard for the whole interval and nobody is waiting for an answer anyway.
    fn keep_alive(&mut self) {
        let Some(every) = self.shared.config.keepalive else {
            return;
        };
        let silence = self.current.silence();
        let now = Instant::now();
        if silence < every && self.current.calls.is_idle() {
            self.keepalive = Some(now + (every - silence));
            return;
        }
        if self.current.calls.is_idle() {
            let limit = self.shared.timing.keepalive_probe;
            self.start_probe(limit);
        }
        self.keepalive = Some(now + every);
    }

    fn start_probe(&mut self, limit: Duration) {
        if self.probe.is_none() {
            let current = Arc::clone(&self.current);
            self.probe = Some(Box::pin(async move { current.probe(limit).await }));
        }
    }

    /// After a mass event every connection is suspect, but not all are looked at in one instant.
    fn check_in_turn(&mut self) {
        let current = Arc::clone(&self.current);
        let herd = self.shared.herd.clone();
        let limit = self.shared.timing.liveness_probe;
        self.probe = Some(Box::pin(async move {
            let _turn = herd.turn().await;
            current.probe(limit).await
        }));
    }

    /// When the child may have been unused for long enough.
    fn unused_at(&self) -> Option<Instant> {
        let Endpoint::Stdio(stdio) = &self.shared.config.endpoint else {
            return None;
        };
        let idle = stdio
            .idle_limit
            .map(|limit| self.current.last_used() + limit);
        let old = stdio.lifetime.map(|limit| self.current.opened + limit);
        let due = match (idle, old) {
            (Some(idle), Some(old)) => Some(idle.min(old)),
            (one, other) => one.or(other),
        }?;
        // While a call is under way, look again a little later.
        match self.current.calls.is_idle() {
            true => Some(due),
            false => Some(due.max(Instant::now() + self.shared.timing.relist_pause)),
        }
    }

    fn is_unused(&self) -> bool {
        self.current.calls.is_idle()
    }
}

async fn running(probe: &mut Option<Probe>) -> Result<(), Failure> {
    match probe {
        Some(probe) => probe.await,
        None => std::future::pending().await,
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Keeps the stream open on which a modern server tells changes. Ends if the server knows no such thing.
fn listen(current: Arc<Generation>, pause: Duration) -> BoxFuture<'static, ()> {
    if current.hello.protocol.era != Era::Modern || !current.hello.tells_changes {
        return Box::pin(std::future::pending());
    }
    Box::pin(async move {
        loop {
            let filter = json!({
                "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            });
            let params = json!({"notifications": filter});
            let id = current.new_id();
            match current
                .request(id, "subscriptions/listen", params, Vec::new())
                .await
            {
                Err(failure) if failure.class == Class::App => return,
                _ => sleep(pause).await,
            }
        }
    })
}
