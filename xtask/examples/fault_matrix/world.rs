//! A server that fails on demand, and a client of the library that is kept connected to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use hermes_mcp::{
    Access, Answer, CallContext, CallError, Cause, Client, Clock, Credentials, Endpoint,
    FileTokens, Herd, HttpEndpoint, OAuthConfig, Operation, Reply, Secret, Server, ServerConfig,
    StdioEndpoint, Surroundings, Timing,
};
use hermes_mcp_tools::{Asked, Secrets, error_output};
use hermes_scripted::mcp::{Auth, Fault, Flaky, Options, Realm};
use serde_json::{Map, json};
use tokio::time::Instant;

/// How a cell is set up.
#[derive(Clone)]
pub struct Setup {
    pub code: &'static str,
    /// How many times as fast the client's timing runs.
    pub pace: f64,
    /// Where `flaky-mcp` is.
    pub child: PathBuf,
}

pub struct World {
    pub flaky: Flaky,
    pub server: Server,
    pub clock: Arc<Moved>,
    /// Where tokens are kept.
    pub tokens: PathBuf,
    _dir: tempfile::TempDir,
}

/// One answer, judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The code of the matrix.
    pub outcome: &'static str,
    pub text: String,
    pub wall: Duration,
}

impl World {
    pub async fn new(setup: &Setup) -> Result<Self> {
        let fault = Fault::parse(setup.code)?;
        let flaky = Flaky::start(options(&fault))?;
        let dir = tempfile::tempdir()?;
        let tokens = dir.path().join("mcp-tokens");
        let clock = Arc::new(Moved::default());
        let timing = Timing::default().faster(setup.pace);
        let around = Surroundings {
            client: Client {
                name: "fault-matrix".to_owned(),
                version: "1".to_owned(),
            },
            herd: Herd::new(Arc::clone(&clock) as _, &timing),
            timing,
            sampler: None,
            permission: None,
        };
        let mut config = ServerConfig::new("faulty", endpoint(setup, &fault, &flaky, dir.path()));
        let scaled = |seconds: f64| Duration::from_secs_f64(seconds / setup.pace);
        config.timeout = scaled(30.0);
        config.connect_timeout = scaled(10.0);
        config.keepalive = Some(scaled(5.0));
        if setup.code == "F08" {
            // Nobody notices before the call: the harder half of the row.
            config.keepalive = None;
        }
        if matches!(setup.code, "F36") {
            config.max_response_bytes = 64 << 20;
        }
        let credentials = credentials(&fault, &flaky, &tokens, &clock)?;
        let server = Server::start(config, credentials, &around);
        server.settled().await;
        Ok(Self {
            flaky,
            server,
            clock,
            tokens,
            _dir: dir,
        })
    }

    pub async fn call(&self, operation: &Operation) -> Judged {
        self.call_with(operation, &CallContext::default()).await
    }

    pub async fn call_with(&self, operation: &Operation, context: &CallContext) -> Judged {
        let start = Instant::now();
        let answer = self.server.call(operation, context).await;
        judge(answer, start.elapsed())
    }

    /// How often the tool with a side effect was executed.
    pub fn writes(&self) -> u64 {
        self.flaky
            .counters()
            .executions
            .get("write")
            .copied()
            .unwrap_or_default()
    }
}

pub fn options(fault: &Fault) -> Options {
    let auth = match fault.code() {
        "F23" | "F24" | "F25" | "F27" | "F28" | "F37" | "F03" => Auth::Oauth {
            expires_in_s: 3600,
            rotate: fault.code() == "F24",
            clients: vec!["matrix".to_owned()],
        },
        "F26" => Auth::Key {
            header: "X-Api-Key".to_owned(),
            value: KEY.to_owned(),
        },
        _ => Auth::Open,
    };
    Options {
        era: hermes_scripted::mcp::Era::Legacy,
        stream_answers: matches!(fault.code(), "F18" | "F19"),
        auth,
        ..Options::default()
    }
}

pub const KEY: &str = "matrix-key-0123456789";

fn endpoint(setup: &Setup, fault: &Fault, flaky: &Flaky, dir: &Path) -> Endpoint {
    if fault.realms() == [Realm::Stdio] {
        return Endpoint::Stdio(StdioEndpoint {
            program: setup.child.clone(),
            args: vec!["stdio".to_owned(), flaky.control().to_string()],
            env: BTreeMap::new(),
            dir: dir.to_owned(),
            stderr: None,
            idle_limit: None,
            lifetime: None,
        });
    }
    let url = match setup.code {
        "F40" => format!("http://matrix.test:{}/mcp", flaky.addr().port()),
        _ => flaky.url(),
    };
    let mut http = HttpEndpoint::new(url);
    if setup.code == "F26" {
        http.headers
            .insert("X-Api-Key".to_owned(), Secret::new(KEY));
    }
    Endpoint::Http(http)
}

