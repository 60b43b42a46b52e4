//! The `execute_code` tool: a Python script that calls the session's tools and gives back only what it prints.
//!
//! A script runs in a process group of its own with an environment without secrets. It reaches the tools through
//! a socket in its staging directory; each of its calls goes the same way as one of the model's own. However it
//! ends, no process, socket or file of it stays.

mod answer;
mod desk;
mod env;
mod module;
mod python;
mod rpc;
mod run;
mod staging;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_gate::{Gate, Permit};
use hermes_home::Env;
use hermes_home::redact::Redactor;
use hermes_proc::sandbox::Sandbox;
use hermes_proc::{Lifeline, Mark, Spawn, Stdin, Tty, nearest_dir};
use hermes_types::{Args, Availability, CallCx, Parallel, Tool, ToolOutput, ToolSpec};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

use answer::{Answer, Facts};
use desk::Desk;
use env::script_env;
use python::Python;
use run::{Script, Wait};
use staging::Staging;

/// What scripts of a session are given.
#[derive(Clone, Debug)]
pub struct CodeServices {
    pub limits: CodeLimits,
    pub mode: Mode,
    /// Ours; scripts see little of it.
    pub env: Env,
    /// Names that scripts see all the same: `terminal.env_passthrough`.
    pub passthrough: Vec<String>,
    pub hermes_home: PathBuf,
    /// For throw-away files.
    pub temp_dir: PathBuf,
    pub redactor: Redactor,
    /// `terminal.sandbox`; `None`: off.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Where interrupted scripts end without anybody waiting; wait for it before leaving.
    pub dying: TaskTracker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLimits {
    /// `code_execution.timeout`
    pub timeout: Duration,
    /// `code_execution.max_tool_calls`
    pub max_tool_calls: usize,
}

impl Default for CodeLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(300),
            max_tool_calls: 50,
        }
    }
}

/// `code_execution.mode`: where scripts run, and with which Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Where the session is, with the project's Python if there is one.
    #[default]
    Project,
    /// In their own directory, with the system's Python.
    Strict,
}

impl From<&str> for Mode {
    fn from(text: &str) -> Self {
        match text.trim().to_lowercase().as_str() {
            "strict" => Self::Strict,
            _ => Self::Project,
        }
    }
}

/// The `execute_code` tool of one session.
pub struct ExecuteCode {
    spec: ToolSpec,
    services: CodeServices,
    /// What scripts see of our environment.
    env: Env,
    gate: Arc<Gate>,
    /// What scripts may call.
    tools: Vec<String>,
    python: Python,
    /// Ends scripts if we are killed. `None` inside: it could not be started, and they may outlive us.
    lifeline: OnceCell<Option<Lifeline>>,
}

impl ExecuteCode {
    /// For a session with these tools; those that scripts may call are offered to them.
    pub fn new<'n>(
        services: CodeServices,
        gate: Arc<Gate>,
        tools: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let tools = module::callable(tools);
        Self {
            spec: spec(&services.limits, &tools),
            env: script_env(&services.env, &services.passthrough, &services.hermes_home),
            python: Python::find(&services.env, services.mode),
            lifeline: OnceCell::new(),
            services,
            gate,
            tools,
        }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> Result<Answer, Answer> {
        let code = args.get("code").and_then(Value::as_str).unwrap_or_default();
        if code.trim().is_empty() {
            let error = "execute_code: 'code' is missing. Send it again with the Python script.";
            return Err(Answer::error(error));
        }
        let python = tokio::select! {
            biased;
            () = cx.scope.cancel.cancelled() => return Err(Answer::interrupted()),
            python = self.python.usable(&self.env) => python.map_err(Answer::error)?,
        };
        let permit = self.gate.permit_script(code, cx).await?;
        if cx.scope.is_cancelled() {
            return Err(Answer::interrupted());
        }
        let began = Instant::now();
        let (script, desk) = self
            .start(&permit, python, cx)
            .await
            .map_err(Answer::error)?;
        // Before the script's own calls can take it: the model is to hear it.
        let sandbox = self.services.sandbox.as_ref();
        let notice = sandbox.and_then(|sandbox| sandbox.notice());
        let limit = self.services.limits.timeout;
        let wait = Wait {
            scope: &cx.scope,
            limit: cx.scope.remaining().map_or(limit, |left| left.min(limit)),
            progress: &cx.progress,
            dying: &self.services.dying,
        };
        let finished = script.run(&desk, &wait).await;
        let facts = Facts {
            calls: desk.calls_made(),
            took: began.elapsed(),
            limit: wait.limit,
        };
        let mut answer = Answer::finished(&finished, &facts, &self.services.redactor);
        if let Some(note) = permit.note() {
            answer = answer.and("approval", note);
        }
        Ok(match notice {
            Some(notice) => answer.and("sandbox", notice),
            None => answer,
        })
    }

