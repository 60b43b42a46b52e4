//! When it is time to look back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_types::{AgentEvent, Outcome};

use super::Review;

/// What a review is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Memory,
    Skills,
    Both,
}

/// Counted by the turns and by what happens in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
struct Count {
    turns_since_memory: u32,
    requests_since_skill: u32,
    /// Whether a review is under way: one at a time.
    is_busy: bool,
    /// Whether requests are counted in this turn.
    counts_requests: bool,
}

impl Counters {
    /// Goes on where an earlier process stopped.
    pub fn seed(&self, turns: usize, every: u32) {
        let turns = u32::try_from(turns).unwrap_or_default();
        self.lock().turns_since_memory = turns.checked_rem(every).unwrap_or_default();
    }

    pub fn begin_turn(&self, review: &Review, can_remember: bool, can_write_skills: bool) {
        let mut count = self.lock();
        if can_remember && review.memory_every > 0 {
            count.turns_since_memory += 1;
        }
        count.counts_requests = can_write_skills && review.skills_every > 0;
    }

    /// Hears what happens in a turn.
    pub fn hear(&self, event: &AgentEvent) {
        let mut count = self.lock();
        match event {
            AgentEvent::Usage { .. } if count.counts_requests => count.requests_since_skill += 1,
            AgentEvent::ToolFinished { name, outcome, .. } if *outcome != Outcome::Denied => {
                match name.as_str() {
                    "memory" => count.turns_since_memory = 0,
                    "skill_manage" => count.requests_since_skill = 0,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// What is due now, if anything; it begins to count anew and is busy until [`Self::done`].
    pub fn due(&self, review: &Review) -> Option<Due> {
        let mut count = self.lock();
        if count.is_busy {
            return None;
        }
        let memory = review.memory_every > 0 && count.turns_since_memory >= review.memory_every;
        let skills = review.skills_every > 0 && count.requests_since_skill >= review.skills_every;
        let due = match (memory, skills) {
            (true, true) => Due::Both,
            (true, false) => Due::Memory,
            (false, true) => Due::Skills,
            (false, false) => return None,
        };
        if memory {
            count.turns_since_memory = 0;
        }
        if skills {
            count.requests_since_skill = 0;
        }
        count.is_busy = true;
        Some(due)
    }

    pub fn done(&self) {
        self.lock().is_busy = false;
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
