//! What the supervisor of a server and its callers have in common.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Authorizer;
use crate::breaker::Breaker;
use crate::calls::locked;
use crate::config::ServerConfig;
use crate::failure::Failure;
use crate::generation::Generation;
use crate::herd::Herd;
use crate::link::Era;
use crate::redact::redact;
use crate::server::{Catalog, State};
use crate::storm::StormGuard;
use crate::timing::Timing;

pub(crate) struct Shared {
    pub config: ServerConfig,
    pub timing: Timing,
    pub auth: Arc<dyn Authorizer>,
    pub herd: Herd,
    /// Written by the supervisor alone.
    pub view: watch::Sender<View>,
    pub catalog: watch::Sender<Arc<Catalog>>,
    pub commands: mpsc::Sender<Command>,
    pub stop: CancellationToken,
    /// The supervisor itself.
    pub supervisor: TaskTracker,
    /// Desks and farewells: short-lived work nobody waits for, except who stops the server.
    pub tasks: TaskTracker,
    pub next_generation: AtomicU64,
    breaker: Mutex<Breaker>,
    storm: Mutex<StormGuard>,
    last_wake: Mutex<Option<Instant>>,
}

/// What callers see of the supervisor's state.
#[derive(Clone)]
pub(crate) struct View {
    pub state: State,
    /// The connection to use, while there is one.
    pub generation: Option<Arc<Generation>>,
    /// The last connection there was.
    pub number: u64,
    /// Attempts to connect that have ended.
    pub attempts: u64,
    /// When the next attempt comes by itself.
    pub until: Option<Instant>,
    pub last_error: Option<Failure>,
    pub era: Option<Era>,
}

/// What callers ask of the supervisor.
#[derive(Debug)]
pub(crate) enum Command {
    /// Replace this connection, if it is still the one in use.
    Renew {
        generation: u64,
        manner: Manner,
        why: Failure,
    },
    /// Find out whether this connection survived.
    Check { generation: u64 },
    /// Try now instead of later.
    Wake,
    /// The credentials are dead.
    Refused(Failure),
    /// There may be new credentials.
    Login,
}

/// What becomes of calls on a connection that is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// They end: nothing can come of them.
    Cut,
    /// They may finish on the old connection.
    Drain,
    /// There are none, or they end; the server hears goodbye.
    Polite,
}

impl Shared {
    pub(crate) fn new(
        config: ServerConfig,
        timing: Timing,
        auth: Arc<dyn Authorizer>,
        herd: Herd,
        commands: mpsc::Sender<Command>,
    ) -> Self {
        let view = View {
            state: State::Connecting,
            generation: None,
            number: 0,
            attempts: 0,
            until: None,
            last_error: None,
            era: None,
        };
        Self {
            config,
            timing,
            auth,
            herd,
            view: watch::Sender::new(view),
            catalog: watch::Sender::new(Arc::default()),
            commands,
            stop: CancellationToken::new(),
            supervisor: TaskTracker::new(),
            tasks: TaskTracker::new(),
            next_generation: AtomicU64::new(0),
            breaker: Mutex::default(),
            storm: Mutex::default(),
            last_wake: Mutex::default(),
        }
    }

    pub(crate) fn breaker(&self) -> MutexGuard<'_, Breaker> {
        locked(&self.breaker)
    }

    pub(crate) fn storm(&self) -> MutexGuard<'_, StormGuard> {
        locked(&self.storm)
    }

    pub(crate) async fn order(&self, command: Command) {
        // A supervisor that is gone takes no orders; whoever waits for its work sees that it stopped.
        let _ = self.commands.send(command).await;
    }

    /// Why there is no connection, for people.
    pub(crate) fn reason(&self, failure: Option<&Failure>) -> String {
        match failure {
            Some(failure) => self.redacted(&failure.to_string()),
            None => "no connection yet".to_owned(),
        }
    }

    /// Whether a caller may hurry the supervisor now.
    pub(crate) fn may_wake(&self) -> bool {
        let mut last = locked(&self.last_wake);
        let now = Instant::now();
        let is_due = last.is_none_or(|last| now.duration_since(last) >= self.timing.wake_gap);
        if is_due {
            *last = Some(now);
        }
        is_due
    }

    /// Announces what the server offers; nobody is told about what did not change.
    pub(crate) fn offer(&self, catalog: Catalog) {
        self.catalog.send_if_modified(|known| {
            let is_new = **known != catalog;
            if is_new {
                *known = Arc::new(catalog);
            }
            is_new
        });
    }

    pub(crate) fn has_tools(&self) -> bool {
        !self.catalog.borrow().tools.is_empty()
    }

    /// The text without anything that must not be read.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let tokens = self.auth.secrets();
        let mut secrets = self.config.secrets();
        secrets.extend(tokens.iter().map(|token| token.expose()));
        redact(text, &secrets)
    }

    pub(crate) fn redact(&self, mut failure: Failure) -> Failure {
        failure.message = self.redacted(&failure.message);
        failure
    }
}