fn credentials(
    fault: &Fault,
    flaky: &Flaky,
    tokens: &Path,
    clock: &Arc<Moved>,
) -> Result<Credentials> {
    if !matches!(options(fault).auth, Auth::Oauth { .. }) {
        return Ok(Credentials::Configured);
    }
    write_tokens(flaky, tokens)?;
    let http = hermes_net::client(&hermes_net::Options {
        redirects: hermes_net::Redirects::Never,
        ..hermes_net::Options::new(
            "fault-matrix",
            Duration::from_secs(5),
            hermes_net::Reach::Loopback,
        )
    })?;
    Ok(Credentials::OAuth(Access {
        server: "faulty".to_owned(),
        url: flaky.url(),
        config: OAuthConfig {
            client_id: Some("matrix".to_owned()),
            ..OAuthConfig::new("fault matrix")
        },
        store: Arc::new(FileTokens::new(tokens)),
        http,
        clock: Arc::clone(clock) as _,
    }))
}

/// As if somebody had logged in.
pub fn write_tokens(flaky: &Flaky, dir: &Path) -> Result<()> {
    let issued = flaky.issue_tokens();
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)?
        .as_secs_f64();
    let document = json!({
        "access_token": issued.access, "token_type": "Bearer", "expires_in": 3600,
        "refresh_token": issued.refresh, "expires_at": now + 3600.0,
    });
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join("faulty.json"), document.to_string()).context("writing tokens")
}

pub fn operation(column: usize) -> Operation {
    let tool = |name: &str| Operation::CallTool {
        name: name.to_owned(),
        arguments: Map::new(),
    };
    match column {
        0 => tool("write"),
        1 => tool("read"),
        2 => Operation::ListResources,
        3 => Operation::ReadResource {
            uri: hermes_scripted::mcp::RESOURCE.to_owned(),
        },
        4 => Operation::ListPrompts,
        _ => Operation::GetPrompt {
            name: hermes_scripted::mcp::PROMPT.to_owned(),
            arguments: Map::new(),
        },
    }
}

fn judge(answer: Result<Reply, CallError>, wall: Duration) -> Judged {
    match answer {
        Ok(Reply {
            answer: Answer::Tool(result),
            ..
        }) if result.is_error => Judged {
            outcome: "E",
            text: format!("{:?}", result.content),
            wall,
        },
        Ok(reply) => {
            let outcome = if reply.retries == 0 { "R0" } else { "R1" };
            Judged {
                outcome,
                text: String::new(),
                wall,
            }
        }
        Err(error) => {
            let asked = Asked {
                server: "faulty",
                tool: "op",
            };
            let text = error_output(&error, asked, &Secrets::default()).text;
            Judged {
                outcome: code(&error.cause),
                text,
                wall,
            }
        }
    }
}

fn code(cause: &Cause) -> &'static str {
    match cause {
        Cause::Ambiguous(_)
        | Cause::TimedOut {
            is_ambiguous: true, ..
        } => "U",
        Cause::NeedsAuth { .. } => "A",
        Cause::Unreachable { .. } => "S",
        Cause::Cancelled => "C",
        Cause::Failed(_)
        | Cause::TimedOut { .. }
        | Cause::Reconnecting { .. }
        | Cause::NotConnected { .. }
        | Cause::Throttled { .. }
        | Cause::BadArgument(_) => "E",
    }
}

/// Clocks that can be moved.
#[derive(Default)]
pub struct Moved {
    start: Mutex<Option<Instant>>,
    slept: AtomicU64,
    wall: AtomicI64,
}

impl Moved {
    /// The machine sleeps that long.
    pub fn sleep(&self, time: Duration) {
        self.slept.fetch_add(time.as_secs(), Ordering::Relaxed);
    }

    /// Somebody sets the calendar.
    pub fn set_ahead(&self, seconds: i64) {
        self.wall.store(seconds, Ordering::Relaxed);
    }
}

impl Clock for Moved {
    fn mono(&self) -> Instant {
        Instant::now()
    }

    fn boot(&self) -> Duration {
        let mut start = self
            .start
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let start = *start.get_or_insert_with(Instant::now);
        start.elapsed() + Duration::from_secs(self.slept.load(Ordering::Relaxed))
    }

    fn wall(&self) -> SystemTime {
        let ahead = self.wall.load(Ordering::Relaxed);
        let by = Duration::from_secs(ahead.unsigned_abs());
        match ahead < 0 {
            true => SystemTime::now() - by,
            false => SystemTime::now() + by,
        }
    }
}
