//! What work may cost: pots inside pots. Whoever pays takes it from the innermost; all around it notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One pot and those it is in: a child's in a turn's, in a session's, in a day's.
#[derive(Clone, Debug, Default)]
pub struct Purse(Arc<Inner>);

/// A limit and what it is for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pot {
    /// For people: `this turn`, `this session`, `today`.
    pub name: &'static str,
    /// Dollars; `None`: no limit.
    pub limit: Option<f64>,
    /// Dollars spent before.
    pub spent: f64,
}

#[derive(Debug, Default)]
struct Inner {
    pot: Pot,
    /// In millionths of a dollar; since the purse was made.
    more: AtomicU64,
    /// Something was bought whose price nobody knows.
    unpriced: AtomicBool,
    around: Option<Purse>,
}

const MILLIONTHS: f64 = 1e6;

impl Purse {
    pub fn new(pot: Pot) -> Self {
        Self::made(pot, None)
    }

    /// A pot of its own; what is taken from it is taken from this one too.
    #[must_use]
    pub fn inside(&self, pot: Pot) -> Self {
        Self::made(pot, Some(self.clone()))
    }

    fn made(pot: Pot, around: Option<Self>) -> Self {
        Self(Arc::new(Inner {
            pot,
            around,
            ..Inner::default()
        }))
    }

    /// Notes what one reply cost; `None`: nobody knows.
    pub fn pay(&self, usd: Option<f64>) {
        for purse in self.outwards() {
            match usd {
                Some(usd) => {
                    let amount = (usd.max(0.0) * MILLIONTHS).round() as u64;
                    purse.0.more.fetch_add(amount, Ordering::Relaxed);
                }
                None => purse.0.unpriced.store(true, Ordering::Relaxed),
            }
        }
    }

    /// What was taken from this pot since it was made; what was spent before is not in it.
    pub fn spent(&self) -> f64 {
        self.0.more.load(Ordering::Relaxed) as f64 / MILLIONTHS
    }

    /// Whether something was bought whose price nobody knows.
    pub fn is_unpriced(&self) -> bool {
        self.0.unpriced.load(Ordering::Relaxed)
    }

    pub fn has_limit(&self) -> bool {
        self.outwards().any(|purse| purse.0.pot.limit.is_some())
    }

    /// The innermost pot that is empty, with what was spent by now.
    pub fn empty(&self) -> Option<Pot> {
        let filled = self.outwards().map(|purse| Pot {
            spent: purse.0.pot.spent + purse.spent(),
            ..purse.0.pot.clone()
        });
        filled
            .into_iter()
            .find(|pot| pot.limit.is_some_and(|limit| pot.spent >= limit))
    }

    fn outwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |purse| purse.0.around.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pot(name: &'static str, limit: Option<f64>, spent: f64) -> Pot {
        Pot { name, limit, spent }
    }

    #[test]
    fn what_is_taken_from_a_pot_is_taken_from_those_around_it() {
        let day = Purse::new(pot("today", Some(1.0), 0.5));
        let turn = day.inside(pot("this turn", Some(0.4), 0.0));
        let child = turn.inside(Pot::default());
        child.pay(Some(0.3));
        assert_eq!(turn.empty(), None);
        assert_eq!((child.spent(), turn.spent(), day.spent()), (0.3, 0.3, 0.3));
        turn.pay(Some(0.1));
        assert_eq!(child.empty(), Some(pot("this turn", Some(0.4), 0.4)));
        assert_eq!(child.spent(), 0.3);
        let next = day.inside(pot("this turn", Some(0.4), 0.0));
        assert_eq!(next.empty(), None);
        next.pay(Some(0.1));
        assert_eq!(next.empty(), Some(pot("today", Some(1.0), 1.0)));
    }

    #[test]
    fn an_unknown_price_is_noticed_and_costs_nothing() {
        let purse = Purse::new(pot("this turn", Some(0.1), 0.0));
        purse.pay(None);
        assert!(purse.is_unpriced() && purse.has_limit());
        assert_eq!((purse.spent(), purse.empty()), (0.0, None));
        assert!(!Purse::default().has_limit());
    }
}
