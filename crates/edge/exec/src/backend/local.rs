//! This machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_home::Env;
use hermes_proc::sandbox::Sandbox;
use hermes_proc::{Event, Input, Lifeline, Running, Spawn, Watched};
use tokio::sync::OnceCell;

use crate::terminal::Granted;

use super::{Backend, Command, Environment, Handle, Life, Login, StartError};
use hermes_gate::Permit;

/// Runs commands where Hermes itself runs.
#[derive(Debug)]
pub struct LocalBackend {
    shell: PathBuf,
    /// What commands may see of our environment.
    env: Vec<(String, String)>,
    /// What else they may see by now.
    granted: Granted,
    temp_dir: PathBuf,
    /// `terminal.sandbox`; `None`: off.
    sandbox: Option<Arc<Sandbox>>,
    /// Ends foreground commands if we are killed. `None` inside: it could not be started, and they may outlive us.
    lifeline: OnceCell<Option<Lifeline>>,
}

impl LocalBackend {
    /// `env` is what commands get: see [`child_env`](crate::terminal::child_env).
    pub fn new(env: Vec<(String, String)>) -> Self {
        let all: Env = env.iter().cloned().collect();
        Self {
            shell: find_shell(&all),
            temp_dir: temp_dir(&all),
            env,
            sandbox: None,
            granted: Granted::default(),
            lifeline: OnceCell::new(),
        }
    }

    /// With every command held within these bounds.
    #[must_use]
    pub fn within(self, sandbox: Arc<Sandbox>) -> Self {
        Self {
            sandbox: Some(sandbox),
            ..self
        }
    }

    /// With variables that may be added later.
    #[must_use]
    pub fn granting(self, granted: Granted) -> Self {
        Self { granted, ..self }
    }

    async fn confined(&self, spawn: Spawn) -> Result<Spawn, StartError> {
        match &self.sandbox {
            Some(sandbox) => {
                let wrapped = sandbox.wrap(spawn).await;
                wrapped.map_err(|refused| StartError(refused.to_string()))
            }
            None => Ok(spawn),
        }
    }

    async fn watch(&self, running: &Running) -> Option<Watched> {
        let start = async || {
            let started = Lifeline::start();
            started
                .inspect_err(|error| {
                    tracing::warn!("commands may outlive a kill of Hermes: {error}")
                })
                .ok()
        };
        let lifeline = self.lifeline.get_or_init(start).await.as_ref()?;
        Some(lifeline.watch(running.group()))
    }
}

impl Backend for LocalBackend {
    fn start(
        &self,
        _permit: Permit,
        command: Command,
    ) -> BoxFuture<'_, Result<Box<dyn Handle>, StartError>> {
        async move {
            let login = (command.shell == Login::Yes).then(|| "-l".to_owned());
            let args = login.into_iter().chain(["-c".to_owned(), command.script]);
            let spawn = Spawn {
                program: self.shell.clone(),
                args: args.collect(),
                env: match command.environment {
                    Environment::Whole => [self.env.clone(), self.granted.all()].concat(),
                    Environment::Bare => self.granted.all(),
                },
                dir: command.dir,
                stdin: command.stdin,
                tty: command.tty,
            };
            let running = self
                .confined(spawn)
                .await?
                .start()
                .map_err(|error| StartError(error.to_string()))?;
            let watched = match command.life {
                Life::WithUs => self.watch(&running).await,
                Life::OnItsOwn => None,
            };
            let handle: Box<dyn Handle> = Box::new(LocalHandle {
                running,
                _watched: watched,
            });
            Ok(handle)
        }
        .boxed()
    }

    fn passing(&self) -> Vec<String> {
        self.granted.names()
    }

    fn temp_dir(&self) -> PathBuf {
        self.temp_dir.clone()
    }

    fn notice(&self) -> Option<String> {
        self.sandbox.as_ref()?.notice()
    }
}

struct LocalHandle {
    running: Running,
    _watched: Option<Watched>,
}

impl Handle for LocalHandle {
    fn pid(&self) -> Option<u32> {
        Some(self.running.group().leader())
    }

    fn next(&mut self) -> BoxFuture<'_, Event> {
        self.running.next().boxed()
    }

    fn stop(&mut self) {
        self.running.stop();
    }

    fn input(&mut self) -> Option<Input> {
        self.running.input()
    }

    fn release(&mut self) {
        self.running.release();
    }
}

/// bash, or what comes nearest.
pub fn find_shell(env: &Env) -> PathBuf {
    let on_path = env.filled("PATH").unwrap_or_default().split(':');
    on_path
        .map(|dir| Path::new(dir).join("bash"))
        .chain(["/usr/bin/bash".into(), "/bin/bash".into()])
        .chain(env.filled("SHELL").map(PathBuf::from))
        .find(|shell| shell.is_absolute() && shell.is_file())
        .unwrap_or_else(|| "/bin/sh".into())
}

/// Where commands with this environment put what they throw away.
pub fn temp_dir(env: &Env) -> PathBuf {
    ["TMPDIR", "TMP", "TEMP"]
        .iter()
        .filter_map(|name| env.filled(name).map(PathBuf::from))
        .find(|dir| dir.is_absolute() && dir.is_dir())
        .unwrap_or_else(|| "/tmp".into())
}
