//! One handle on a real server while that server is killed, replaced or forgets us, for `cargo xtask real mcp`:
//! every call must succeed in time. The trial is described by one argument, a JSON object.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it starts the servers it kills, and its report is read from stdout"
)]

mod outside;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hermes_mcp::{
    Answer, CallContext, Client, Credentials, Endpoint, EraChoice, Herd, HttpEndpoint, HttpFlavour,
    Operation, Secret, Server, ServerConfig, State, StdioEndpoint, Surroundings, SystemClock,
    Timing,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::timeout;

use outside::{Outside, kill_children};

/// Anything that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long the port of a restarted server stays closed.
const CLOSED: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
struct Trial {
    /// The server's command line; `{port}` stands for its port.
    command: Vec<String>,
    env: BTreeMap<String, String>,
    reached: Reached,
    era: Era,
    tool: String,
    arguments: Map<String, Value>,
    fault: Fault,
    /// Whether the fault makes a new connection necessary. Where it does, a trial without one has shown nothing.
    costs_connection: bool,
    rounds: usize,
    /// The most that a call may take after the fault, or after its end.
    bound_ms: u64,
}

/// How the server is talked to.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reached {
    Stdio,
    /// The path of the endpoint.
    Sse(String),
    Streamable(String),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Era {
    Auto,
    Legacy,
}

/// What happens between two calls.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fault {
    /// The server is killed, and another one listens when the call is made.
    Replaced,
    /// The server is killed, the call is made at once, and the next server listens a little later.
    Restarted,
    /// Nobody calls for so long that the server forgets the session.
    ForgottenAfterMs(u64),
    /// The child of the connection is killed.
    ChildKilled,
    /// What the server has started is killed.
    InnerKilled,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let trial = std::env::args().nth(1).context("which trial?")?;
    let trial: Trial = serde_json::from_str(&trial)?;
    let figures = timeout(PATIENCE, trial.run()).await.context("it hangs")??;
    println!("{figures}");
    Ok(())
}

impl Trial {
    async fn run(&self) -> Result<String> {
        let mut outside = match self.reached {
            Reached::Stdio => None,
            Reached::Sse(_) | Reached::Streamable(_) => {
                Some(Outside::start(&self.command, &self.env).await?)
            }
        };
        let port = outside.as_ref().map_or(0, |outside| outside.port);
        let server = Server::start(self.config(port)?, Credentials::Configured, &surroundings());
        let state = server.settled().await;
        let status = server.status();
        ensure!(state == State::Ready, "{state:?}: {:?}", status.last_error);
        let era = status.era;
        self.call(&server).await.context("before any fault")?;
        let mut worst = Duration::ZERO;
        for round in 1..=self.rounds {
            let took = self.round(&server, &mut outside).await;
            worst = worst.max(took.with_context(|| format!("round {round}"))?);
            self.call(&server).await.context("right after it")?;
        }
        server.stop().await;
        let generation = server.status().generation;
        let worst = worst.as_millis();
        Ok(format!(
            "{era:?}, {generation} connections, slowest call {worst} ms"
        ))
    }

    /// One fault, and how long the call after it took.
    async fn round(&self, server: &Server, outside: &mut Option<Outside>) -> Result<Duration> {
        let before = server.status().generation;
        match (&self.fault, &mut *outside) {
            (Fault::ChildKilled, None) => kill_children("self").map(drop)?,
            (Fault::InnerKilled, Some(outside)) => outside.kill_inner().await?,
            (Fault::ForgottenAfterMs(idle), _) => {
                tokio::time::sleep(Duration::from_millis(*idle)).await;
            }
            (Fault::Replaced, Some(outside)) => {
                outside.kill().await?;
                outside.again(&self.command, &self.env).await?;
            }
            (Fault::Restarted, Some(outside)) => outside.kill().await?,
            _ => bail!("this cannot happen to such a server"),
        }
        let took = self.timed(server, outside).await?;
        let bound = Duration::from_millis(self.bound_ms);
        ensure!(took <= bound, "the call took {took:?}, more than {bound:?}");
        let is_new = server.status().generation > before;
        ensure!(
            is_new || !self.costs_connection,
            "nothing was lost, so nothing was shown"
        );
        Ok(took)
    }

    /// How long a call takes; where the server is down, from when it is back.
    async fn timed(&self, server: &Server, outside: &mut Option<Outside>) -> Result<Duration> {
        let mut began = Instant::now();
        match (&self.fault, outside) {
            (Fault::Restarted, Some(outside)) => {
                let restart = async {
                    tokio::time::sleep(CLOSED).await;
                    outside.again(&self.command, &self.env).await?;
                    anyhow::Ok(Instant::now())
                };
                let (called, back) = tokio::join!(self.call(server), restart);
                called?;
                began = back?;
            }
            _ => self.call(server).await?,
        }
        Ok(began.elapsed())
    }

    async fn call(&self, server: &Server) -> Result<()> {
        let operation = Operation::CallTool {
            name: self.tool.clone(),
            arguments: self.arguments.clone(),
        };
        let called = server.call(&operation, &CallContext::default()).await;
        match called {
            Ok(reply) => match reply.answer {
                Answer::Tool(result) if !result.is_error => Ok(()),
                answer => bail!("an odd answer: {answer:?}"),
            },
            Err(error) => bail!("{error:?}"),
        }
    }

    fn config(&self, port: u16) -> Result<ServerConfig> {
        let endpoint = match &self.reached {
            Reached::Stdio => Endpoint::Stdio(self.stdio()?),
            Reached::Sse(path) => Endpoint::Http(HttpEndpoint {
                flavour: HttpFlavour::Sse,
                ..HttpEndpoint::new(format!("http://127.0.0.1:{port}{path}"))
            }),
            Reached::Streamable(path) => {
                Endpoint::Http(HttpEndpoint::new(format!("http://127.0.0.1:{port}{path}")))
            }
        };
        Ok(ServerConfig {
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            keepalive: Some(Duration::from_secs(5)),
            era: match self.era {
                Era::Auto => EraChoice::Auto,
                Era::Legacy => EraChoice::Legacy,
            },
            ..ServerConfig::new("real", endpoint)
        })
    }

    fn stdio(&self) -> Result<StdioEndpoint> {
        let (program, args) = self.command.split_first().context("no command")?;
        let env = self.env.iter();
        let env = env.map(|(name, value)| (name.clone(), Secret::new(value)));
        Ok(StdioEndpoint {
            program: PathBuf::from(program),
            args: args.to_vec(),
            env: env.collect(),
            dir: std::env::current_dir()?,
            stderr: None,
            idle_limit: None,
            lifetime: None,
        })
    }
}

fn surroundings() -> Surroundings {
    let timing = Timing::default();
    Surroundings {
        client: Client {
            name: "hermes-endurance".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        herd: Herd::new(Arc::new(SystemClock), &timing),
        timing,
        sampler: None,
        permission: None,
    }
}
