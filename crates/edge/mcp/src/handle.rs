//! The handle on a server: what a program holds.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, BoxFuture};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::DropGuard;

use crate::auth::{Authorizer, NoTokens};
use crate::call::Call;
use crate::config::{Endpoint, Secret, ServerConfig};
use crate::failure::Failure;
use crate::handshake::{Client, Introduction};
use crate::herd::Herd;
use crate::http::HttpDial;
use crate::link::{Dial, Inbox, Link};
use crate::oauth::{Access, OAuth};
use crate::operation::Operation;
use crate::server::{CallContext, CallError, Catalog, Reply, Sampler, State, Status};
use crate::shared::{Command, Shared};
use crate::stdio::StdioDial;
use crate::supervisor::{Permission, Progressing, Supervisor};
use crate::timing::Timing;

/// Orders that may wait for the supervisor; it takes them at once.
const ORDERS: usize = 64;

/// What a server needs of the program it serves.
#[derive(Clone)]
pub struct Surroundings {
    pub client: Client,
    pub timing: Timing,
    pub herd: Herd,
    /// Thinks for servers that ask for it.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Asked before every connect.
    pub permission: Option<Permission>,
}

/// A server that is kept connected for as long as a handle on it lives. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    /// Stops the supervisor with the last handle.
    _stop: Arc<DropGuard>,
}

/// How a server is told who asks.
#[derive(Clone)]
pub enum Credentials {
    /// With the configured headers, if any.
    Configured,
    OAuth(Access),
}

impl Server {
    /// Starts to connect, and keeps at it. Must be called inside a tokio runtime.
    pub fn start(config: ServerConfig, credentials: Credentials, around: &Surroundings) -> Self {
        let auth: Arc<dyn Authorizer> = match credentials {
            Credentials::Configured => Arc::new(NoTokens {
                headers: header_names(&config),
            }),
            Credentials::OAuth(access) => Arc::new(OAuth::new(access, around.timing.token_poll)),
        };
        let dial = dial(&config, &auth, &around.timing);
        Self::start_with(config, dial, auth, around)
    }

    pub(crate) fn start_with(
        config: ServerConfig,
        dial: Arc<dyn Dial>,
        auth: Arc<dyn Authorizer>,
        around: &Surroundings,
    ) -> Self {
        let (commands, orders) = mpsc::channel(ORDERS);
        let introduction = Introduction::new(around.client.clone(), &config);
        let (timing, herd) = (around.timing.clone(), around.herd.clone());
        let shared = Arc::new(Shared::new(config, timing, auth, herd, commands));
        let supervisor = Supervisor {
            shared: Arc::clone(&shared),
            commands: orders,
            dial,
            introduction,
            sampler: around.sampler.clone(),
            permission: around.permission.clone(),
            era: None,
            herd_events: around.herd.events(),
            state: Progressing::new(),
        };
        shared.supervisor.spawn(supervisor.run());
        shared.supervisor.close();
        let stop = Arc::new(shared.stop.clone().drop_guard());
        Self {
            shared,
            _stop: stop,
        }
    }

    pub fn name(&self) -> &str {
        &self.shared.config.name
    }

    pub fn config(&self) -> &ServerConfig {
        &self.shared.config
    }

    /// Asks the server something, healing the connection if need be.
    pub async fn call(
        &self,
        operation: &Operation,
        context: &CallContext,
    ) -> Result<Reply, CallError> {
        Call::new(&self.shared, operation, context).run().await
    }

    pub fn status(&self) -> Status {
        let view = self.shared.view.borrow().clone();
        let now = Instant::now();
        let last_error = view
            .last_error
            .map(|failure| self.shared.redacted(&failure.to_string()));
        Status {
            name: self.name().to_owned(),
            state: view.state,
            generation: view.number,
            era: view.era,
            tools: self.shared.catalog.borrow().tools.len(),
            last_error,
            next_attempt: view.until.map(|until| until.saturating_duration_since(now)),
            breaker: self.shared.breaker().state(now, &self.shared.timing),
        }
    }

    /// Values only the connection knows, such as access tokens. They must not appear in any text.
    pub fn secrets(&self) -> Vec<Secret> {
        self.shared.auth.secrets()
    }

    /// What the server offers, and a signal when that changes.
    pub fn catalog(&self) -> watch::Receiver<Arc<Catalog>> {
        self.shared.catalog.subscribe()
    }

    /// Waits until the first connect is decided: the server is ready, or will not be soon.
    pub async fn settled(&self) -> State {
        let mut view = self.shared.view.subscribe();
        let settled = view.wait_for(|view| view.state != State::Connecting).await;
        settled.map_or(State::Stopped, |view| view.state)
    }

    /// Tries to connect now, if the server is waiting for its time.
    pub async fn wake(&self) {
        // A supervisor that is gone needs no waking.
        let _ = self.shared.commands.send(Command::Wake).await;
        let _ = self.shared.commands.send(Command::Login).await;
    }

    /// Ends the connection and waits until nothing is left of it.
    pub async fn stop(&self) {
        self.shared.stop.cancel();
        // What takes longer is cut off with the program.
        let _ = timeout(self.shared.timing.stop, self.shared.supervisor.wait()).await;
        // A new token that was sent must be stored; that is bounded by itself.
        self.shared.auth.settle().await;
    }
}

fn header_names(config: &ServerConfig) -> Vec<String> {
    match &config.endpoint {
        Endpoint::Http(http) => http.headers.keys().cloned().collect(),
        Endpoint::Stdio(_) => Vec::new(),
    }
}

fn dial(config: &ServerConfig, auth: &Arc<dyn Authorizer>, timing: &Timing) -> Arc<dyn Dial> {
    match &config.endpoint {
        Endpoint::Stdio(stdio) => Arc::new(StdioDial::new(config, stdio, timing.clone())),
        Endpoint::Http(http) => match HttpDial::new(config, http, timing.clone(), Arc::clone(auth))
        {
            Ok(dial) => Arc::new(dial),
            Err(failure) => Arc::new(NoWay(failure)),
        },
    }
}

/// A server that cannot be reached as it is configured. It has a state and a reason like any other.
struct NoWay(Failure);

impl Dial for NoWay {
    fn dial(&self, _: Inbox) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>> {
        Box::pin(future::ready(Err(self.0.clone())))
    }
}

/// Stops many servers at a time, within a bound for all of them.
pub async fn stop_all(servers: &[Server], limit: Duration) {
    let all = futures::future::join_all(servers.iter().map(Server::stop));
    // What takes longer is cut off with the program.
    let _ = timeout(limit, all).await;
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Configured => "Configured",
            Self::OAuth(_) => "OAuth",
        })
    }
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
