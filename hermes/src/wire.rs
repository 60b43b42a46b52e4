//! Puts the parts together. The only place that knows all of them.

use std::cell::OnceCell;
use std::fs;
use std::future::Future;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use hermes_exec::sandbox::Plan;
use hermes_home::config::Settings;
use hermes_home::redact::{Redactor, Switch};
use hermes_home::{Env, Home, Resolved, dotenv, log};
use hermes_lines::{Out, printable};
use hermes_store::{Journal, OpenOptions, Store};
use hermes_tui::look::{self, Look};
use hermes_tui::pick::Desk;
use tokio::runtime::{self, Runtime};
use tokio::sync::mpsc;

use crate::cmd::chat::signals;

/// What a command works with.
pub struct App {
    pub home: Home,
    pub env: Env,
    pub settings: Settings,
    /// Frozen at start: nothing that runs later can turn it off.
    pub redactor: Redactor,
    pub out: Out,
    /// Started by the first command that needs it; most don't.
    runtime: OnceCell<Runtime>,
}

/// What is set at this moment.
pub fn read_again(home: &Home) -> (Settings, Env) {
    let mut env = Env::from_process();
    dotenv::overlay(home, &mut env); // warnings were given at the start
    (Settings::load(home, &env), env)
}

impl App {
    /// Finds the home, makes it if need be, and reads what is set. What is odd but not fatal is said on stderr.
    pub fn start(env: Env, profile: Option<&str>) -> Result<Self> {
        Self::start_logging(env, profile, log::Console::Quiet)
    }

    /// The same, with a copy of the log on stderr.
    pub fn start_logging(
        mut env: Env,
        profile: Option<&str>,
        console: log::Console,
    ) -> Result<Self> {
        let home = Resolved::from(profile, &env)?.home(&env);
        let mut warnings = Vec::new();
        if let Err(error) = home.ensure() {
            // A read-only home can still be looked at.
            warnings.push(error.to_string());
        }
        warnings.extend(dotenv::overlay(&home, &mut env));
        let settings = Settings::load(&home, &env);
        warnings.extend(settings.warnings().iter().cloned());
        let redactor = redactor(&env, &settings);
        let logging = log::Settings {
            console,
            ..log_settings(&home, &settings, redactor)
        };
        log::init(&logging)?;
        for warning in &warnings {
            if console == log::Console::Quiet {
                say(warning);
            }
            tracing::warn!("{warning}");
        }
        let out = Out::stdout(&env);
        Ok(Self {
            home,
            env,
            settings,
            redactor,
            out,
            runtime: OnceCell::new(),
        })
    }

    /// What commands are confined with; `program` is our own.
    pub fn sandbox_plan<'a>(&'a self, program: &'a Path) -> Plan<'a> {
        Plan {
            settings: &self.settings,
            env: &self.env,
            home: &self.home,
            program,
        }
    }

    /// Opens the conversations; the file is made if there is none.
    pub async fn store(&self) -> Result<Store> {
        Ok(Store::open(self.home.state_db(), self.store_options()).await?)
    }

    /// Opens a throw-away place for a conversation that cannot be kept.
    pub async fn scratch_store(&self) -> Result<(Store, Scratch)> {
        let scratch = Scratch::make()?;
        let store = Store::open(scratch.0.join("state.db"), self.store_options()).await?;
        Ok((store, scratch))
    }

    /// Opens the conversations if there are any.
    pub async fn existing_store(&self) -> Result<Option<Store>> {
        Ok(Store::open_existing(self.home.state_db(), self.store_options()).await?)
    }

    fn store_options(&self) -> OpenOptions {
        let journal = match self.settings.text("database.journal_mode") {
            "wal" => Journal::Wal,
            "delete" => Journal::Delete,
            _ => Journal::Auto,
        };
        OpenOptions {
            journal,
            ..OpenOptions::default()
        }
    }

    /// Reads again what is set, after something was changed.
    pub fn reload(&mut self) {
        (self.settings, self.env) = read_again(&self.home);
    }

    /// The person in front of the program; an error says what needs one, and what can be done instead.
    pub fn desk(&self, what: &str, instead: &str) -> Result<Desk> {
        let (skin, _) = look::load(&self.home, self.settings.text("display.skin"));
        let desk = Desk::find(&self.env, Look::on_terminal(skin, &self.env));
        let desk = desk.ok_or_else(|| anyhow!("{what} needs a terminal; {instead}"))?;
        signals::give_back(&self.env)?;
        Ok(desk)
    }

    /// Asks for something nobody else may see.
    pub fn ask_hidden(&self, prompt: &str) -> Result<String> {
        signals::give_back(&self.env)?;
        Ok(hermes_lines::ask_hidden(prompt)?)
    }

    pub fn block_on<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime()?.block_on(work)
    }

    /// For whoever has to wait for something later.
    pub fn runtime(&self) -> Result<&Runtime> {
        if self.runtime.get().is_none() {
            let made = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("starting the runtime")?;
            // Single-threaded and just found empty, so this cannot fail.
            let _ = self.runtime.set(made);
        }
        self.runtime.get().context("starting the runtime")
    }
}

/// A directory that is gone when this is.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    fn make() -> io::Result<Self> {
        let dir = std::env::temp_dir().join(format!("hermes-scratch-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // a leftover in the temp directory harms nobody
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Not waited for: a read of the terminal would end only with the next key.
            runtime.shutdown_background();
        }
    }
}

/// Who hears what is said while something is on the screen that a line of text would spoil.
static LISTENER: Mutex<Option<mpsc::UnboundedSender<String>>> = Mutex::new(None);

/// From here on, what is said comes here and not on stderr.
pub fn listen() -> mpsc::UnboundedReceiver<String> {
    let (said, heard) = mpsc::unbounded_channel();
    hear(Some(said));
    heard
}

/// Sends what is said to somebody, or to stderr again.
pub fn hear(listener: Option<mpsc::UnboundedSender<String>>) {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = listener;
}

/// One line on stderr that is not an error.
pub fn say(text: &str) {
    let listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
    let heard = listener
        .as_ref()
        .map(|listener| listener.send(text.to_owned()));
    if matches!(heard, Some(Ok(()))) {
        return;
    }
    let _ = writeln!(io::stderr(), "hermes: {}", printable(text)); // a closed stderr has no reader to miss it
}

fn redactor(env: &Env, settings: &Settings) -> Redactor {
    let on = match env.filled("HERMES_REDACT_SECRETS") {
        Some(_) => env.is_on("HERMES_REDACT_SECRETS"),
        None => settings.is_on("security.redact_secrets"),
    };
    Redactor::new(if on { Switch::On } else { Switch::Off })
}

fn log_settings(home: &Home, settings: &Settings, redactor: Redactor) -> log::Settings {
    let megabytes = settings.number("logging.max_size_mb").clamp(1.0, 1024.0);
    let backups = settings.number("logging.backup_count").clamp(0.0, 100.0);
    log::Settings {
        level: settings
            .text("logging.level")
            .parse()
            .unwrap_or(log::Level::Info),
        rotation: log::Rotation::megabytes(megabytes as u64, backups as u32),
        access: if home.manager().is_some() {
            log::Access::Group
        } else {
            log::Access::Owner
        },
        redactor,
        ..log::Settings::new(home.logs_dir())
    }
}
