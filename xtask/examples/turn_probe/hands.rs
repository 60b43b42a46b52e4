//! The tools of the probe: the real ones as the program has them, and one that only waits.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::{Todo, Toolbox};
use hermes_exec::backend::LocalBackend;
use hermes_exec::files::{
    Cwd, FileServices, FileState, Limits, PathGuard, Territory, Watch, file_tools,
};
use hermes_exec::process::{Farewell, Process, Processes};
use hermes_exec::terminal::{
    Passthrough, Shell, Terminal, TerminalLimits, TerminalServices, child_env,
};
use hermes_gate::{Allowlist, Gate, Places, Policy, Surface, Unasked};
use hermes_home::redact::{Redactor, Switch};
use hermes_home::{Env, Home};
use hermes_session::SessionSearch;
use hermes_store::Store;
use hermes_types::{Args, CallCx, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

/// What the tools of all conversations share.
pub struct Hands {
    files: Arc<FileServices>,
    terminal: Arc<TerminalServices>,
    gate: Arc<Gate>,
    store: Store,
}

impl Hands {
    pub fn new(env: &Env, home: &Home, store: &Store) -> Self {
        let redactor = Redactor::new(Switch::On);
        let path = env.get("PATH").unwrap_or_default().to_owned();
        let files = FileServices {
            limits: Limits::default(),
            redactor,
            state: Arc::new(FileState::new(Watch::On)),
            guard: PathGuard::new(Territory {
                user_home: env.user_home(),
                hermes_home: home.dir().to_owned(),
                hermes_root: home.root().to_owned(),
                safe_roots: Vec::new(),
            }),
            user_home: env.user_home(),
            checker_env: vec![("PATH".to_owned(), path)],
        };
        let vars = child_env(env, &Passthrough::default(), home.dir());
        let terminal = TerminalServices {
            shell: Shell::new(Arc::new(LocalBackend::new(vars)), Vec::new()),
            processes: Processes::new(redactor),
            limits: TerminalLimits::default(),
            redactor,
            user_home: env.user_home(),
        };
        let allowlist = Allowlist::new(Vec::new(), |_| {});
        Self {
            files: Arc::new(files),
            terminal: Arc::new(terminal),
            gate: Arc::new(Gate::new(policy(env, home), allowlist, redactor)),
            store: store.clone(),
        }
    }

    pub fn toolbox(&self, cwd: &Cwd) -> Toolbox {
        let others: [Arc<dyn Tool>; 4] = [
            Arc::new(Terminal::new(
                self.terminal.clone(),
                self.gate.clone(),
                cwd.clone(),
                Vec::new(),
            )),
            Arc::new(Process::new(
                self.terminal.processes.clone(),
                self.terminal.redactor,
                self.terminal.limits.timeout,
            )),
            Arc::new(Todo::default()),
            Arc::new(SessionSearch::new(self.store.clone())),
        ];
        Toolbox::new(file_tools(&self.files).into_iter().chain(others))
    }

    pub async fn put_down(self) {
        self.terminal.processes.close(Farewell::Kill).await;
        self.terminal.shell.close().await;
    }
}

/// Nobody is there to ask.
fn policy(env: &Env, home: &Home) -> Policy {
    Policy {
        surface: Surface::Headless(Unasked::Allow),
        places: Places {
            user_home: env.user_home(),
            hermes_home: home.dir().to_owned(),
            temp_dir: std::env::temp_dir(),
        },
        ..Policy::default()
    }
}

/// Reads nothing, and takes as long for it as the call says.
pub struct Wait(ToolSpec);

impl Wait {
    pub fn tool() -> Arc<dyn Tool> {
        Arc::new(Self(ToolSpec {
            name: "wait".to_owned(),
            toolset: "bench",
            description: "Waits.".to_owned(),
            parameters: json!({"type": "object", "properties": {
                "n": {"type": "integer"}, "ms": {"type": "integer"},
            }}),
            emoji: "⏳",
            parallel: Parallel::Always,
            idempotent: true,
            housekeeping: false,
            refundable: false,
            paths: |_| Vec::new(),
            digest: |_, _| String::new(),
            max_output: None,
        }))
    }
}

impl Tool for Wait {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, args: Args, _: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let time = args.get("ms").and_then(Value::as_u64).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(time)).await;
            ToolOutput::json(&Value::Object(args))
        }
        .boxed()
    }
}
