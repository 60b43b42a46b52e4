//! The MCP servers of a home: read from its configuration, started, and kept up to date with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use hermes_home::config::{Document, Settings, assign};
use hermes_home::{Env, Home, yaml};
use hermes_mcp::{Client, Endpoint, Herd, SystemClock, Timing};
use hermes_mcp_tools::config::Auth;
use hermes_mcp_tools::{
    Caches, ChooseModel, Entry, LiveServers, Osv, Problem, Reload, Report, Servers, Starter,
    Surroundings, package,
};
use hermes_net::{Options, Reach, Redirects};
use hermes_session::{ReloadAsking, ToolServers};
use serde_json::Value;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::watch::Watch;
use crate::wire::App;

/// How long a reload waits for servers to connect; they go on without it.
const RELOAD_WAIT: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(10);

/// Where the configuration of servers comes from.
#[derive(Clone)]
pub struct Source {
    home: Home,
    env: Env,
    dir: PathBuf,
}

impl Source {
    pub fn of(app: &App) -> Self {
        Self {
            home: app.home.clone(),
            env: app.env.clone(),
            dir: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// The servers the file names.
    pub fn servers(&self) -> Servers {
        Servers::read(&self.section(), self.around())
    }

    /// One server, whether it is enabled or not.
    pub fn entry(&self, name: &str, value: &Value) -> Result<Entry, Problem> {
        Entry::read(name, value, self.around())
    }

    /// `mcp_servers` as its owner wrote it: references are filled in once, by whoever reads them.
    pub fn section(&self) -> Value {
        let file = Document::load(&self.home.config_path()).ok();
        let key = yaml::Path::parse("mcp_servers").ok();
        let section = file
            .as_ref()
            .zip(key.as_ref())
            .and_then(|(file, key)| file.get(key));
        section.cloned().unwrap_or_default()
    }

    fn around(&self) -> Surroundings<'_> {
        Surroundings {
            env: &self.env,
            home: &self.home,
            dir: &self.dir,
        }
    }

    /// The servers of the file as it is now; `None` while it cannot be read.
    fn reread(&self) -> Option<Servers> {
        let settings = Settings::load(&self.home, &self.env);
        settings.broken().is_none().then(|| self.servers())
    }

    fn changed_at(&self) -> Option<SystemTime> {
        std::fs::metadata(self.home.config_path())
            .and_then(|file| file.modified())
            .ok()
    }

    /// What servers are started with; `choose` finds models for those that want to think.
    pub fn starter(&self, servers: &Servers, choose: Option<Arc<ChooseModel>>) -> Result<Starter> {
        let version = env!("CARGO_PKG_VERSION");
        let reach = match servers.entries.iter().any(needs_the_web) {
            true => Reach::World,
            false => Reach::Loopback,
        };
        let http = hermes_net::client(&Options {
            redirects: Redirects::Never,
            ..Options::new(format!("HermesAgent/{version}"), CONNECT, reach)
        })?;
        let timing = Timing::default();
        let osv = Arc::new(Osv::new(http.clone(), &self.env, &self.home));
        Ok(Starter {
            around: hermes_mcp::Surroundings {
                client: Client {
                    name: "hermes".to_owned(),
                    version: version.to_owned(),
                },
                herd: Herd::new(Arc::new(SystemClock), &timing),
                timing,
                sampler: None,
                permission: Some(osv.permission()),
            },
            tokens: self.home.dir().join("mcp-tokens"),
            http,
            choose,
            caches: Caches::of(&self.home),
        })
    }
}

/// Whether something outside of this machine is asked about a server: its login, or whether its package is known
/// to be malware.
fn needs_the_web(entry: &Entry) -> bool {
    match &entry.server.endpoint {
        Endpoint::Http(_) => matches!(entry.auth, Auth::OAuth(_)),
        Endpoint::Stdio(stdio) => package(&stdio.program, &stdio.args).is_some(),
    }
}

/// The servers of a session.
pub struct Running {
    pub live: LiveServers,
    source: Source,
    _watch: Option<AbortOnDropHandle<()>>,
}

impl Running {
    /// Starts them all. Nobody waits for any of them here.
    pub fn start(source: Source, servers: Servers, starter: Starter, follow: Follow) -> Self {
        let live = LiveServers::start(servers, starter);
        let watch = match follow {
            Follow::Nothing => None,
            Follow::File(tell) => {
                let watch = watch(live.clone(), source.clone(), tell);
                Some(AbortOnDropHandle::new(TaskTracker::new().spawn(watch)))
            }
        };
        Self {
            live,
            source,
            _watch: watch,
        }
    }

    /// What the session can do about them.
    pub fn for_session(&self, app: &App) -> ToolServers {
        let (live, source) = (self.live.clone(), self.source.clone());
        let (reporting, home) = (self.live.clone(), app.home.clone());
        let asking = match app.settings.is_on("approvals.mcp_reload_confirm") {
            false => ReloadAsking::Never,
            true => ReloadAsking::First(Arc::new(move || {
                let changed = assign(&home, "approvals.mcp_reload_confirm", "false");
                changed.map(drop).map_err(|error| error.to_string())
            })),
        };
        ToolServers {
            report: Arc::new(move || reporting.reports().iter().map(Report::line).collect()),
            reload: Arc::new(move || Box::pin(reload(live.clone(), source.clone()))),
            asking,
        }
    }
}

/// Takes over the file as it is now, and says what that did.
async fn reload(live: LiveServers, source: Source) -> String {
    let Some(servers) = source.reread() else {
        return "config.yaml cannot be read; everything stays as it is".to_owned();
    };
    let reload = live.apply(servers).await;
    live.settled(RELOAD_WAIT).await;
    format!("{reload}; {}", live.summary())
}

/// What to do when the configuration changes.
pub enum Follow {
    Nothing,
    /// Apply it, or only say that it could be, and tell.
    File(Tell),
}

pub type Tell = Box<dyn Fn(News) + Send + Sync>;

/// What the watch over the configuration has to say.
pub enum News {
    Applied(Reload),
    /// The owner wants to decide.
    Waiting,
}

async fn watch(live: LiveServers, source: Source, tell: Tell) {
    let mut file = Watch::over(&source.home.config_path());
    let mut seen = source.changed_at();
    loop {
        file.changed().await;
        let now = source.changed_at();
        if now == seen {
            continue;
        }
        seen = now;
        let settings = Settings::load(&source.home, &source.env);
        let servers = source.servers();
        if settings.broken().is_some() || !live.differs(&servers) {
            continue;
        }
        match settings.is_on("mcp.auto_reload_on_config_change") {
            true => tell(News::Applied(live.apply(servers).await)),
            false => tell(News::Waiting),
        }
    }
}
