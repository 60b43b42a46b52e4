//! The `terminal` tool: one command at a time, in a shell that remembers.

mod answer;
mod env;
mod inline;
mod meaning;
mod output;
mod refuse;
mod request;
mod rewrite;
mod run;
mod script;
mod shell;
mod sudo;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_home::redact::Redactor;
use hermes_proc::{Stdin, Tty, nearest_dir};
use hermes_types::{Args, CallCx, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::json;

use crate::backend::Life;
use crate::files::Cwd;
use crate::process::{NewProcess, Processes, Tell};
use answer::Answer;
use hermes_gate::{Gate, Permit};
use request::{Mode, Request};
use run::{Ending, Wait};
use shell::Run;
use sudo::Sudo;

pub use env::{Granted, Passthrough, child_env};
pub use inline::inline;
pub(crate) use output::clean;
pub use shell::Shell;
pub use sudo::Password;

/// Told with a job of a session that has only one turn.
const ENDS_WITH_US: &str = "This run is over when you give your final answer, and then the process is stopped. \
    Use process wait for what you need of it before.";

/// What the terminals of all sessions share.
#[derive(Debug)]
pub struct TerminalServices {
    pub shell: Shell,
    pub processes: Processes,
    pub limits: TerminalLimits,
    pub redactor: Redactor,
    /// What `~` means.
    pub user_home: PathBuf,
}

/// How long a session goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Horizon {
    /// There will be another turn, so that news of a job can be told.
    #[default]
    Open,
    /// It ends with this answer, and its jobs with it.
    OneTurn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLimits {
    /// `terminal.timeout`
    pub timeout: Duration,
    /// `TERMINAL_MAX_FOREGROUND_TIMEOUT`: asking for more is refused.
    pub max_timeout: Duration,
    /// `tool_output.max_bytes`, in characters.
    pub max_output: usize,
}

impl Default for TerminalLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(180),
            max_timeout: Duration::from_secs(600),
            max_output: 50_000,
        }
    }
}

/// The `terminal` tool of one session.
#[derive(Debug)]
pub struct Terminal {
    spec: ToolSpec,
    services: Arc<TerminalServices>,
    gate: Arc<Gate>,
    /// Moved by `cd`; the file tools follow.
    cwd: Cwd,
    /// `HERMES_SESSION_*` beyond the id, for commands that want to know where they come from.
    session_vars: Vec<(String, String)>,
    sudo: Sudo,
    horizon: Horizon,
}

/// Where a command runs, and what it is told beyond what the shell remembers.
struct Surroundings {
    cwd: PathBuf,
    vars: Vec<(String, String)>,
    password: Option<Password>,
}

impl Terminal {
    pub fn new(
        services: Arc<TerminalServices>,
        gate: Arc<Gate>,
        cwd: Cwd,
        session_vars: Vec<(String, String)>,
    ) -> Self {
        Self {
            spec: spec(&services.limits),
            services,
            gate,
            cwd,
            session_vars,
            sudo: Sudo::default(),
            horizon: Horizon::Open,
        }
    }

    /// With `SUDO_PASSWORD`; without, the owner is asked.
    #[must_use]
    pub fn knowing(self, password: Password) -> Self {
        let sudo = Sudo::knowing(password);
        Self { sudo, ..self }
    }

