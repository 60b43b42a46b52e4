//! The servers that run: started, kept, replaced when the configuration changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use hermes_mcp::{
    Access, Catalog, Credentials, Endpoint, FileTokens, HttpFlavour, Sampler, Server, State,
    Status, SystemClock, stop_all,
};
use tokio::time::timeout;

use crate::config::{Auth, Entry, Problem, Servers};
use crate::redact::Secrets;
use crate::result::Caches;
use crate::sampling::{ChooseModel, Counters, ModelSampler};
use crate::toolset::{Listing, Toolset};

/// What every server is started with.
#[derive(Clone)]
pub struct Starter {
    pub around: hermes_mcp::Surroundings,
    /// Where tokens are kept.
    pub tokens: PathBuf,
    /// For OAuth; must not follow redirects.
    pub http: reqwest::Client,
    /// Finds models for servers that want to think; `None`: they may not.
    pub choose: Option<Arc<ChooseModel>>,
    pub caches: Caches,
}

/// All servers of a process. Cheap to clone; they stop with the last clone.
#[derive(Clone)]
pub struct LiveServers {
    starter: Arc<Starter>,
    state: Arc<Mutex<Running>>,
}

#[derive(Default)]
struct Running {
    servers: BTreeMap<String, One>,
    disabled: Vec<String>,
    problems: Vec<Problem>,
    /// The last snapshot, and the catalogues it was made of.
    tools: Arc<Toolset>,
    made_of: Vec<(String, Arc<Catalog>)>,
}

struct One {
    entry: Entry,
    server: Server,
    sampler: Option<Arc<ModelSampler>>,
}

/// What a changed configuration did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reload {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// Replaced, because their entry changed, or woken, because they were not connected.
    pub reconnected: Vec<String>,
}

impl std::fmt::Display for Reload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            ("reconnected", &self.reconnected),
            ("added", &self.added),
            ("removed", &self.removed),
        ];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        match parts.is_empty() {
            true => f.write_str("nothing changed"),
            false => f.write_str(&parts.join("; ")),
        }
    }
}

/// How one server is doing, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub name: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// A word of the table in the manual: `connected`, `parked`, …
    pub status: &'static str,
    pub error: Option<String>,
    /// `None` for a server that was never started.
    pub details: Option<Status>,
    pub sampling: Option<Counters>,
}

impl Starter {
    fn start(&self, entry: &Entry) -> One {
        let sampler = self
            .choose
            .as_ref()
            .filter(|_| entry.sampling.enabled)
            .map(|choose| {
                let policy = entry.sampling.clone();
                Arc::new(ModelSampler::new(
                    policy,
                    entry.secrets.clone(),
                    Arc::clone(choose),
                ))
            });
        let mut config = entry.server.clone();
        config.sampling = sampler.is_some();
        let around = hermes_mcp::Surroundings {
            sampler: sampler.clone().map(|sampler| sampler as Arc<dyn Sampler>),
            ..self.around.clone()
        };
        let credentials = match self.access(entry) {
            Some(access) => Credentials::OAuth(access),
            None => Credentials::Configured,
        };
        One {
            server: Server::start(config, credentials, &around),
            entry: entry.clone(),
            sampler,
        }
    }

    /// One server alone, for who needs no other.
    pub fn server(&self, entry: &Entry) -> Server {
        self.start(entry).server
    }

    /// What it takes to get at the tokens of a server, if it uses any.
    pub fn access(&self, entry: &Entry) -> Option<Access> {
        let (Auth::OAuth(oauth), Endpoint::Http(http)) = (&entry.auth, &entry.server.endpoint)
        else {
            return None;
        };
        Some(Access {
            server: entry.name().to_owned(),
            url: http.url.clone(),
            config: (**oauth).clone(),
            store: Arc::new(FileTokens::new(&self.tokens)),
            http: self.http.clone(),
            clock: Arc::new(SystemClock),
        })
    }
}

