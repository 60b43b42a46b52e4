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

impl Pot {
    pub const TURN: &str = "this turn";
    pub const SESSION: &str = "this session";
    pub const DAY: &str = "today";

    /// What the owner reads when it is empty: which limit, how much, and how to go on.
    pub fn refusal(&self) -> String {
        let (name, spent) = (self.name, usd(self.spent));
        let limit = self.limit.map_or("nothing".to_owned(), usd);
        let key = match name {
            Self::TURN => ".turn",
            Self::SESSION => ".session",
            Self::DAY => ".day",
            _ => "",
        };
        let next = match name {
            Self::TURN => "another prompt goes on",
            Self::SESSION => "/new begins another one",
            _ => "tomorrow is another day",
        };
        format!(
            "The spending limit for {name} is reached: {spent} of {limit}. /usage shows what it went on; \
             {next}, or raise limits.max_cost_usd{key} with `hermes config set`."
        )
    }
}

/// `$0.0042`, `$1.50`: cents are enough from a dollar on.
pub fn usd(amount: f64) -> String {
    // The sum of nothing is a negative zero.
    let amount = amount + 0.0;
    if amount == 0.0 || amount.abs() >= 1.0 {
        format!("${amount:.2}")
    } else {
        format!("${amount:.4}")
    }
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

    /// What was taken from this pot, and what was spent before.
    pub fn total(&self) -> f64 {
        self.0.pot.spent + self.spent()
    }

    pub fn limit(&self) -> Option<f64> {
        self.0.pot.limit
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
            spent: purse.total(),
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
    fn dollars_for_people() {
        let check = |amount, expected: &str| assert_eq!(usd(amount), expected);
        check(0.0, "$0.00");
        check(-0.0, "$0.00");
        check(0.0042, "$0.0042");
        check(1.499, "$1.50");
    }

    #[test]
    fn an_empty_pot_says_which_how_much_and_how_to_go_on() {
        let check = |pot: Pot, parts: [&str; 3]| {
            let text = pot.refusal();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        let turn = [
            "this turn",
            "$0.0512 of $0.0500",
            "limits.max_cost_usd.turn",
        ];
        check(pot(Pot::TURN, Some(0.05), 0.0512), turn);
        let day = ["today", "$12.00 of $10.00", "limits.max_cost_usd.day"];
        check(pot(Pot::DAY, Some(10.0), 12.0), day);
        let session = ["this session", "/usage", "/new"];
        check(pot(Pot::SESSION, Some(1.0), 1.0), session);
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
