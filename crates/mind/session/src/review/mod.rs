//! Looking back: after some turns, what was said is read once more by a fork of the agent that can only write down
//! what it learned. It works beside the conversation and leaves no trace in it.

mod due;
mod fork;

use std::sync::Arc;

use hermes_types::{AgentEvent, ModelClient, Purpose, Role, Scope, Tool, TurnEnd};

use crate::actor::Live;
pub(crate) use due::Counters;
use fork::Fork;

/// What the reviewer may use: everything else is shown to it as to its parent, and refused.
pub type ReviewTools = Arc<dyn Fn() -> Vec<Arc<dyn Tool>> + Send + Sync>;

/// When a session looks back, and with what.
#[derive(Clone)]
pub struct Review {
    /// Turns of the owner between two looks at what is worth remembering; 0: never.
    pub memory_every: u32,
    /// Requests to the model between two looks at what could be a skill; 0: never.
    pub skills_every: u32,
    pub tools: ReviewTools,
    /// Whether the owner is told what was learned.
    pub told: Told,
    /// Who reviews.
    pub reviewer: Reviewer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Yes,
    No,
}

/// Who reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reviewer {
    /// The conversation's own model, which has most of it in its cache.
    Same,
    /// `auxiliary.background_review`, which gets a shorter version.
    Other,
}

pub(crate) const TASK: &str = "background_review";

impl Live {
    /// With looking back.
    #[must_use]
    pub fn with_review(mut self, review: Review) -> Self {
        let messages = self.conversation.messages().iter();
        let turns = messages.filter(|message| message.role == Role::User);
        self.counters.seed(turns.count(), review.memory_every);
        self.review = Some(review);
        self
    }

    /// Before a turn: one more of the owner's.
    pub(crate) fn count_turn(&self) {
        if let Some(review) = &self.review {
            let toolbox = (self.opening.tools)();
            let has = |name: &str| toolbox.get(name).is_some();
            self.counters
                .begin_turn(review, has("memory"), has("skill_manage"));
        }
    }

    /// After a turn that ended well: looks back if it is time.
    pub(crate) fn look_back(&mut self, end: &TurnEnd) {
        let Some(review) = self.review.clone() else {
            return;
        };
        if !end.answered() || self.purses.session.empty().is_some() {
            return;
        }
        let Some(due) = self.counters.due(&review) else {
            return;
        };
        let Some(model) = self.reviewer(review.reviewer) else {
            // There may be one the next time it is due.
            self.counters.done();
            return;
        };
        let scope = Scope {
            session: self.task.clone(),
            purse: self.purses.session.clone(),
            ..self.scope().child()
        };
        let fork = Fork {
            parent: self.prepare(&scope),
            model,
            instructions: self.conversation.instructions(),
            messages: self.conversation.messages().to_vec(),
            store: self.opening.store.clone(),
            id: self.id.clone(),
            review: review.clone(),
        };
        let (events, counters) = (self.events.clone(), self.counters.clone());
        self.aside.spawn(async move {
            let learned = fork.run(due).await;
            counters.done();
            match learned {
                Ok(phrases) if phrases.is_empty() || review.told == Told::No => {}
                Ok(phrases) => events.send(AgentEvent::Notice(format!(
                    "💾 Self-improvement review: {}",
                    phrases.join(" · ")
                ))),
                Err(reason) => tracing::warn!("the review came to nothing: {reason}"),
            }
        });
    }

    fn reviewer(&self, who: Reviewer) -> Option<Arc<dyn ModelClient>> {
        match who {
            Reviewer::Same => Some(self.opening.model.clone()),
            Reviewer::Other => self
                .opening
                .models
                .client(&Purpose::Aux(TASK))
                .inspect_err(|error| tracing::warn!("nobody can review: {error}"))
                .ok(),
        }
    }
}

impl std::fmt::Debug for Review {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Review")
            .field("memory_every", &self.memory_every)
            .field("skills_every", &self.skills_every)
            .finish_non_exhaustive()
    }
}
