//! A shell whose state survives from one command to the next, although each command gets a fresh one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hermes_proc::{Event, Exit, Scratch, Stdin, Tty};
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

use super::rewrite::compound_background;
use super::script::{self, Leftovers, StateFiles, Wrap};
use super::sudo::{NO_MORE_INPUT, PRELUDE, Password};
use crate::backend::{Backend, Command, Environment, Handle, Life, Login, StartError};
use hermes_gate::Permit;

/// Init files may do anything; one that waits for something is not waited for.
const INIT_LIMIT: Duration = Duration::from_secs(15);
/// sudo may ask a server who we are.
const SUDO_LIMIT: Duration = Duration::from_secs(10);
/// Where no program may gain rights, as in a sandbox, a password would be asked for in vain.
const SUDO_ASKS: &str =
    "command -v sudo && ! grep -qs '^NoNewPrivs:.*1' /proc/self/status && ! sudo -n true";
/// Linux takes no longer single argument than 128 KiB.
const MAX_ARGUMENT: usize = 120_000;

/// One per environment: sessions share what is exported, each has a directory of its own.
pub struct Shell {
    backend: Arc<dyn Backend>,
    init_files: Vec<PathBuf>,
    /// Made with the first command.
    state: OnceCell<State>,
    calls: AtomicU64,
    /// Commands that were interrupted and are still being killed.
    dying: TaskTracker,
}

#[derive(Debug)]
struct State {
    files: StateFiles,
    /// Where they are: variables can hold secrets we don't know to be some, so nobody else may look into it.
    _dir: Scratch,
    /// Whether a login shell wrote its variables down; if not, commands get them from us.
    environment: Environment,
}

/// What a command needs to run, but for itself.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    pub cwd: &'a Path,
    pub vars: &'a [(String, String)],
    pub stdin: Stdin,
    pub tty: Tty,
    pub life: Life,
    /// What `sudo` is told. Where the input stays open, the caller writes it there first.
    pub password: Option<&'a Password>,
}

/// A command that was started, and where its state will be found.
pub(crate) struct Started {
    pub handle: Box<dyn Handle>,
    leftovers: Leftovers,
}

impl Started {
    pub fn into_handle(self) -> Box<dyn Handle> {
        self.handle
    }
}

impl Shell {
    pub fn new(backend: Arc<dyn Backend>, init_files: Vec<PathBuf>) -> Self {
        Self {
            backend,
            init_files,
            state: OnceCell::new(),
            calls: AtomicU64::new(0),
            dying: TaskTracker::new(),
        }
    }

    /// Starts the permitted command in `run.cwd`.
    pub(crate) async fn start(&self, permit: Permit, run: Run<'_>) -> Result<Started, StartError> {
        let state = self.state().await?;
        let leftovers = state
            .files
            .leftovers(self.calls.fetch_add(1, Ordering::Relaxed));
        let (prelude, stdin) = match (run.password, run.stdin) {
            (None, stdin) => (String::new(), stdin),
            (Some(_), Stdin::Open) => (PRELUDE.to_owned(), Stdin::Open),
            (Some(password), _) => (
                format!("{PRELUDE}{NO_MORE_INPUT}"),
                Stdin::Bytes(password.line()),
            ),
        };
        let wrap = Wrap {
            prelude: &prelude,
            files: &state.files,
            // A job in the background ends at some other time: its state is nobody's next.
            leftovers: (run.life == Life::WithUs).then_some(&leftovers),
            passing: &self.backend.passing(),
            cwd: run.cwd,
            vars: run.vars,
        };
        let mut script = wrap.around(&compound_background(permit.command()));
        if script.len() > MAX_ARGUMENT {
            leftovers
                .write_script(&script)
                .map_err(|error| no_state(&error))?;
            script = format!(". {}", script::quote(&leftovers.script));
        }
        let command = Command {
            script,
            shell: Login::No,
            environment: state.environment,
            dir: "/".into(),
            stdin,
            tty: run.tty,
            life: run.life,
        };
        let handle = self.backend.start(permit, command).await?;
        Ok(Started { handle, leftovers })
    }

