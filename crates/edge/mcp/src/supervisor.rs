//! One task per server owns its connection: opens it, watches it, replaces it. It never gives up.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep_until, timeout};

use crate::config::ServerConfig;
use crate::failure::{Class, Failure};
use crate::generation::Generation;
use crate::handshake::Introduction;
use crate::link::{Dial, Era};
use crate::opening::{Opened, Opening};
use crate::phase::{Circumstances, Happening, Phase};
use crate::server::{Catalog, Sampler, State};
use crate::shared::{Command, Manner, Shared, View};
use crate::watching::Watching;

/// Asked before a server's program is started: whether it may be, and if not, why.
pub type Permission =
    Arc<dyn Fn(&ServerConfig) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// What the task owns.
pub(crate) struct Supervisor {
    pub shared: Arc<Shared>,
    pub commands: mpsc::Receiver<Command>,
    pub dial: Arc<dyn Dial>,
    pub introduction: Introduction,
    pub sampler: Option<Arc<dyn Sampler>>,
    pub permission: Option<Permission>,
    /// The era the server spoke last.
    pub era: Option<Era>,
    /// Mass events seen so far.
    pub herd_events: watch::Receiver<u64>,
    pub state: Progressing,
}

/// How far the task is.
pub(crate) struct Progressing {
    pub phase: Phase,
    pub current: Option<Arc<Generation>>,
    pub last_error: Option<Failure>,
    /// The next attempt follows a mass event and waits for its turn.
    pub in_crowd: bool,
    pub changed: Arc<Notify>,
}

impl Progressing {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::START,
            current: None,
            last_error: None,
            in_crowd: false,
            changed: Arc::new(Notify::new()),
        }
    }
}

impl Supervisor {
    /// Runs until the server is stopped.
    pub(crate) async fn run(mut self) {
        loop {
            self.publish();
            let happening = match self.state.phase {
                Phase::Opening { .. } => self.open().await,
                Phase::Ready => self.watch().await,
                Phase::Stopped => break,
                _ => self.wait().await,
            };
            self.enter(&happening);
        }
        self.shared.tasks.close();
        // Whoever stops the server has set a bound of its own.
        self.shared.tasks.wait().await;
    }

    fn enter(&mut self, happening: &Happening) {
        let around = Circumstances {
            now: tokio::time::Instant::now(),
            chance: fastrand::f64(),
            timing: &self.shared.timing,
        };
        let before = self.state.phase.state();
        self.state.phase = self.state.phase.after(happening, &around);
        let after = self.state.phase.state();
        if before != after {
            let why = self.state.last_error.as_ref().map(ToString::to_string);
            let why = self.shared.redacted(why.as_deref().unwrap_or("as asked"));
            match happening {
                Happening::Opened | Happening::Due | Happening::Stop | Happening::Unused => {
                    tracing::info!(
                        server = self.shared.config.name,
                        ?before,
                        ?after,
                        "mcp server"
                    );
                }
                _ => {
                    tracing::warn!(
                        server = self.shared.config.name,
                        ?before,
                        ?after,
                        why,
                        "mcp server"
                    );
                }
            }
        }
    }

    fn publish(&self) {
        let state = &self.state;
        self.shared.view.send_modify(|view| {
            *view = View {
                state: state.phase.state(),
                generation: state.current.clone(),
                number: state
                    .current
                    .as_ref()
                    .map_or(view.number, |current| current.number),
                attempts: view.attempts,
                until: state.phase.until(),
                last_error: state.last_error.clone(),
                era: self.era,
            };
        });
    }