impl LiveServers {
    /// Starts every configured server. Nobody waits for any of them here.
    pub fn start(configured: Servers, starter: Starter) -> Self {
        let live = Self {
            starter: Arc::new(starter),
            state: Arc::default(),
        };
        let mut state = live.state();
        for entry in &configured.entries {
            state
                .servers
                .insert(entry.name().to_owned(), live.starter.start(entry));
        }
        state.disabled = configured.disabled;
        state.problems = configured.problems;
        drop(state);
        live
    }

    pub fn is_empty(&self) -> bool {
        self.state().servers.is_empty()
    }

    /// Waits until every server is connected or known not to be, but not longer than `limit`.
    pub async fn settled(&self, limit: Duration) {
        let servers = self.servers();
        // Who is late joins at the next turn.
        let _ = timeout(limit, join_all(servers.iter().map(Server::settled))).await;
    }

    /// The tools of all servers as of now. What did not change is the very same as before.
    pub fn tools(&self, is_built_in: &dyn Fn(&str) -> bool) -> Arc<Toolset> {
        let mut state = self.state();
        let catalogs: Vec<(String, Arc<Catalog>)> = (state.servers.iter())
            .map(|(name, one)| (name.clone(), Arc::clone(&one.server.catalog().borrow())))
            .collect();
        if !same(&catalogs, &state.made_of) {
            let listings = state
                .servers
                .values()
                .zip(&catalogs)
                .map(|(one, (_, catalog))| Listing {
                    entry: &one.entry,
                    catalog,
                    caller: Arc::new(one.server.clone()),
                });
            let listings: Vec<Listing<'_>> = listings.collect();
            let made = Toolset::build(&listings, &self.starter.caches, is_built_in, &state.tools);
            note_changes(&made, &state.tools);
            state.tools = Arc::new(made);
            state.made_of = catalogs;
        }
        Arc::clone(&state.tools)
    }

    /// Takes over a changed configuration: what is unchanged and well keeps its connection.
    pub async fn apply(&self, configured: Servers) -> Reload {
        let mut reload = Reload::default();
        let mut gone = Vec::new();
        let mut to_wake = Vec::new();
        {
            let mut state = self.state();
            let wanted = |name: &str| configured.entries.iter().any(|entry| entry.name() == name);
            let removed: Vec<String> = (state.servers.keys())
                .filter(|name| !wanted(name))
                .cloned()
                .collect();
            for name in removed {
                gone.extend(state.servers.remove(&name).map(|one| one.server));
                reload.removed.push(name);
            }
            for entry in &configured.entries {
                let name = entry.name().to_owned();
                match state.servers.get(&name) {
                    Some(one)
                        if one.entry == *entry && one.server.status().state == State::Ready => {}
                    Some(one)
                        if one.entry == *entry && one.server.status().state != State::Failed =>
                    {
                        to_wake.push(one.server.clone());
                        reload.reconnected.push(name);
                    }
                    known => {
                        match known {
                            Some(_) => reload.reconnected.push(name.clone()),
                            None => reload.added.push(name.clone()),
                        }
                        let one = self.starter.start(entry);
                        gone.extend(state.servers.insert(name, one).map(|one| one.server));
                    }
                }
            }
            state.disabled = configured.disabled;
            state.problems = configured.problems;
            state.made_of.clear();
        }
        join_all(to_wake.iter().map(Server::wake)).await;
        stop_all(&gone, self.starter.around.timing.stop_all).await;
        reload
    }

    /// Whether this configuration would change anything.
    pub fn differs(&self, configured: &Servers) -> bool {
        let state = self.state();
        let running = state.servers.values().map(|one| &one.entry);
        state.disabled != configured.disabled
            || state.problems != configured.problems
            || !running.eq(configured.entries.iter())
    }

    pub fn server(&self, name: &str) -> Option<Server> {
        self.state().servers.get(name).map(|one| one.server.clone())
    }

    /// What must not appear in any text about a server.
    pub(crate) fn secrets(&self, name: &str) -> Secrets {
        let state = self.state();
        let known = state.servers.get(name);
        known
            .map(|one| one.entry.secrets.and(one.server.secrets()))
            .unwrap_or_default()
    }

