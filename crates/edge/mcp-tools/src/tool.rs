//! One thing a server can do, as a tool.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_mcp::{
    CallContext, CallError, Cause, Class, Elicitor, Failure, Operation, Progress, Reply, Secret,
    Server,
};
use hermes_net::{Ended, within};
use hermes_types::{Args, CallCx, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

use crate::elicit::{Noted, OwnerElicitor};
use crate::errors::{self, Asked};
use crate::result::Shelf;
use crate::{describe, schema};

/// How long a call that was given up may take to say goodbye.
const GOODBYE: Duration = Duration::from_millis(400);
/// Longer results go into a file.
const MAX_OUTPUT: usize = 100_000;

/// A server as its tools see it.
pub trait Caller: Send + Sync {
    fn name(&self) -> &str;

    fn call(
        &self,
        operation: Operation,
        context: CallContext,
    ) -> BoxFuture<'_, Result<Reply, CallError>>;

    /// Values only the connection knows, such as access tokens; they must not appear in any text.
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}

impl Caller for Server {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn call(
        &self,
        operation: Operation,
        context: CallContext,
    ) -> BoxFuture<'_, Result<Reply, CallError>> {
        async move { Self::call(self, &operation, &context).await }.boxed()
    }

    fn secrets(&self) -> Vec<Secret> {
        Self::secrets(self)
    }
}

/// What all tools of one server share.
pub struct ServerSide {
    pub caller: Arc<dyn Caller>,
    pub shelf: Shelf,
    /// Whether several of its tools may run at a time.
    pub parallel: Parallel,
    /// How long the owner has for a question of the server; `None`: it may not ask.
    pub elicitation: Option<Duration>,
}

/// What a tool is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    Tool(Arc<hermes_mcp::Tool>),
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

/// A tool of a server, or one of the four that every server with resources or prompts has.
pub struct ServerTool {
    spec: ToolSpec,
    subject: Subject,
    side: Arc<ServerSide>,
}

impl ServerTool {
    /// `name` is the one it is advertised under.
    pub fn new(name: String, subject: Subject, side: Arc<ServerSide>) -> Self {
        let server = side.caller.name();
        let spec = ToolSpec {
            name,
            // Which server's it is, is known to the `Toolset`: servers come and go.
            toolset: "mcp",
            description: subject.description(server),
            parameters: subject.parameters(),
            emoji: "🔌",
            parallel: side.parallel,
            // A server's state changes without us: asking again is not going in circles.
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths: no_paths,
            digest,
            max_output: Some(MAX_OUTPUT),
        };
        Self {
            spec,
            subject,
            side,
        }
    }

    /// The server's own name for it.
    pub fn raw_name(&self) -> &str {
        self.subject.name()
    }

    pub fn server(&self) -> &str {
        self.side.caller.name()
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Whether it would do and say the same as `other`.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let (a, b) = (&self.side, &other.side);
        self.spec.name == other.spec.name
            && self.subject == other.subject
            && Arc::ptr_eq(&a.caller, &b.caller)
            && a.parallel == b.parallel
            && a.elicitation == b.elicitation
            && a.shelf.secrets == b.shelf.secrets
            && a.shelf.reader == b.shelf.reader
    }

    async fn run(&self, args: Args, cx: &CallCx) -> ToolOutput {
        if let Some(missing) = missing(&self.spec.parameters, &args) {
            return ToolOutput::failed(format!(
                "{}: the required argument '{missing}' is missing; nothing was sent",
                self.spec.name
            ));
        }
        let elicitor = self.elicitor(cx);
        let asked = self.ask(self.subject.operation(args), elicitor.clone(), cx);
        let output = match asked.await {
            Ok(reply) => {
                if reply.retries > 0 {
                    cx.progress
                        .tell("the connection was lost: connected anew and asked again");
                }
                self.render(reply).await
            }
            Err(error) => self.failed(&error),
        };
        output.decided(elicitor.as_ref().map_or("", Noted::decision))
    }

