//! The witness of a session: what its tools do goes into the home's audit log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hermes_home::Home;
use hermes_home::audit::{Action, Audit};
use hermes_home::config::Settings;
use hermes_types::{Act, Outcome, Witness};
use jiff::Timestamp;

/// How long a disk may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes to the audit log of a home, off the threads that turns run on.
#[derive(Debug)]
pub struct AuditLog {
    shared: Arc<Shared>,
    /// The owner hears of trouble once.
    told: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    home: Home,
    /// `audit.keep_months`
    keep_months: u32,
    /// Old months are looked for with the first action.
    pruned: AtomicBool,
    /// Actions that could not be written; the next that can says so.
    missed: AtomicU64,
}

impl AuditLog {
    /// The witness the owner wants, if any.
    pub fn wanted(home: &Home, settings: &Settings) -> Option<Arc<dyn Witness>> {
        // A century is for ever.
        let months = settings.number("audit.keep_months").clamp(0.0, 1_200.0) as u32;
        let log = || -> Arc<dyn Witness> { Arc::new(Self::new(home.clone(), months)) };
        settings.is_on("audit.enabled").then(log)
    }

    pub fn new(home: Home, keep_months: u32) -> Self {
        let shared = Shared {
            home,
            keep_months,
            pruned: AtomicBool::new(false),
            missed: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            told: AtomicBool::new(false),
        }
    }
}

impl Witness for AuditLog {
    fn saw(&self, act: Act) -> BoxFuture<'_, Option<String>> {
        async move {
            let shared = self.shared.clone();
            let writing = tokio::task::spawn_blocking(move || shared.write(act));
            let reason = match tokio::time::timeout(PATIENCE, writing).await {
                Ok(Ok(Ok(()))) => return None,
                Ok(Ok(Err(error))) => error.to_string(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the disk doesn't answer".to_owned(),
            };
            (!self.told.swap(true, Ordering::Relaxed)).then(|| {
                tracing::warn!("the audit log is not being written: {reason}");
                format!("what is done here is not written to the audit log: {reason}")
            })
        }
        .boxed()
    }
}

impl Shared {
    fn write(&self, act: Act) -> hermes_home::Result<()> {
        let missed = self.missed.swap(0, Ordering::Relaxed);
        let written = self.record(&Action {
            missed,
            ..action(act)
        });
        if written.is_err() {
            self.missed.fetch_add(missed + 1, Ordering::Relaxed);
        }
        written
    }

    fn record(&self, action: &Action) -> hermes_home::Result<()> {
        let (audit, now) = (Audit::open(&self.home)?, Timestamp::now());
        if !self.pruned.swap(true, Ordering::Relaxed)
            && let Err(error) = audit.prune(self.keep_months, now)
        {
            tracing::warn!("old months of the audit log stay: {error}");
        }
        audit.record(action, now)
    }
}

fn action(act: Act) -> Action {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let outcome = match act.outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
        Outcome::Cancelled => "cancelled",
    };
    Action {
        session: act.session.to_string(),
        tool: act.tool,
        about: act.about,
        place: text(&act.place),
        decision: act.decision,
        outcome: outcome.to_owned(),
        took_ms: u64::try_from(act.took.as_millis()).unwrap_or(u64::MAX),
        changed: act.changed.iter().map(|path| text(path)).collect(),
        missed: 0,
    }
}
