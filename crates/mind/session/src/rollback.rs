//! `/rollback`: whoever keeps the files knows how to bring them back; the session what that means for what was said.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::actor::Live;

/// Carries out what follows `/rollback`.
pub type Rollback = Arc<dyn Fn(String) -> BoxFuture<'static, RolledBack> + Send + Sync>;

/// What came of it, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolledBack {
    /// No file was changed.
    Told(String),
    /// Files are as they were: what the last turn did to them is undone.
    Restored(String),
}

impl Live {
    /// With files that can be brought back.
    #[must_use]
    pub fn with_rollback(mut self, rollback: Rollback) -> Self {
        self.rollback = Some(rollback);
        self
    }

    /// Files and conversation go back together, or the model would build on what is no longer there.
    pub(crate) async fn roll_back(&mut self, words: &str) -> String {
        let Some(rollback) = &self.rollback else {
            return "there are no checkpoints here".to_owned();
        };
        match rollback(words.to_owned()).await {
            RolledBack::Told(said) => said,
            RolledBack::Restored(said) if self.conversation.messages().is_empty() => said,
            RolledBack::Restored(said) => format!("{said}\n{}", self.undo(1).await),
        }
    }
}