    /// The call, for as long as its scope lasts; then it gets a moment to end by itself.
    async fn ask(
        &self,
        operation: Operation,
        elicitor: Option<Noted>,
        cx: &CallCx,
    ) -> Result<Reply, CallError> {
        let context = context(elicitor, cx);
        let cancel = context.cancel.clone();
        let mut work = self.side.caller.call(operation, context);
        let ended = match within(&cx.scope, Duration::MAX, &mut work).await {
            Ok(answered) => return answered,
            Err(ended) => ended,
        };
        cancel.cancel();
        match tokio::time::timeout(GOODBYE, work).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(self.given_up(ended, error.generation)),
            Err(_) => Err(self.given_up(ended, 0)),
        }
    }

    fn given_up(&self, ended: Ended, generation: u64) -> CallError {
        let late = || {
            Failure::new(
                Class::Deadline,
                "Timeout",
                "there was no time left for the call",
            )
        };
        let cause = match ended {
            Ended::Cancelled => Cause::Cancelled,
            _ if self.subject.only_reads() => Cause::Failed(late()),
            Ended::OutOfTime | Ended::TooSlow => Cause::Ambiguous(late()),
        };
        CallError {
            cause,
            retries: 0,
            generation,
        }
    }

    /// Who answers the server's questions, if it may ask any.
    fn elicitor(&self, cx: &CallCx) -> Option<Noted> {
        let timeout = self.side.elicitation?;
        Some(Noted::new(OwnerElicitor {
            asker: Arc::clone(&cx.asker),
            scope: cx.scope.clone(),
            timeout,
        }))
    }

    /// Images and documents are written to disk on the way.
    async fn render(&self, reply: Reply) -> ToolOutput {
        let mut shelf = self.side.shelf.clone();
        shelf.secrets = shelf.secrets.and(self.side.caller.secrets());
        let rendered = tokio::task::spawn_blocking(move || shelf.output(reply.answer)).await;
        // A panic while rendering is the only way not to get there.
        rendered
            .unwrap_or_else(|_| ToolOutput::failed("MCP call failed: the answer could not be read"))
    }

    fn failed(&self, error: &CallError) -> ToolOutput {
        let asked = Asked {
            server: self.server(),
            tool: self.raw_name(),
        };
        let secrets = self.side.shelf.secrets.and(self.side.caller.secrets());
        errors::output(error, asked, &secrets)
    }
}

fn context(elicitor: Option<Noted>, cx: &CallCx) -> CallContext {
    let progress = cx.progress.clone();
    CallContext {
        cancel: cx.scope.cancel.child_token(),
        progress: Some(Arc::new(move |told: Progress| progress.tell(&line(&told)))),
        elicitor: elicitor.map(|noted| -> Arc<dyn Elicitor> { Arc::new(noted) }),
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        self.run(args, cx).boxed()
    }
}

impl Subject {
    /// What the server, or everybody, calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::ListResources => "list_resources",
            Self::ReadResource => "read_resource",
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt => "get_prompt",
        }
    }

    fn only_reads(&self) -> bool {
        match self {
            Self::Tool(tool) => tool.reads_only,
            _ => true,
        }
    }

    fn description(&self, server: &str) -> String {
        match self {
            Self::Tool(tool) => describe::description(server, &tool.name, &tool.description),
            Self::ListResources => format!("List the resources of the MCP server {server}."),
            Self::ReadResource => format!("Read a resource of the MCP server {server} by its URI."),
            Self::ListPrompts => format!("List the prompts of the MCP server {server}."),
            Self::GetPrompt => format!("Get a prompt of the MCP server {server}, filled in."),
        }
    }

    pub(crate) fn parameters(&self) -> Value {
        let nothing = json!({"type": "object", "properties": {}});
        match self {
            Self::Tool(tool) => schema::normalise(&tool.input_schema),
            Self::ListResources | Self::ListPrompts => nothing,
            Self::ReadResource => json!({
                "type": "object",
                "properties": {"uri": {"type": "string", "description": "The resource's URI"}},
                "required": ["uri"],
            }),
            Self::GetPrompt => json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The prompt's name"},
                    "arguments": {"type": "object", "description": "The prompt's arguments", "properties": {},
                        "additionalProperties": true},
                },
                "required": ["name"],
            }),
        }
    }

    pub(crate) fn operation(&self, mut args: Args) -> Operation {
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
            None => String::new(),
        };
        match self {
            Self::Tool(tool) => Operation::CallTool {
                name: tool.name.clone(),
                arguments: args,
            },
            Self::ListResources => Operation::ListResources,
            Self::ReadResource => Operation::ReadResource {
                uri: text(args.remove("uri")),
            },
            Self::ListPrompts => Operation::ListPrompts,
            Self::GetPrompt => Operation::GetPrompt {
                name: text(args.remove("name")),
                arguments: match args.remove("arguments") {
                    Some(Value::Object(arguments)) => arguments,
                    _ => Map::new(),
                },
            },
        }
    }
}

/// The first parameter that must be given and is not.
pub(crate) fn missing<'p>(parameters: &'p Value, args: &Args) -> Option<&'p str> {
    let required = parameters.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    names.into_iter().find(|name| !args.contains_key(*name))
}

/// `3/10 copying`
fn line(told: &Progress) -> String {
    let done = match told.total {
        Some(total) => format!("{}/{total}", told.done),
        None => told.done.to_string(),
    };
    match told.message.as_deref().unwrap_or_default() {
        "" => done,
        message => {
            let message: String = message
                .chars()
                .filter(|c| !c.is_control())
                .take(200)
                .collect();
            format!("{done} {message}")
        }
    }
}

fn no_paths(_: &Args) -> Vec<PathBuf> {
    Vec::new()
}

/// The first short value: most often the one that says what the call is about.
fn digest(args: &Args, _: &ToolOutput) -> String {
    let text = args.values().find_map(Value::as_str).unwrap_or_default();
    let text = text.lines().next().unwrap_or_default();
    text.chars().take(80).collect()
}

impl fmt::Debug for ServerTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTool")
            .field("name", &self.spec.name)
            .field("server", &self.server())
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSide")
            .field("server", &self.caller.name())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
