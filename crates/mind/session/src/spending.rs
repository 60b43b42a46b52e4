//! What a conversation may cost: the limits, and the purses its turns pay from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hermes_agent::Events;
use hermes_home::clock;
use hermes_store::Store;
use hermes_types::{AgentEvent, Pot, Purse, SessionId};
use jiff::civil::Date;

use crate::actor::Live;

/// Limits in dollars: `limits.max_cost_usd`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    pub turn: Option<f64>,
    pub session: Option<f64>,
    pub day: Option<f64>,
}

/// Pots inside pots: a turn's in its session's, in the day's.
#[derive(Debug, Default)]
pub(crate) struct Purses {
    pub day: Purse,
    pub session: Purse,
    pub turn: Purse,
    /// What they were filled for.
    of: Option<(SessionId, Date)>,
    /// Whether the owner knows that a limit is set on something without a price.
    told: Arc<AtomicBool>,
    /// Tokens of the last request and its reply; 0: none yet.
    pub context: Arc<AtomicU64>,
}

impl Spending {
    /// What is left of the day, for work beside the turns.
    pub async fn rest_of_day(self, store: &Store) -> Purse {
        let spent = match self.day {
            Some(_) => spent_today(store).await,
            None => 0.0,
        };
        Purse::new(Pot {
            name: Pot::DAY,
            limit: self.day,
            spent,
        })
    }
}

/// Nobody stops working because it is not known.
async fn spent_today(store: &Store) -> f64 {
    let spent = store.spent_on(&clock::now()).await;
    spent.unwrap_or_else(|error| {
        tracing::warn!("what was spent today is not known: {error}");
        0.0
    })
}

impl Live {
    /// With limits.
    #[must_use]
    pub fn with_spending(mut self, spending: Spending) -> Self {
        self.spending = spending;
        self
    }

    /// Fills the purses for the next turn, with what everybody has spent by now.
    pub(crate) async fn fill_purses(&mut self) {
        let (now, limits) = (clock::now(), self.spending);
        let (mut today, mut so_far) = (0.0_f64, 0.0_f64);
        if limits.day.is_some() {
            today = spent_today(&self.opening.store).await;
        }
        if limits.session.is_some() {
            let account = self.opening.store.account(&self.id).await;
            so_far = account
                .map(|account| account.usd())
                .unwrap_or_else(|error| {
                    tracing::warn!("what {} has cost is not known: {error}", self.id);
                    0.0
                });
        }
        // A store that takes nothing in any more, or has yet to, must not make a limit longer.
        let (same_session, same_day) = match &self.purses.of {
            Some((id, day)) => (*id == self.id, *day == now.date()),
            None => (false, false),
        };
        if same_day {
            today = today.max(self.purses.day.total());
        }
        if same_session {
            so_far = so_far.max(self.purses.session.total());
        } else {
            (self.purses.told, self.purses.context) = Default::default();
        }
        let pot = |name, limit, spent| Pot { name, limit, spent };
        self.purses.day = Purse::new(pot(Pot::DAY, limits.day, today));
        let session = pot(Pot::SESSION, limits.session, so_far);
        self.purses.session = self.purses.day.inside(session);
        let turn = pot(Pot::TURN, limits.turn, 0.0);
        self.purses.turn = self.purses.session.inside(turn);
        self.purses.of = Some((self.id.clone(), now.date()));
    }

    /// The turn's events on their way to whoever watches: what they say about money is kept, and said once
    /// if it cannot be counted.
    pub(crate) fn watched(&self) -> Events {
        let (events, turn) = (self.events.clone(), self.purses.turn.clone());
        let (told, context) = (self.purses.told.clone(), self.purses.context.clone());
        let model = self.opening.model.info().model.clone();
        let (counters, hear) = (self.counters.clone(), self.hearing());
        Events::new(move |event| {
            counters.hear(&event);
            hear(&event);
            if let AgentEvent::Usage { usage, .. } = &event {
                context.store(usage.prompt() + usage.output, Ordering::Relaxed);
            }
            if turn.has_limit() && turn.is_unpriced() && !told.swap(true, Ordering::Relaxed) {
                events.send(AgentEvent::Notice(format!(
                    "a spending limit is set, but nobody knows what {model} costs: its requests are not counted"
                )));
            }
            events.send(event);
        })
    }
}