    /// One attempt. Orders that come meanwhile are what it is about anyway.
    async fn open(&mut self) -> Happening {
        let limit = self.shared.config.connect_timeout;
        let in_crowd = std::mem::take(&mut self.state.in_crowd);
        let shared = Arc::clone(&self.shared);
        let attempt = async {
            let _turn = match in_crowd {
                true => shared.herd.turn().await,
                false => None,
            };
            let opening = Opening {
                shared: &shared,
                introduction: &self.introduction,
                sampler: self.sampler.clone(),
                permission: self.permission.clone(),
                changed: Arc::clone(&self.state.changed),
                known: self.era,
            };
            match timeout(limit, opening.open(Arc::clone(&self.dial))).await {
                Ok(opened) => opened,
                Err(_) => Err(too_slow(limit)),
            }
        };
        let opened = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return Happening::Stop,
            () = drain(&mut self.commands) => return Happening::Stop,
            opened = attempt => opened,
        };
        self.shared.view.send_modify(|view| view.attempts += 1);
        match opened {
            Ok(opened) => self.opened(opened),
            Err(failure) => {
                let class = failure.class.clone();
                self.state.last_error = Some(failure);
                Happening::Failed(class)
            }
        }
    }

    fn opened(&mut self, opened: Opened) -> Happening {
        self.era = Some(opened.generation.hello.protocol.era);
        self.dial = opened.dial;
        self.state.current = Some(Arc::new(opened.generation));
        self.state.last_error = None;
        self.shared.offer(opened.catalog);
        self.shared.breaker().succeeded();
        Happening::Opened
    }

    /// Watches a working connection until it has to be replaced.
    async fn watch(&mut self) -> Happening {
        let Some(current) = self.state.current.clone() else {
            return Happening::Lost;
        };
        let mut watching = Watching::new(
            &self.shared,
            Arc::clone(&current),
            Arc::clone(&self.state.changed),
        );
        let end = watching
            .run(&mut self.commands, &mut self.herd_events)
            .await;
        drop(watching);
        self.state.in_crowd = end.in_crowd;
        if end.failure.is_some() {
            self.state.last_error = end.failure;
        }
        self.state.current = None;
        // Before anything that takes time: nobody may start on a connection that is going away.
        self.shared.view.send_modify(|view| {
            view.generation = None;
            view.state = State::Reconnecting;
        });
        self.part(current, end.manner).await;
        end.happening
    }

    /// Lets a connection go. A child must be gone before the next one starts; a polite farewell takes its time
    /// where nobody waits for it.
    async fn part(&self, generation: Arc<Generation>, manner: Manner) {
        let limit = self.shared.timing.stop;
        match manner {
            Manner::Cut => {
                generation.gone.cancel();
                // What does not end in time is killed when it is dropped.
                let _ = timeout(limit, generation.link.abandon()).await;
            }
            Manner::Polite => {
                generation.gone.cancel();
                let _ = timeout(limit, generation.link.close()).await;
            }
            Manner::Drain => {
                let longest = self.shared.config.max_timeout;
                self.shared.tasks.spawn(async move {
                    let _ = timeout(longest, generation.calls.idle()).await;
                    generation.gone.cancel();
                    let _ = timeout(limit, generation.link.close()).await;
                });
            }
        }
    }

    /// Waits for the time, a call, a login or the network.
    async fn wait(&mut self) -> Happening {
        let shared = Arc::clone(&self.shared);
        let until = self.state.phase.until();
        let forgotten = self.forgotten_at();
        loop {
            tokio::select! {
                biased;
                () = shared.stop.cancelled() => return Happening::Stop,
                command = self.commands.recv() => match command {
                    None => return Happening::Stop,
                    Some(Command::Login) => return Happening::NewCredentials,
                    Some(Command::Wake) => return Happening::Due,
                    Some(_) => {}
                },
                () = shared.auth.changed(), if self.state.phase == Phase::NeedsAuth => {
                    return Happening::NewCredentials;
                }
                () = at(until) => return Happening::Due,
                () = at(forgotten) => {
                    shared.offer(Catalog::default());
                    return Happening::Due;
                }
                Ok(()) = self.herd_events.changed() => {
                    self.state.in_crowd = true;
                    return Happening::Due;
                }
            }
        }
    }

    /// When the tools of a server that stays away are withdrawn, if that comes before its next attempt.
    fn forgotten_at(&self) -> Option<tokio::time::Instant> {
        let Phase::Parked { since, until, .. } = self.state.phase else {
            return None;
        };
        let limit = since + self.shared.timing.parked_tools_limit;
        (limit <= until && self.shared.has_tools()).then_some(limit)
    }
}

async fn at(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Takes orders out of the queue without doing anything; ends when nobody can give any more.
async fn drain(commands: &mut mpsc::Receiver<Command>) {
    while commands.recv().await.is_some() {}
}

fn too_slow(limit: std::time::Duration) -> Failure {
    let message = format!(
        "the server did not finish the handshake within {:.1} s",
        limit.as_secs_f64()
    );
    Failure::new(Class::Deadline, "Connect timeout", message)
}
