//! One background command: what it has said, whether it runs, who was told.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_home::redact::Redactor;
use hermes_proc::{Group, Input, start_time};
use hermes_types::SessionId;
use serde_json::Map;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::record::{Owner, Record};
use super::rolling::Rolling;
use super::watch::Watch;
use crate::terminal::{Password, clean};

/// Output kept of each job.
const BUFFER: usize = 200_000;
/// What a job that was killed is said to have ended with.
pub(super) const KILLED: i32 = -15;

#[derive(Debug)]
pub(super) struct Job {
    /// `proc_` and twelve hex digits.
    pub id: String,
    pub command: String,
    pub cwd: PathBuf,
    pub session: SessionId,
    pub pid: Option<u32>,
    /// Tells this process from a later one with the same number.
    pub start_time: Option<u64>,
    pub started_at: SystemTime,
    pub begun: Instant,
    pub origin: Origin,
    state: Mutex<State>,
    /// Whether it has ended, for those who wait.
    ended: watch::Sender<bool>,
    /// Asks the task that follows it to end it.
    pub stop: CancellationToken,
    /// Asks the task that follows it to let it go.
    pub release: CancellationToken,
    pub input: tokio::sync::Mutex<Option<Input>>,
    /// What it was told that nobody else may see.
    secret: Option<Password>,
}

/// How we came to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Started,
    /// Found running after a restart: it can be looked at and killed, but not heard.
    Found,
}

#[derive(Debug)]
pub(super) struct State {
    pub output: Rolling,
    pub end: Option<End>,
    /// Tell the session when it ends.
    pub notify: bool,
    /// The model knows that it has ended.
    pub end_seen: bool,
    pub watch: Option<Watch>,
    pub patterns: Vec<String>,
    pub killed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// `None`: nobody was there to see it.
    pub exit_code: Option<i32>,
    pub at: Instant,
}

/// What a new job is made from.
#[derive(Debug)]
pub(super) struct NewJob {
    pub command: String,
    pub cwd: PathBuf,
    pub session: SessionId,
    pub pid: Option<u32>,
    pub input: Option<Input>,
    pub notify: bool,
    pub patterns: Vec<String>,
    /// What it was told that nobody else may see.
    pub secret: Option<Password>,
}

impl Job {
    pub fn started(new: NewJob) -> Self {
        let id = format!("proc_{:012x}", fastrand::u64(..1 << 48));
        let start_time = new.pid.and_then(start_time);
        let job = Self::new(id, new, start_time, Origin::Started);
        tracing::debug!(id = job.id, "background process started");
        job
    }

    /// A job of an earlier Hermes. It may have ended by now; whoever looks after it will see.
    pub fn found(record: Record) -> Self {
        let new = NewJob {
            command: record.command,
            cwd: record.cwd.into(),
            session: record.session_key.into(),
            pid: record.pid,
            input: None,
            notify: record.notify_on_complete,
            patterns: Vec::new(),
            secret: None,
        };
        let start_time = record.host_start_time;
        let mut job = Self::new(record.session_id, new, start_time, Origin::Found);
        let age = Duration::try_from_secs_f64(record.started_at).unwrap_or_default();
        job.started_at = UNIX_EPOCH + age;
        job
    }

    fn new(id: String, new: NewJob, start_time: Option<u64>, origin: Origin) -> Self {
        let watch = (!new.patterns.is_empty()).then(|| Watch::new(new.patterns.clone()));
        Self {
            id,
            command: new.command,
            cwd: new.cwd,
            session: new.session,
            pid: new.pid,
            start_time,
            started_at: SystemTime::now(),
            begun: Instant::now(),
            origin,
            state: Mutex::new(State {
                output: Rolling::new(BUFFER),
                end: None,
                notify: new.notify,
                end_seen: false,
                watch,
                patterns: new.patterns,
                killed: false,
            }),
            ended: watch::Sender::new(false),
            stop: CancellationToken::new(),
            release: CancellationToken::new(),
            input: tokio::sync::Mutex::new(new.input),
            secret: new.secret,
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its output, or a part of it, as it may be shown.
    pub fn shown(&self, text: &str, redactor: &Redactor) -> String {
        let text = clean(text, redactor);
        match &self.secret {
            Some(secret) => secret.hidden_in(text),
            None => text,
        }
    }

    pub fn end(&self) -> Option<End> {
        self.state().end
    }

    pub fn uptime(&self) -> Duration {
        let end = self.end().map_or_else(Instant::now, |end| end.at);
        match self.origin {
            Origin::Started => end - self.begun,
            Origin::Found => self.started_at.elapsed().unwrap_or_default(),
        }
    }

    /// Notes the end; whether the session wants to hear of it.
    pub fn has_ended(&self, exit_code: Option<i32>) -> bool {
        let mut state = self.state();
        let exit_code = if state.killed {
            Some(KILLED)
        } else {
            exit_code
        };
        state.end = Some(End {
            exit_code,
            at: Instant::now(),
        });
        // Nothing is told about output that is still read after the end.
        state.watch = None;
        let tell = state.notify && !state.end_seen;
        drop(state);
        self.ended.send_replace(true);
        tell
    }

    /// Ready when it has ended.
    pub async fn wait(&self) {
        // The sender lives as long as the job, so this cannot fail.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// The group of a job we only found; `None` if its number means somebody else by now.
    pub fn found_group(&self) -> Option<Group> {
        let pid = self.pid?;
        let same = self.start_time.is_some() && start_time(pid) == self.start_time;
        same.then(|| Group::led_by(pid)).flatten()
    }

    pub fn record(&self) -> Record {
        let state = self.state();
        let started_at = self
            .started_at
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Record {
            session_id: self.id.clone(),
            command: self.command.clone(),
            pid: self.pid,
            pid_scope: "host".to_owned(),
            host_start_time: self.start_time,
            cwd: self.cwd.display().to_string(),
            started_at: started_at.as_secs_f64(),
            task_id: self.session.to_string(),
            session_key: self.session.to_string(),
            notify_on_complete: state.notify,
            watch_patterns: state.patterns.clone(),
            owner: Some(Owner::us()),
            extra: Map::new(),
        }
    }
}