    /// Starts the permitted script, and makes ready who answers it.
    async fn start(
        &self,
        permit: &Permit,
        python: &Path,
        cx: &CallCx,
    ) -> Result<(Script, Desk), String> {
        let CodeServices {
            temp_dir, limits, ..
        } = &self.services;
        let staging = Staging::make(temp_dir, permit.command(), &module::text(&self.tools))?;
        let token = token().ok_or("The system has no random numbers.")?;
        let mark = Mark::new("HERMES_RPC_SOCKET", staging.socket().display().to_string());
        let mut spawn = self.spawn(python, (&staging, &mark, &token), cx);
        if let Some(sandbox) = &self.services.sandbox {
            let wrapped = sandbox.wrap(spawn).await;
            spawn = wrapped.map_err(|refused| refused.to_string())?;
        }
        let lifeline = self.lifeline().await;
        let script = Script::start(permit, spawn, (mark, staging), lifeline)?;
        let (tools, caller) = (self.tools.clone(), cx.caller.clone());
        Ok((
            script,
            Desk::new(token, tools, limits.max_tool_calls, caller),
        ))
    }

    /// The only place that says how a script is started.
    fn spawn(
        &self,
        python: &Path,
        (staging, mark, token): (&Staging, &Mark, &str),
        cx: &CallCx,
    ) -> Spawn {
        let staged = staging.dir().display().to_string();
        let mut env = self.env.clone();
        let more = env.filled("PYTHONPATH").map(|path| format!(":{path}"));
        env.set(
            "PYTHONPATH",
            format!("{staged}{}", more.unwrap_or_default()),
        );
        env.set("HERMES_RPC_TOKEN", token);
        let (name, value) = mark.variable();
        env.set(name, value);
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Spawn {
            program: python.to_owned(),
            args: vec![staging.script().display().to_string()],
            env: env.iter().map(own).collect(),
            dir: match self.services.mode {
                Mode::Project => nearest_dir(&cx.workspace.cwd(), staging.dir()),
                Mode::Strict => staging.dir().to_owned(),
            },
            stdin: Stdin::Null,
            tty: Tty::None,
        }
    }

    async fn lifeline(&self) -> Option<&Lifeline> {
        let start = async || {
            let started = Lifeline::start();
            started
                .inspect_err(|error| {
                    tracing::warn!("scripts may outlive a kill of Hermes: {error}")
                })
                .ok()
        };
        self.lifeline.get_or_init(start).await.as_ref()
    }
}

impl Tool for ExecuteCode {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let answer = self.run(&args, cx).await;
            answer.unwrap_or_else(|refused| refused).into()
        }
        .boxed()
    }

    fn available(&self) -> Availability {
        match self.python.is_there() {
            true => Availability::Yes,
            false => Availability::No(python::MISSING.to_owned()),
        }
    }
}

impl fmt::Debug for ExecuteCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecuteCode")
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// Something nobody can guess.
fn token() -> Option<String> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn spec(limits: &CodeLimits, tools: &[String]) -> ToolSpec {
    ToolSpec {
        name: "execute_code".to_owned(),
        toolset: "code_execution",
        description: description(limits, tools),
        parameters: json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "Python; print what you want to know"},
            },
            "required": ["code"],
        }),
        emoji: "🐍",
        parallel: Parallel::Never,
        idempotent: false,
        housekeeping: false,
        refundable: true,
        paths: |_| Vec::new(),
        digest: answer::digest,
        max_output: Some(100_000),
    }
}

fn description(limits: &CodeLimits, tools: &[String]) -> String {
    let seconds = limits.timeout.as_secs();
    let kept = answer::MAX_STDOUT;
    if tools.is_empty() {
        return format!(
            "Run a Python script; you see only what it prints. For computations and for working through data. \
             Limits: {seconds} s, {kept} characters of output."
        );
    }
    format!(
        "Run a Python script that can call tools; you see only what it prints. Use it for three or more calls with \
         logic between them, to filter or reduce large results before you see them, or for loops over many items. \
         For a single call, call the tool itself. Limits: {seconds} s, {calls} tool calls, {kept} characters of \
         output.\nfrom hermes_tools import … (each returns a dict; \"error\" in it if the call failed):{lines}\n\
         Also there: json_parse(text), shell_quote(text), retry(fn, max_attempts=3, delay=2).",
        calls = limits.max_tool_calls,
        lines = module::signatures(tools),
    )
}
