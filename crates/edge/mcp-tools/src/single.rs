//! One server on its own: connected, looked at and asked, for people and scripts rather than for the model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_mcp::{CallContext, CallError, Catalog, Reply, Server, State};
use hermes_types::{Args, ToolOutput};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::Entry;
use crate::errors::{self, Asked};
use crate::live::{Starter, word};
use crate::result::{Caches, Shelf};
use crate::tool::{Caller, Subject, missing};
use crate::toolset::{Listing, Toolset};

/// What a connect may take beyond its own limit, which the connection keeps by itself.
const SLACK: Duration = Duration::from_secs(5);

/// A server that was started for one purpose. It goes with the value.
#[derive(Debug)]
pub struct Single {
    entry: Entry,
    server: Server,
    caches: Caches,
    started: Instant,
}

/// Something to ask, as it was typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub kind: Kind,
    /// The raw or full name of a tool, the URI of a resource, the name of a prompt.
    pub subject: String,
    /// The parameters of the operation; they win over `subject`.
    pub args: Args,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tool,
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Answered {
    pub output: ToolOutput,
    pub elapsed: Duration,
    /// How often the request was sent again.
    pub retries: u32,
    /// The connection that answered, counted from 1; 0 if there was none.
    pub generation: u64,
}

/// What a connected server offers, and how long it took to find out.
#[derive(Clone, Debug)]
pub struct Look {
    pub catalog: Arc<Catalog>,
    pub took: Duration,
}

/// Why a server is not connected. No secret is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotConnected {
    pub state: State,
    pub reason: String,
}

impl Single {
    /// Starts to connect. Must be called inside a tokio runtime.
    pub fn start(entry: Entry, starter: &Starter) -> Self {
        Self {
            server: starter.server(&entry),
            entry,
            caches: starter.caches.clone(),
            started: Instant::now(),
        }
    }

    /// Waits for the first connect.
    pub async fn look(&self) -> Result<Look, NotConnected> {
        let limit = self.entry.server.connect_timeout + SLACK;
        // Whoever takes longer is still connecting, and that is the answer.
        let _ = timeout(limit, self.server.settled()).await;
        let status = self.server.status();
        if status.state == State::Ready {
            let catalog = Arc::clone(&self.server.catalog().borrow());
            let took = self.started.elapsed();
            return Ok(Look { catalog, took });
        }
        let reason = status.last_error;
        let reason = reason.unwrap_or_else(|| format!("the server is {}", word(status.state)));
        Err(NotConnected {
            state: status.state,
            reason: self.entry.secrets.hide(&reason),
        })
    }

    /// Asks over the same connection as before, if it still stands.
    pub async fn ask(&self, question: &Question, cancel: &CancellationToken) -> Answered {
        let started = Instant::now();
        let (subject, args) = self.subject(question);
        let parameters = subject.parameters();
        if let Some(name) = missing(&parameters, &args) {
            let text = format!("the required argument '{name}' is missing; nothing was sent");
            return Answered {
                output: ToolOutput::failed(text),
                elapsed: started.elapsed(),
                retries: 0,
                generation: self.server.status().generation,
            };
        }
        let context = CallContext {
            cancel: cancel.clone(),
            ..CallContext::default()
        };
        let name = subject.name().to_owned();
        let called = self.server.call(&subject.operation(args), &context).await;
        let elapsed = started.elapsed();
        let (retries, generation) = match &called {
            Ok(reply) => (reply.retries, reply.generation),
            Err(error) => (error.retries, error.generation),
        };
        Answered {
            output: self.output(called, &name).await,
            elapsed,
            retries,
            generation,
        }
    }

    /// What the model would read. Images and documents are written to disk on the way.
    async fn output(&self, called: Result<Reply, CallError>, tool: &str) -> ToolOutput {
        let shelf = Shelf {
            caches: self.caches.clone(),
            secrets: self.entry.secrets.and(Caller::secrets(&self.server)),
            reader: None,
        };
        let reply = match called {
            Ok(reply) => reply,
            Err(error) => {
                let server = self.entry.name();
                return errors::output(&error, Asked { server, tool }, &shelf.secrets);
            }
        };
        let rendered = tokio::task::spawn_blocking(move || shelf.output(reply.answer)).await;
        // A panic while rendering is the only way not to get there.
        rendered
            .unwrap_or_else(|_| ToolOutput::failed("MCP call failed: the answer could not be read"))
    }

    /// Ends the connection, and waits until nothing is left of it.
    pub async fn stop(&self) {
        self.server.stop().await;
    }

    fn subject(&self, question: &Question) -> (Subject, Args) {
        let mut args = question.args.clone();
        let mut name_it = |key: &str| {
            if !question.subject.is_empty() && !args.contains_key(key) {
                args.insert(key.to_owned(), question.subject.as_str().into());
            }
        };
        let subject = match question.kind {
            Kind::Tool => Subject::Tool(self.tool(&question.subject)),
            Kind::ListResources => Subject::ListResources,
            Kind::ListPrompts => Subject::ListPrompts,
            Kind::ReadResource => {
                name_it("uri");
                Subject::ReadResource
            }
            Kind::GetPrompt => {
                name_it("name");
                Subject::GetPrompt
            }
        };
        (subject, args)
    }

    /// The tool of that name. One the server did not list is asked for all the same: the server will say.
    fn tool(&self, name: &str) -> Arc<hermes_mcp::Tool> {
        let catalog = Arc::clone(&self.server.catalog().borrow());
        let raw = catalog.tools.iter().find(|tool| tool.name == name);
        let full = || {
            let listing = Listing {
                entry: &self.entry,
                catalog: &catalog,
                caller: Arc::new(self.server.clone()),
            };
            let tools = Toolset::build(&[listing], &self.caches, &|_| false, &Toolset::default());
            tools.raw(self.entry.name(), name)
        };
        raw.cloned().or_else(full).unwrap_or_else(|| {
            Arc::new(hermes_mcp::Tool {
                name: name.to_owned(),
                title: None,
                description: String::new(),
                input_schema: Value::Null,
                reads_only: false,
                is_idempotent: false,
            })
        })
    }
}
