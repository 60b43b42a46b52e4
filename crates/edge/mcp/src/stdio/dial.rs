//! Starts the server's program.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use hermes_proc::{Errors, Group, Lifeline, Piped, Spawn, Stdin, Tty, Watched};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use super::error_log::ErrorLog;
use super::link::{Started, StdioLink};
use crate::config::{Secret, ServerConfig, StdioEndpoint};
use crate::failure::{Class, Failure};
use crate::link::{Dial, Inbox, Link};
use crate::timing::Timing;

/// Starts a child for every connection.
pub(crate) struct StdioDial {
    config: Arc<ServerConfig>,
    endpoint: StdioEndpoint,
    timing: Timing,
    /// Ends the child and all it started if we are killed. `None` inside: it could not be started, and they may
    /// outlive us.
    lifeline: OnceCell<Option<Lifeline>>,
}

impl StdioDial {
    pub(crate) fn new(config: &ServerConfig, endpoint: &StdioEndpoint, timing: Timing) -> Self {
        Self {
            config: Arc::new(config.clone()),
            endpoint: endpoint.clone(),
            timing,
            lifeline: OnceCell::new(),
        }
    }

    async fn start(&self, inbox: Inbox) -> Result<Arc<dyn Link>, Failure> {
        // Before the child, so that it is in good hands from its first moment.
        let lifeline = self.lifeline.get_or_init(async || self.tie()).await;
        let (errors, error_log) = self.error_log().await;
        let piped = self.spawn(errors)?;
        let watched = watch(lifeline.as_ref(), piped.process.group());
        let started = Started {
            config: Arc::clone(&self.config),
            piped,
            watched,
            error_log,
            farewell: self.timing.farewell,
        };
        Ok(Arc::new(StdioLink::new(started, inbox)))
    }

    fn tie(&self) -> Option<Lifeline> {
        Lifeline::start()
            .inspect_err(|error| {
                let server = &self.config.name;
                tracing::warn!(server, "the server's program may outlive us: {error}");
            })
            .ok()
    }

    /// Where the child's errors go. A log that cannot be written keeps no server from working.
    async fn error_log(&self) -> (Errors, Option<ErrorLog>) {
        let Some(path) = self.endpoint.stderr.clone() else {
            return (Errors::Discard, None);
        };
        let name = self.config.name.clone();
        let shown = path.display().to_string();
        let opened = spawn_blocking(move || ErrorLog::open(&path, &name)).await;
        match opened.map_err(std::io::Error::other).flatten() {
            Ok((file, log)) => (Errors::File(file), Some(log)),
            Err(error) => {
                let server = &self.config.name;
                tracing::warn!(server, "cannot write to {shown}: {error}");
                (Errors::Discard, None)
            }
        }
    }

    fn spawn(&self, errors: Errors) -> Result<Piped, Failure> {
        let StdioEndpoint {
            program, args, dir, ..
        } = &self.endpoint;
        let value = |(name, value): (&String, &Secret)| (name.clone(), value.expose().to_owned());
        let spawn = Spawn {
            program: program.clone(),
            args: args.clone(),
            env: self.endpoint.env.iter().map(value).collect(),
            dir: dir.clone(),
            stdin: Stdin::Open,
            tty: Tty::None,
        };
        spawn
            .start_piped(errors)
            .map_err(|error| cannot_start(&error, dir))
    }
}

impl Dial for StdioDial {
    fn dial(&self, inbox: Inbox) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>> {
        Box::pin(self.start(inbox))
    }
}

fn watch(lifeline: Option<&Lifeline>, group: Group) -> Option<Watched> {
    Some(lifeline?.watch(group))
}

fn cannot_start(error: &hermes_proc::Error, dir: &Path) -> Failure {
    let class = match error.is_lasting() {
        true => Class::Setup,
        false => Class::NotSent,
    };
    // The system says the same of a program and of the directory it should run in.
    let message = match error.is_missing() && !dir.is_dir() {
        true => format!("{error}; there is no directory {}", dir.display()),
        false => error.to_string(),
    };
    Failure::new(class, "Cannot start", message)
}
