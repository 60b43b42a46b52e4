//! The client command of the protocol's conformance suites, for `cargo xtask real mcp`: connects to the scenario's
//! server, logs in when it is asked to, and uses whatever the server offers.

#![allow(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "the suite speaks to it through the environment and shows what it writes"
)]

mod form;
mod user;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_mcp::{
    Answer, CallContext, Cause, Class, Client, Credentials, Elicitor, Endpoint, Herd, HttpEndpoint,
    Operation, Server, ServerConfig, State, Surroundings, SystemClock, Timing, Tool,
};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use user::User;

/// The suite gives a client 30 s.
const PATIENCE: Duration = Duration::from_secs(25);
/// Between two looks at how a connection is doing.
const GLANCE: Duration = Duration::from_millis(5);
/// A connect after a login is decided within this.
const ATTEMPT: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let played = timeout(PATIENCE, async { Scene::read()?.play().await }).await;
    match played {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("the scenario takes too long");
            ExitCode::FAILURE
        }
    }
}

/// What the suite wants of us.
struct Scene {
    name: String,
    url: String,
    /// What the client is told beforehand: its credentials, the calls to make.
    context: Value,
}

impl Scene {
    fn read() -> Result<Self> {
        let context = std::env::var("MCP_CONFORMANCE_CONTEXT").ok();
        Ok(Self {
            name: std::env::var("MCP_CONFORMANCE_SCENARIO").context("which scenario?")?,
            url: std::env::args().next_back().context("which address?")?,
            context: match context {
                Some(text) => serde_json::from_str(&text)?,
                None => Value::Null,
            },
        })
    }

    async fn play(&self) -> Result<()> {
        let user = match self.name.starts_with("auth/") {
            true => Some(User::new(&self.url, &self.context)?),
            false => None,
        };
        let credentials = match &user {
            Some(user) => Credentials::OAuth(user.access.clone()),
            None => Credentials::Configured,
        };
        let server = Server::start(self.config(), credentials, &surroundings());
        let mut visit = Visit { server, user };
        visit.connected().await?;
        let visited = self.use_everything(&mut visit).await;
        visit.server.stop().await;
        visited
    }

    fn config(&self) -> ServerConfig {
        let endpoint = Endpoint::Http(HttpEndpoint::new(&self.url));
        ServerConfig {
            elicitation: true,
            ..ServerConfig::new("scenario", endpoint)
        }
    }

    async fn use_everything(&self, visit: &mut Visit) -> Result<()> {
        let catalog = visit.server.catalog().borrow().clone();
        match self.context["toolCalls"].as_array() {
            Some(calls) => {
                for call in calls {
                    let name = call["name"].as_str().context("a call without a name")?;
                    let arguments = call["arguments"].as_object().cloned();
                    visit.call(name, arguments.unwrap_or_default()).await?;
                }
            }
            None => {
                for tool in &catalog.tools {
                    let arguments = arguments(tool, &catalog.tools);
                    visit.call(&tool.name, arguments).await?;
                }
            }
        }
        if catalog.has_resources {
            visit.read_resources().await?;
        }
        if catalog.has_prompts {
            visit.get_prompts().await?;
        }
        Ok(())
    }
}

/// Something for every argument. One tool wants to know how the schema of another one arrived.
fn arguments(tool: &Tool, all: &[Arc<Tool>]) -> Map<String, Value> {
    if tool.name == "json_schema_echo"
        && let Some(other) = all.iter().find(|other| other.name != tool.name)
    {
        return Map::from_iter([("schema".to_owned(), other.input_schema.clone())]);
    }
    match form::filled(&tool.input_schema) {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    }
}

fn surroundings() -> Surroundings {
    let timing = Timing::default();
    Surroundings {
        client: Client {
            name: "hermes-conformance".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        herd: Herd::new(Arc::new(SystemClock), &timing),
        timing,
        sampler: None,
        permission: None,
    }
}

/// A connection, and who can log in if need be.
struct Visit {
    server: Server,
    user: Option<User>,
}

impl Visit {
    /// Waits for the connection; logs in where only that helps.
    async fn connected(&mut self) -> Result<()> {
        loop {
            match self.server.settled().await {
                State::Ready => return Ok(()),
                State::NeedsAuth => {
                    let status = self.server.status();
                    let why = status.last_error.unwrap_or_default();
                    self.log_in(&why, None).await?;
                }
                State::Connecting | State::Reconnecting => tokio::time::sleep(GLANCE).await,
                state => {
                    let why = self.server.status().last_error.unwrap_or_default();
                    bail!("{state:?}: {why}");
                }
            }
        }
    }

    async fn log_in(&mut self, why: &str, scope: Option<&str>) -> Result<()> {
        let Some(user) = &mut self.user else {
            bail!("nobody can log in: {why}");
        };
        eprintln!("logging in, for {scope:?}: {why}");
        user.log_in(scope).await?;
        self.server.wake().await;
        // It may have been turned away again before we look.
        let tried = async {
            while self.server.status().state == State::NeedsAuth {
                tokio::time::sleep(GLANCE).await;
            }
        };
        let _ = timeout(ATTEMPT, tried).await;
        Ok(())
    }

    async fn call(&mut self, name: &str, arguments: Map<String, Value>) -> Result<()> {
        let name = name.to_owned();
        let operation = Operation::CallTool { name, arguments };
        self.ask(&operation).await.map(drop)
    }

    async fn read_resources(&mut self) -> Result<()> {
        if let Some(Answer::Resources(resources)) = self.ask(&Operation::ListResources).await? {
            for resource in resources {
                let uri = resource.uri;
                self.ask(&Operation::ReadResource { uri }).await?;
            }
        }
        Ok(())
    }

    async fn get_prompts(&mut self) -> Result<()> {
        if let Some(Answer::Prompts(prompts)) = self.ask(&Operation::ListPrompts).await? {
            for prompt in prompts {
                let (name, arguments) = (prompt.name, Map::new());
                self.ask(&Operation::GetPrompt { name, arguments }).await?;
            }
        }
        Ok(())
    }

    /// Asks, and once more after each login the server wants. `None`: the server said no.
    async fn ask(&mut self, operation: &Operation) -> Result<Option<Answer>> {
        let context = CallContext {
            elicitor: Some(Arc::new(Agreeable)),
            ..CallContext::default()
        };
        loop {
            let error = match self.server.call(operation, &context).await {
                Ok(reply) => return Ok(Some(reply.answer)),
                Err(error) => error,
            };
            match error.cause {
                Cause::NeedsAuth { reason, scope } => {
                    self.log_in(&reason, scope.as_deref()).await?;
                    self.connected().await?;
                }
                Cause::Failed(failure) if failure.class == Class::App => {
                    eprintln!("{operation:?}: {failure}");
                    return Ok(None);
                }
                cause => bail!("{operation:?}: {cause:?}"),
            }
        }
    }
}

/// Says yes to everything and fills in every form.
struct Agreeable;

impl Elicitor for Agreeable {
    fn elicit<'a>(&'a self, _: &'a str, params: Value) -> BoxFuture<'a, Value> {
        let content = form::filled(&params["requestedSchema"]);
        async move { json!({"action": "accept", "content": content}) }.boxed()
    }
}
