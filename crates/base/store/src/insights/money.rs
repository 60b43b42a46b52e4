//! Where the money went.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;

use super::rows::Names;
use super::short;
use crate::Share;

/// Every list adds up to `usd`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Money {
    pub usd: f64,
    /// Answers of the conversations themselves.
    pub conversations_usd: f64,
    /// Tasks handed to somebody else.
    pub children_usd: f64,
    /// Titles, summaries and other side tasks.
    pub side_tasks_usd: f64,
    /// Days on which something was used, the oldest first.
    pub days: Vec<Bill>,
    pub models: Vec<Bill>,
    pub providers: Vec<Bill>,
    /// Sessions, the most expensive first.
    pub sessions: Vec<Bill>,
    /// Side tasks by name.
    pub tasks: Vec<Bill>,
    /// Models somebody has used whose price nobody knows, with the number of requests.
    pub unpriced: Vec<(String, i64)>,
}

/// One line of an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bill {
    pub name: String,
    /// For people, if the name alone says little.
    pub title: Option<String>,
    pub usd: f64,
    pub requests: i64,
    pub unpriced: i64,
}

impl Money {
    pub(crate) fn of(shares: &[Share], names: &Names) -> Self {
        let sum = |of: &dyn Fn(&Share) -> bool| -> f64 {
            let of = shares.iter().filter(|share| of(share));
            of.map(|share| share.usd).sum()
        };
        let mut sessions = bills(shares, |share| Some(share.session.to_string()));
        for bill in &mut sessions {
            bill.title = names.get(&bill.name).cloned().flatten();
        }
        let unpriced = bills(shares, |share| Some(short(&share.model).to_owned()));
        let unpriced = unpriced.into_iter().filter(|bill| bill.unpriced > 0);
        Self {
            usd: sum(&|_| true),
            conversations_usd: sum(&|share| !share.child && share.task.is_empty()),
            children_usd: sum(&|share| share.child),
            side_tasks_usd: sum(&|share| !share.child && !share.task.is_empty()),
            days: days(shares),
            models: bills(shares, |share| Some(short(&share.model).to_owned())),
            providers: bills(shares, |share| {
                let named = !share.provider.is_empty();
                let name = if named { &share.provider } else { "unknown" };
                Some(name.to_owned())
            }),
            sessions,
            tasks: bills(shares, |share| {
                (!share.task.is_empty()).then(|| share.task.clone())
            }),
            unpriced: unpriced.map(|bill| (bill.name, bill.unpriced)).collect(),
        }
    }
}

fn days(shares: &[Share]) -> Vec<Bill> {
    let mut days: BTreeMap<Date, Bill> = BTreeMap::new();
    for share in shares {
        let bill = days.entry(share.day).or_default();
        bill.add(share);
    }
    let named = days.into_iter().map(|(day, bill)| Bill {
        name: day.to_string(),
        ..bill
    });
    named.collect()
}

/// The most expensive first; shares without a name are in none.
fn bills(shares: &[Share], name: impl Fn(&Share) -> Option<String>) -> Vec<Bill> {
    let mut bills: BTreeMap<String, Bill> = BTreeMap::new();
    for share in shares {
        if let Some(name) = name(share) {
            bills.entry(name).or_default().add(share);
        }
    }
    let named = bills.into_iter().map(|(name, bill)| Bill { name, ..bill });
    let mut bills: Vec<Bill> = named.collect();
    bills.sort_by(|a, b| b.usd.total_cmp(&a.usd).then(b.requests.cmp(&a.requests)));
    bills
}

impl Bill {
    fn add(&mut self, share: &Share) {
        self.usd += share.usd;
        self.requests += share.calls;
        self.unpriced += share.unpriced;
    }
}