    pub fn reports(&self) -> Vec<Report> {
        let state = self.state();
        let mut reports: Vec<Report> = state.servers.values().map(One::report).collect();
        reports.extend(
            state
                .disabled
                .iter()
                .map(|name| Report::idle(name, "disabled", None)),
        );
        let problems = state.problems.iter();
        reports.extend(problems.map(|problem| {
            Report::idle(
                &problem.server,
                "failed",
                Some(format!("{}: {}", problem.key, problem.message)),
            )
        }));
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        reports
    }

    /// How many tools there are, and which servers are not there.
    pub fn summary(&self) -> String {
        let reports = self.reports();
        let details = || reports.iter().filter_map(|report| report.details.as_ref());
        let tools: usize = details().map(|details| details.tools).sum();
        let up = details()
            .filter(|details| details.state == State::Ready)
            .count();
        let is_down =
            |report: &&Report| !matches!(report.status, "connected" | "configured" | "disabled");
        let down = reports
            .iter()
            .filter(is_down)
            .map(|report| format!("; {}", report.line()));
        let down: String = down.collect();
        format!("{tools} tool(s) available from {up} server(s){down}")
    }

    /// How many servers are connected, and how many should be.
    pub fn standing(&self) -> (usize, usize) {
        let servers = self.servers();
        let is_up =
            |server: &&Server| matches!(server.status().state, State::Ready | State::Recycled);
        (servers.iter().filter(is_up).count(), servers.len())
    }

    /// Ends all connections.
    pub async fn stop(&self) {
        stop_all(&self.servers(), self.starter.around.timing.stop_all).await;
    }

    fn servers(&self) -> Vec<Server> {
        self.state()
            .servers
            .values()
            .map(|one| one.server.clone())
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, Running> {
        // Nothing in here can panic half-way, so a poisoned lock is as good as another.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server's name and what it offers.
type Named = (String, Arc<Catalog>);

fn same(one: &[Named], other: &[Named]) -> bool {
    let equal = |((a, x), (b, y)): (&Named, &Named)| a == b && Arc::ptr_eq(x, y);
    one.len() == other.len() && one.iter().zip(other).all(equal)
}

fn note_changes(now: &Toolset, before: &Toolset) {
    let changes = now.changes(before);
    if !changes.removed.is_empty() {
        tracing::warn!("MCP tools gone: {}", changes.removed.join(", "));
    }
    if !changes.added.is_empty() {
        tracing::info!("MCP tools added: {}", changes.added.join(", "));
    }
    for warning in &now.warnings {
        tracing::warn!("{warning}");
    }
}

impl One {
    fn report(&self) -> Report {
        let status = self.server.status();
        let transport = match &self.entry.server.endpoint {
            Endpoint::Stdio(_) => "stdio",
            Endpoint::Http(http) if http.flavour == HttpFlavour::Sse => "sse",
            Endpoint::Http(_) => "http",
        };
        Report {
            name: status.name.clone(),
            transport,
            status: word(status.state),
            error: status.last_error.clone(),
            details: Some(status),
            sampling: self.sampler.as_ref().map(|sampler| sampler.counters()),
        }
    }
}

impl Report {
    /// The server in a line.
    pub fn line(&self) -> String {
        let tools = self.details.as_ref().map_or(0, |details| details.tools);
        let error = self.error.as_ref().map(|error| format!(" ({error})"));
        format!(
            "{} {}, {tools} tools{}",
            self.name,
            self.status,
            error.unwrap_or_default()
        )
    }

    fn idle(name: &str, status: &'static str, error: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            transport: "",
            status,
            error,
            details: None,
            sampling: None,
        }
    }
}

/// The word people read for a state.
pub fn word(state: State) -> &'static str {
    match state {
        State::Connecting => "connecting",
        State::Ready => "connected",
        State::Reconnecting | State::Backoff => "reconnecting",
        State::Parked => "parked",
        State::NeedsAuth => "needs_auth",
        State::Recycled => "configured",
        State::Failed => "failed",
        State::Stopped => "disabled",
    }
}

impl std::fmt::Debug for LiveServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.state().servers.keys()).finish()
    }
}

impl std::fmt::Debug for Starter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starter")
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}
