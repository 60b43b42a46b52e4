//! What a session has to do with the files around it: checkpoints, `/rollback`, and what messages refer to.

use std::sync::Arc;

use futures::future::FutureExt;
use hermes_checkpoints::{Checkpoints, RolledBack as Done};
use hermes_refs::References;
use hermes_session::{Attach, Attached, Rollback, RolledBack};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::hands::Hands;
use crate::cli::Talk;
use crate::wire::App;

/// The checkpoints of a home, on or off for this session.
pub fn checkpoints(app: &App, talk: &Talk) -> Arc<Checkpoints> {
    let checkpoints = Checkpoints::new(&app.home, &app.settings, &app.env);
    Arc::new(match talk.checkpoints {
        true => checkpoints.turned_on(),
        false => checkpoints,
    })
}

impl Hands {
    /// Looks after the store beside the session. Nobody waits for it.
    pub fn tend_checkpoints(&self) -> AbortOnDropHandle<()> {
        let tend = self.checkpoints.clone().tend();
        AbortOnDropHandle::new(TaskTracker::new().spawn(tend))
    }

    /// `/rollback` in the project where the session is.
    pub fn rollback(&self) -> Rollback {
        let (checkpoints, cwd) = (self.checkpoints.clone(), self.cwd.clone());
        Arc::new(move |words| {
            let (checkpoints, cwd) = (checkpoints.clone(), cwd.get());
            async move {
                match checkpoints.rollback(&cwd, &words).await {
                    Done::Told(text) => RolledBack::Told(text),
                    Done::Restored(text) => RolledBack::Restored(text),
                }
            }
            .boxed()
        })
    }

    /// Reads what messages refer to, from where the session is then.
    pub fn references(&self, app: &App) -> Attach {
        let references = Arc::new(References::new(&app.home, &app.settings, &app.env));
        let cwd = self.cwd.clone();
        Arc::new(move |text, window| {
            let (references, cwd) = (references.clone(), cwd.get());
            async move {
                let sent = references.expand(&text, &cwd, window).await;
                let notices = sent.notices();
                let text = sent.text;
                Attached { text, notices }
            }
            .boxed()
        })
    }
}