    /// For a session that ends with its first answer: the model has to know that its jobs do too.
    #[must_use]
    pub fn for_one_turn(self) -> Self {
        let horizon = Horizon::OneTurn;
        Self { horizon, ..self }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> Result<Answer, Answer> {
        let request = Request::read(args, &self.services.limits)?;
        let place = self.surroundings(&request, cx)?;
        let permit = self.gate.permit(&request.command, cx).await?;
        let decision = permit.decision().to_owned();
        let ran = self.permitted(permit, request, place, cx).await;
        match ran {
            Ok(answer) => Ok(answer.decided(decision)),
            Err(answer) => Err(answer.decided(decision)),
        }
    }

    async fn permitted(
        &self,
        permit: Permit,
        request: Request,
        mut place: Surroundings,
        cx: &CallCx,
    ) -> Result<Answer, Answer> {
        place.password = self.password(&request, cx).await;
        if cx.scope.is_cancelled() {
            return Err(Answer::interrupted(String::new()));
        }
        let approval = permit.note().map(str::to_owned);
        let mut answer = match &request.mode {
            Mode::Foreground { limit } => {
                self.in_foreground(permit, &request, place, *limit, cx)
                    .await
            }
            Mode::Background { tell, tty } => {
                self.in_background(permit, &request, place, tell, *tty, cx)
                    .await
            }
        }?;
        for (name, note) in request.notes {
            answer = answer.and(name, note);
        }
        if let Some(notice) = self.services.shell.notice() {
            answer = answer.and("sandbox", notice);
        }
        Ok(match approval {
            Some(approval) => answer.and("approval", approval),
            None => answer,
        })
    }

    async fn in_foreground(
        &self,
        permit: Permit,
        request: &Request,
        place: Surroundings,
        limit: Duration,
        cx: &CallCx,
    ) -> Result<Answer, Answer> {
        let TerminalServices {
            shell,
            redactor,
            limits,
            ..
        } = &*self.services;
        let limit = cx.scope.remaining().map_or(limit, |left| left.min(limit));
        let wait = Wait {
            shell,
            scope: &cx.scope,
            limit,
            progress: &cx.progress,
            redactor,
            password: place.password.as_ref(),
        };
        let run = place.run(Stdin::Null, Tty::None, Life::WithUs);
        let finished = wait.for_end(shell.start(permit, run).await?).await;
        let mut output = output::present(&finished.output, limits.max_output, redactor);
        if let Some(password) = &place.password {
            output = password.hidden_in(output);
            self.sudo.heard(&output);
        }
        let exit = match finished.ending {
            Ending::TimedOut => return Ok(Answer::timed_out(output, limit)),
            Ending::Interrupted => return Ok(Answer::interrupted(output)),
            Ending::Exited(exit) => exit.number(),
        };
        // The script ends itself like that only if it could not get where it should run.
        if exit == 126 && finished.cwd.is_none() {
            let error = format!("Cannot enter {}: {output}", place.cwd.display());
            return Err(Answer::error(error).code(126));
        }
        // A directory given for one call is for that call only.
        if let (Some(moved), None) = (finished.cwd, &request.workdir) {
            self.cwd.set(moved);
        }
        Ok(Answer::ran(output, exit).meaning(meaning::of(&request.command, exit)))
    }

    async fn in_background(
        &self,
        permit: Permit,
        request: &Request,
        mut place: Surroundings,
        tell: &Tell,
        tty: Tty,
        cx: &CallCx,
    ) -> Result<Answer, Answer> {
        let TerminalServices {
            shell, processes, ..
        } = &*self.services;
        if processes.is_full() {
            let error =
                "Too many background processes are running. Kill some with the process tool first.";
            return Err(Answer::error(error));
        }
        // Or the output of a Python program would only come at its end.
        let unbuffered = ("PYTHONUNBUFFERED".to_owned(), "1".to_owned());
        place.vars.push(unbuffered);
        let run = place.run(Stdin::Open, tty, Life::OnItsOwn);
        let started = shell.start(permit, run).await?;
        let new = NewProcess {
            handle: started.into_handle(),
            command: request.command.clone(),
            cwd: place.cwd,
            session: cx.scope.session.clone(),
            tell: tell.clone(),
            secret: place.password,
        };
        let (id, pid) = processes.adopt(new).await;
        let answer = Answer::ran("Background process started".to_owned(), 0)
            .and("session_id", id)
            .and("pid", pid);
        let answer = match self.horizon {
            Horizon::Open => answer,
            Horizon::OneTurn => answer.and("hint", ENDS_WITH_US),
        };
        Ok(match tell {
            Tell::Nothing => answer,
            Tell::End => answer.and("notify_on_complete", true),
            Tell::Lines(patterns) => answer.and("watch_patterns", patterns.clone()),
        })
    }

    /// What the command's `sudo` is to be told. In a terminal of its own, sudo asks there.
    async fn password(&self, request: &Request, cx: &CallCx) -> Option<Password> {
        let tty = matches!(request.mode, Mode::Background { tty, .. } if tty != Tty::None);
        if tty {
            return None;
        }
        let shell = &self.services.shell;
        self.sudo.password(&request.command, shell, cx).await
    }

    fn surroundings(&self, request: &Request, cx: &CallCx) -> Result<Surroundings, Answer> {
        let mut vars = self.session_vars.clone();
        vars.push(("HERMES_SESSION_ID".to_owned(), cx.scope.session.to_string()));
        let here = nearest_dir(&self.cwd.get(), &self.services.shell.temp_dir());
        let cwd = match &request.workdir {
            None => here,
            Some(dir) => match dir.strip_prefix("~") {
                Ok(rest) => self.services.user_home.join(rest),
                Err(_) => here.join(dir),
            },
        };
        if !cwd.is_dir() {
            let error = format!("The working directory {} does not exist", cwd.display());
            return Err(Answer::error(error).code(126));
        }
        Ok(Surroundings {
            cwd,
            vars,
            password: None,
        })
    }
}

impl Surroundings {
    fn run(&self, stdin: Stdin, tty: Tty, life: Life) -> Run<'_> {
        Run {
            cwd: &self.cwd,
            vars: &self.vars,
            stdin,
            tty,
            life,
            password: self.password.as_ref(),
        }
    }
}

impl Tool for Terminal {
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
}

fn spec(limits: &TerminalLimits) -> ToolSpec {
    let (usual, most) = (limits.timeout.as_secs(), limits.max_timeout.as_secs());
    ToolSpec {
        name: "terminal".to_owned(),
        toolset: "terminal",
        description: format!(
            "Run a bash command. Directory, exports and aliases stay from call to call. Returns as soon as the \
             command ends (default limit {usual} s, at most {most} s). Prefer the file tools to cat, grep, find, \
             ls, sed and echo > file. For servers, watchers and long jobs use background=true (never nohup, setsid \
             or a trailing &), then process poll/wait. A long job with an end: background + notify_on_complete."
        ),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "background": {"type": "boolean", "default": false},
                "timeout": {"type": "integer", "minimum": 1, "description": "Seconds, foreground only"},
                "workdir": {"type": "string", "description": "Directory for this call only"},
                "pty": {"type": "boolean", "default": false,
                    "description": "With background: a terminal, for interactive programs"},
                "notify_on_complete": {"type": "boolean", "default": false,
                    "description": "With background: you are told when it ends"},
                "watch_patterns": {"type": "array", "items": {"type": "string"},
                    "description": "With background: texts to be told about when printed. Only for rare, one-off \
                     signals: at most one report per 15 s, and repeated floods turn it off"},
            },
            "required": ["command"],
        }),
        emoji: "💻",
        parallel: Parallel::Never,
        idempotent: false,
        housekeeping: false,
        refundable: false,
        paths: |_| Vec::new(),
        digest: answer::digest,
        max_output: Some(100_000),
    }
}
