//! What ends with a conversation besides its turn: background jobs and what was allowed in it. Who keeps them
//! knows how to end them, the session when.

use std::sync::Arc;

use futures::future::BoxFuture;
use hermes_types::{AgentEvent, SessionId};

use crate::actor::Live;

/// Ends all jobs of a session; says how many there were.
pub type StopJobs = Arc<dyn Fn(SessionId) -> BoxFuture<'static, usize> + Send + Sync>;

/// Takes back what the owner allowed for one conversation.
pub type Forget = Arc<dyn Fn() + Send + Sync>;

impl Live {
    /// With permissions that end with the conversation they were given in.
    #[must_use]
    pub fn with_permissions(mut self, forget: Forget) -> Self {
        self.forget = Some(forget);
        self
    }

    /// Another conversation begins: nothing that was allowed in the last one is allowed in it.
    pub(crate) fn forget_permissions(&self) {
        if let Some(forget) = &self.forget {
            forget();
        }
    }

    /// With jobs that end with `/stop`, and with the conversation they were started in.
    #[must_use]
    pub fn with_jobs(mut self, stop: StopJobs) -> Self {
        self.stop_jobs = Some(stop);
        self
    }

    /// Ends the jobs of this session or of the one before it; says so if there were any.
    pub(crate) async fn stop_jobs(&self, id: SessionId) -> Option<String> {
        let stop = self.stop_jobs.as_ref()?;
        stopped(stop(id).await)
    }

    /// The same while a turn runs, which must not wait for it.
    pub(crate) fn stop_jobs_aside(&mut self) {
        let (events, id) = (self.events.clone(), self.task.clone());
        if let Some(stop) = self.stop_jobs.clone() {
            self.aside.spawn(async move {
                if let Some(told) = stopped(stop(id).await) {
                    events.send(AgentEvent::Notice(told));
                }
            });
        }
    }
}

fn stopped(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("stopped 1 background process".to_owned()),
        n => Some(format!("stopped {n} background processes")),
    }
}
