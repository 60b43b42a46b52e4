//! The server that fails on demand, as a process of its own, and a client of the library connected to it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hermes_mcp::{
    CallContext, Client, Credentials, Endpoint, Herd, HttpEndpoint, Operation, Server,
    ServerConfig, State, StdioEndpoint, Surroundings, SystemClock, Timing,
};
use hermes_net::{Options, Reach};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

/// Nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Faulty {
    _process: Child,
    program: PathBuf,
    pub url: String,
    control: String,
    pub http: reqwest::Client,
    around: Surroundings,
}

impl Faulty {
    pub async fn start(program: &Path) -> Result<Self> {
        let program = program.canonicalize()?;
        // The modern protocol has no sessions that could be lost.
        let mut options = tempfile::NamedTempFile::new()?;
        options.write_all(br#"{"era": "legacy"}"#)?;
        let mut process = Command::new(&program)
            .arg("serve")
            .arg(options.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = process.stdout.take().context("no stdout")?;
        let mut line = String::new();
        timeout(PATIENCE, BufReader::new(stdout).read_line(&mut line)).await??;
        let places: Value = serde_json::from_str(&line)?;
        let place = |name: &str| places[name].as_str().unwrap_or_default().to_owned();
        let options = Options::new("mcp-probe", Duration::from_secs(5), Reach::Loopback);
        Ok(Self {
            _process: process,
            program,
            url: place("url"),
            control: place("control"),
            http: hermes_net::client(&options)?,
            around: surroundings(),
        })
    }

    /// `POST /control`; what it answers are the counters.
    pub async fn wish(&self, wish: &Value) -> Result<Value> {
        let request = self.http.post(format!("{}/control", self.control));
        let answer = request.json(wish).timeout(PATIENCE).send().await?;
        ensure!(answer.status().is_success(), "{}", answer.text().await?);
        Ok(answer.json().await?)
    }

    pub async fn over_http(&self) -> Result<Server> {
        self.connect(Endpoint::Http(HttpEndpoint::new(self.url.clone())))
            .await
    }

    pub async fn over_stdio(&self) -> Result<Server> {
        let control = self.control.trim_start_matches("http://");
        self.connect(Endpoint::Stdio(StdioEndpoint {
            program: self.program.clone(),
            args: vec!["stdio".to_owned(), control.to_owned()],
            env: BTreeMap::new(),
            dir: std::env::temp_dir(),
            stderr: None,
            idle_limit: None,
            lifetime: None,
        }))
        .await
    }

    async fn connect(&self, endpoint: Endpoint) -> Result<Server> {
        let server = self.server("faulty", endpoint);
        let state = timeout(PATIENCE, server.settled()).await?;
        ensure!(state == State::Ready, "{:?}", server.status());
        Ok(server)
    }

    /// A server of the library, as the program starts it.
    pub fn server(&self, name: &str, endpoint: Endpoint) -> Server {
        let config = ServerConfig::new(name, endpoint);
        Server::start(config, Credentials::Configured, &self.around)
    }
}

fn surroundings() -> Surroundings {
    let timing = Timing::default();
    Surroundings {
        client: Client {
            name: "mcp-probe".to_owned(),
            version: "1".to_owned(),
        },
        herd: Herd::new(Arc::new(SystemClock), &timing),
        timing,
        sampler: None,
        permission: None,
    }
}

/// Milliseconds of one call of a tool that must answer.
pub async fn call(server: &Server, tool: &str, arguments: Value) -> Result<f64> {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    let operation = Operation::CallTool {
        name: tool.to_owned(),
        arguments,
    };
    let start = Instant::now();
    let answer = timeout(PATIENCE, server.call(&operation, &CallContext::default())).await;
    let reply = answer
        .context("no answer")?
        .map_err(|error| anyhow::anyhow!("{:?}", error.cause))?;
    ensure!(reply.generation > 0, "answered by nobody");
    Ok(start.elapsed().as_secs_f64() * 1000.0)
}

pub async fn read(server: &Server) -> Result<f64> {
    call(server, "read", json!({})).await
}
