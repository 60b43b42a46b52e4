//! How full a conversation is, and what became of attempts to make it shorter.

use std::time::Duration;

use hermes_types::{Message, ModelErrorKind, Usage};
use tokio::time::Instant;

use super::assemble::is_summary;

/// Passes in a row that saved next to nothing; after these it no longer happens by itself.
const FUTILE: u32 = 2;
/// What a pass must save to count.
const WORTH: f64 = 0.10;

/// Belongs to a conversation, from turn to turn.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// What the last reply counted.
    last: Option<Usage>,
    /// Tokens the provider saw last, and how many messages these were; gone when the conversation changes.
    seen: Option<(u64, usize)>,
    passes: u32,
    futile: u32,
    /// Its owner wants it whole as long as it fits.
    held: bool,
    /// No model is asked for a summary before this.
    cools: Option<Instant>,
    /// A window smaller than thought, and whose it is.
    limit: Option<(String, u64)>,
}

impl Load {
    pub(crate) fn of(messages: &[Message]) -> Self {
        Self {
            passes: u32::from(messages.iter().any(is_summary)),
            ..Self::default()
        }
    }

    /// Tokens of the last reply.
    pub fn last(&self) -> Option<Usage> {
        self.last
    }

    /// How often the conversation was made shorter.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    pub(crate) fn heard(&mut self, usage: &Usage, messages: usize) {
        if usage.prompt() > 0 {
            self.last = Some(*usage);
            self.seen = Some((usage.prompt() + usage.output, messages));
        }
    }

    /// What the provider counted, and how many messages have come since were not in it.
    pub(super) fn seen(&self) -> Option<(u64, usize)> {
        self.seen
    }

    /// Takes note of a pass: what the messages weighed before and after it.
    pub(super) fn passed(&mut self, before: u64, after: u64) {
        let saved = before.saturating_sub(after) as f64;
        self.futile = if saved < before as f64 * WORTH {
            self.futile + 1
        } else {
            0
        };
        if after < before {
            self.passes += 1;
            self.seen = None;
        }
    }

    /// Whether it is left alone until it no longer fits.
    pub(super) fn is_left_alone(&self) -> bool {
        self.held || self.futile >= FUTILE
    }

    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    pub(super) fn failed(&mut self, kind: ModelErrorKind) {
        let wait = match kind {
            ModelErrorKind::NotConfigured | ModelErrorKind::Auth | ModelErrorKind::Billing => 600,
            ModelErrorKind::Malformed | ModelErrorKind::Transport => 30,
            _ => 60,
        };
        self.cools = Some(Instant::now() + Duration::from_secs(wait));
    }

    /// How long no model is asked.
    pub(super) fn cooldown(&self) -> Option<Duration> {
        let left = self.cools?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The owner wants it now, whatever went wrong before.
    pub(super) fn forgive(&mut self) {
        (self.cools, self.futile, self.held) = (None, 0, false);
    }

    pub(super) fn learn(&mut self, model: &str, limit: u64) {
        self.limit = Some((model.to_owned(), limit));
    }

    /// The window of a model as far as is known by now.
    pub(super) fn window(&self, model: &str, told: u64) -> u64 {
        let learned = self.limit.as_ref().filter(|(name, _)| name == model);
        learned.map_or(told, |(_, limit)| told.min(*limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_passes_for_nothing_are_enough() {
        let mut load = Load::default();
        load.passed(100, 95);
        load.passed(100, 50);
        load.passed(100, 91);
        assert!(!load.is_left_alone());
        load.passed(100, 100);
        assert!(load.is_left_alone());
        assert_eq!(load.passes(), 3);
        load.forgive();
        assert!(!load.is_left_alone());
    }

    #[test]
    fn a_failed_summary_is_not_tried_again_at_once() {
        let check = |kind, seconds| {
            let mut load = Load::default();
            assert_eq!(load.cooldown(), None);
            load.failed(kind);
            let left = load.cooldown().unwrap().as_secs_f64();
            assert!(
                (seconds - 5.0..=seconds).contains(&left),
                "{kind:?}: {left}"
            );
            load.forgive();
            assert_eq!(load.cooldown(), None);
        };
        check(ModelErrorKind::NotConfigured, 600.0);
        check(ModelErrorKind::Malformed, 30.0);
        check(ModelErrorKind::Server, 60.0);
    }
}
