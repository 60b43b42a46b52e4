//! The terminal as the model uses it: real shells in a throw-away home.

mod background;
mod fake;
mod faults;
mod foreground;
mod kills;
mod sandbox;
mod state;
mod sudo;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_exec::backend::{Backend, LocalBackend};
use hermes_exec::files::Cwd;
use hermes_exec::process::{Process, Processes, Registry};
use hermes_exec::terminal::{
    Passthrough, Shell, Terminal, TerminalLimits, TerminalServices, child_env,
};
use hermes_gate::{Allowlist, Gate, Places, Policy};
use hermes_home::redact::Redactor;
use hermes_home::{Env, Modes};
use hermes_testkit::TempHome;
use hermes_testkit::doubles::{FixedAsker, cx_with};
use hermes_types::{Answer, Args, CallCx, Outcome, Scope, Tool, ToolOutput};
use serde_json::Value;

/// A user's machine with one or more sessions on it.
pub struct Desk {
    pub home: Arc<TempHome>,
    pub services: Arc<TerminalServices>,
    allowlist: Arc<Allowlist>,
    pub asker: Arc<FixedAsker>,
}

impl Desk {
    pub fn new() -> Self {
        Self::with(&[], TerminalLimits::default())
    }

    pub fn with(vars: &[(&str, &str)], limits: TerminalLimits) -> Self {
        let home = TempHome::new();
        let env = Self::env(&home, vars);
        let env = child_env(&env, &Passthrough::default(), &home.hermes());
        Self::on(home, Arc::new(LocalBackend::new(env)), limits)
    }

    pub fn env(home: &TempHome, vars: &[(&str, &str)]) -> Env {
        let own = [
            ("HOME".to_owned(), home.home().display().to_string()),
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            (
                "TMPDIR".to_owned(),
                home.work().parent().unwrap().display().to_string(),
            ),
        ];
        let vars = vars.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        own.into_iter().chain(vars).collect()
    }

    pub fn on(home: TempHome, backend: Arc<dyn Backend>, limits: TerminalLimits) -> Self {
        let init = ["profile", "bash_profile", "bashrc"];
        let init = init.map(|file| home.home().join(format!(".{file}")));
        let registry = Registry {
            path: home.hermes().join("processes.json"),
            modes: Modes {
                dir: 0o700,
                secret: Some(0o600),
            },
        };
        std::fs::create_dir_all(home.hermes()).unwrap();
        let services = TerminalServices {
            shell: Shell::new(backend, init.into()),
            processes: Processes::recorded_in(registry, Redactor::default()),
            limits,
            redactor: Redactor::default(),
            user_home: home.home(),
        };
        Self {
            home: Arc::new(home),
            services: Arc::new(services),
            allowlist: Allowlist::new([], |_| {}),
            asker: FixedAsker::new(Answer::Once),
        }
    }

    pub fn session(&self, id: &str) -> Session {
        let policy = Policy {
            timeout: Duration::from_secs(60),
            places: Places {
                user_home: self.home.home(),
                hermes_home: self.home.hermes(),
                temp_dir: "/tmp".into(),
            },
            ..Policy::default()
        };
        let gate = Gate::new(policy, self.allowlist.clone(), Redactor::default());
        let cwd = Cwd::new(self.home.work());
        Session {
            terminal: Terminal::new(
                self.services.clone(),
                Arc::new(gate),
                cwd.clone(),
                Vec::new(),
            ),
            process: Process::new(
                self.services.processes.clone(),
                Redactor::default(),
                self.services.limits.timeout,
            ),
            cwd,
            cx: CallCx {
                scope: Scope::new(id.into()),
                ..cx_with(self.asker.clone())
            },
            _home: self.home.clone(),
        }
    }
}

pub struct Session {
    pub terminal: Terminal,
    pub process: Process,
    pub cwd: Cwd,
    pub cx: CallCx,
    /// Deleted with the last session.
    _home: Arc<TempHome>,
}

impl Session {
    /// Calls the terminal; the parsed result and how it counts.
    pub async fn call(&self, args: Value) -> (Value, Outcome) {
        parsed(self.terminal.call(args_of(args), &self.cx).await)
    }

    pub async fn run(&self, command: &str) -> Value {
        self.call(serde_json::json!({"command": command})).await.0
    }

    /// The output of a command that must succeed.
    pub async fn output(&self, command: &str) -> String {
        let result = self.run(command).await;
        assert_eq!(result["exit_code"], 0, "{command}: {result}");
        result["output"].as_str().unwrap().to_owned()
    }

    pub async fn process(&self, args: Value) -> Value {
        parsed(self.process.call(args_of(args), &self.cx).await).0
    }
}

pub fn args_of(args: Value) -> Args {
    match args {
        Value::Object(args) => args,
        other => panic!("not arguments: {other}"),
    }
}

fn parsed(output: ToolOutput) -> (Value, Outcome) {
    (serde_json::from_str(&output.text).unwrap(), output.outcome)
}

/// Processes with `text` in their command line.
pub fn processes(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .replace('\0', " ")
                .contains(text)
        })
        .collect()
}

/// Ends what a test left running on purpose.
pub async fn end_all(session: &Session, text: &str) {
    for pid in processes(text) {
        session.run(&format!("kill {pid}")).await;
    }
}

/// Waits for something that happens elsewhere.
pub async fn eventually(what: &str, limit: Duration, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn dir_of(desk: &Desk, name: &str) -> PathBuf {
    let dir = desk.home.work().join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}