    /// Takes over the state a command left; where it ended up, if it got that far.
    pub(super) fn finished(&self, started: &Started) -> Option<PathBuf> {
        let moved = started.leftovers.read_cwd();
        let Leftovers {
            cwd,
            exports,
            script,
        } = &started.leftovers;
        if moved.is_some()
            && let Some(state) = self.state.get()
        {
            // A command that failed to write it changes nothing for the next.
            let _ = fs::rename(exports, state.files.exports());
        }
        for file in [cwd, exports, script] {
            // Most are not there any more, or never were.
            let _ = fs::remove_file(file);
        }
        moved
    }

    /// Whether sudo is there and would want a password.
    pub(super) async fn sudo_asks(&self) -> bool {
        let command = Command {
            script: SUDO_ASKS.to_owned(),
            dir: "/".into(),
            ..Command::default()
        };
        let permit = Permit::for_ourselves("ask sudo whether it wants a password");
        let Ok(mut handle) = self.backend.start(permit, command).await else {
            return false;
        };
        let ended = tokio::time::timeout(SUDO_LIMIT, end(&mut *handle)).await;
        ended == Ok(Exit::Code(0))
    }

    /// Kills a command without making anybody wait for it.
    pub(super) fn bury(&self, mut handle: Box<dyn Handle>) {
        handle.stop();
        self.dying
            .spawn(async move { while let Event::Output(_) = handle.next().await {} });
    }

    /// Waits until everything that was interrupted is gone.
    pub async fn close(&self) {
        self.dying.close();
        self.dying.wait().await;
    }

    pub(crate) fn temp_dir(&self) -> PathBuf {
        self.backend.temp_dir()
    }

    /// What the model should be told about how commands run, once.
    pub(super) fn notice(&self) -> Option<String> {
        self.backend.notice()
    }

    async fn state(&self) -> Result<&State, StartError> {
        self.state.get_or_try_init(|| self.prepare()).await
    }

    async fn prepare(&self) -> Result<State, StartError> {
        let dir = Scratch::make(&self.backend.temp_dir(), "shell");
        let dir = dir.map_err(|error| no_state(&error))?;
        let files = StateFiles::new(dir.path().to_owned());
        let environment = match self.snapshot(&files).await {
            Ok(()) => Environment::Bare,
            Err(error) => {
                tracing::warn!("commands run without the login shell's settings: {error}");
                // What was written may be half.
                let _ = fs::remove_file(files.snapshot());
                let _ = fs::remove_file(files.exports());
                Environment::Whole
            }
        };
        Ok(State {
            files,
            _dir: dir,
            environment,
        })
    }

    async fn snapshot(&self, files: &StateFiles) -> Result<(), StartError> {
        let script = script::init(files, &self.init_files, &self.backend.passing());
        let command = Command {
            script,
            shell: Login::Yes,
            dir: "/".into(),
            ..Command::default()
        };
        let permit = Permit::for_ourselves("read the login shell's settings");
        let mut handle = self.backend.start(permit, command).await?;
        match tokio::time::timeout(INIT_LIMIT, end(&mut *handle)).await {
            Err(_) => Err(StartError("it took too long".to_owned())),
            Ok(Exit::Code(0)) if files.exports().exists() && files.snapshot().exists() => Ok(()),
            Ok(exit) => Err(StartError(format!("it ended with {exit}"))),
        }
    }
}

impl std::fmt::Debug for Shell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shell")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

async fn end(handle: &mut dyn Handle) -> Exit {
    loop {
        if let Event::Ended(exit) = handle.next().await {
            return exit;
        }
    }
}

fn no_state(error: &io::Error) -> StartError {
    StartError(format!("cannot keep the shell's state: {error}"))
}
