//! `/usage`: what this conversation has used, what it cost, and how much is left. Fits 40 columns.

use std::sync::atomic::Ordering;

use hermes_home::clock;
use hermes_store::{Account, Share};
use hermes_types::{Content, RateLimits, usd};

use crate::actor::Live;
use crate::insights::lasted;

/// As much of a model's name as fits beside its numbers.
const NAME: usize = 16;
/// Roughly, where nobody has counted.
const CHARS_PER_TOKEN: usize = 4;

impl Live {
    pub(crate) async fn usage(&self) -> String {
        let store = &self.opening.store;
        let account = store.account(&self.id).await.unwrap_or_default();
        let mut lines: Vec<Line> = self
            .opening
            .model
            .rate_limits()
            .map(|limits| allowances(&limits))
            .unwrap_or_default();
        lines.extend(used(&account));
        lines.extend(self.costs(&account).await);
        lines.extend(models(&account));
        lines.push(self.window());
        lines.extend(self.course().await);
        let mut before = "";
        let lines = lines.into_iter().map(|(label, text)| {
            let shown = if label == before { "" } else { label };
            before = label;
            format!("{shown:<9} {text}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    async fn costs(&self, account: &Account) -> Vec<Line> {
        let (purses, limits) = (&self.purses, self.spending);
        // A store that has stopped taking things in knows less than we do.
        let session = account.usd().max(purses.session.total());
        let today = self.opening.store.spent_on(&clock::now()).await;
        let today = today.unwrap_or_default().max(purses.day.total());
        let mut lines = vec![
            ("turn", against(purses.turn.spent(), limits.turn)),
            ("session", against(session, limits.session)),
        ];
        let part = |of: &dyn Fn(&Share) -> bool| -> f64 {
            let of = account.shares.iter().filter(|share| of(share));
            of.map(|share| share.usd).sum()
        };
        let children = part(&|share| share.child);
        let side = part(&|share| !share.child && !share.task.is_empty());
        for (amount, who) in [(children, "children"), (side, "side tasks")] {
            if amount > 0.0 {
                lines.push(("session", format!("{} of it for {who}", usd(amount))));
            }
        }
        if account.unpriced() > 0 {
            let count = account.unpriced();
            lines.push(("session", format!("{count} requests without a price")));
        }
        lines.push(("today", against(today, limits.day)));
        lines
    }

    /// How long it is, and how it got there.
    async fn course(&self) -> Vec<Line> {
        let store = &self.opening.store;
        let lineage = store.lineage(&self.id).await.unwrap_or_default();
        let mut lines = Vec::new();
        if let Ok(Some(session)) = store.session(&self.id).await {
            lines.push(("messages", session.message_count.to_string()));
        }
        let first = lineage.first().unwrap_or(&self.id);
        if let Ok(Some(session)) = store.session(first).await {
            let began = clock::local(session.started_at);
            let span = clock::now().duration_since(&began).as_secs_f64();
            lines.push(("since", began.strftime("%Y-%m-%d %H:%M").to_string()));
            lines.push(("since", format!("{} ago", lasted(span))));
        }
        match lineage.len() {
            0 | 1 => {}
            parts => lines.push(("compacted", format!("{} times", parts - 1))),
        }
        lines
    }

    fn window(&self) -> Line {
        let window = self.opening.model.info().context_length;
        let (used, roughly) = match self.purses.context.load(Ordering::Relaxed) {
            0 => (self.estimate(), "about "),
            counted => (counted, ""),
        };
        let share = used * 100 / window.max(1);
        let (used, window) = (short(used as i64), short(window as i64));
        (
            "context",
            format!("{roughly}{used} of {window} ({share} %)"),
        )
    }

    /// How much the next request would hold, going by its length.
    fn estimate(&self) -> u64 {
        let texts = self.conversation.messages().iter();
        let said: usize = texts
            .map(|message| {
                let text = message.content.as_ref().map(Content::plain);
                let calls = message.tool_calls.iter();
                let calls: usize = calls.map(|call| call.function.arguments.len()).sum();
                text.unwrap_or_default().chars().count() + calls
            })
            .sum();
        let system = self.conversation.instructions().chars().count();
        (said + system).div_ceil(CHARS_PER_TOKEN) as u64
    }
}

/// A label and what stands beside it; the label is shown once.
type Line = (&'static str, String);

/// What the provider lets us have for now.
fn allowances(limits: &RateLimits) -> Vec<Line> {
    let lines = limits.buckets.iter().flat_map(|bucket| {
        let (left, all) = (short(bucket.remaining as i64), short(bucket.limit as i64));
        let is_low = bucket.remaining.saturating_mul(5) <= bucket.limit;
        let reset = limits.until_reset(bucket).as_secs_f64();
        let reset = is_low.then(|| format!("full again in {}", lasted(reset)));
        let left = format!("{left}/{all} {}", bucket.name);
        [Some(left), reset].into_iter().flatten()
    });
    lines.map(|text| ("limits", text)).collect()
}

fn used(account: &Account) -> Vec<Line> {
    if account.calls() == 0 {
        return vec![("tokens", "nothing has been used yet".to_owned())];
    }
    let tokens = account.tokens();
    let fresh = short(tokens.input + tokens.cache_write);
    let (cached, output) = (short(tokens.cache_read), short(tokens.output));
    let (reasoning, total) = (short(tokens.reasoning), short(tokens.total()));
    vec![
        ("tokens", format!("{fresh} fresh · {cached} cached")),
        ("tokens", format!("{output} output · {reasoning} reasoning")),
        ("tokens", format!("{total} in all")),
        ("requests", account.calls().to_string()),
    ]
}

/// Each model, if there are several.
fn models(account: &Account) -> Vec<Line> {
    let mut found: Vec<(&str, f64, i64)> = Vec::new();
    for share in &account.shares {
        let name = share.model.rsplit('/').next().unwrap_or(&share.model);
        match found.iter_mut().find(|(model, ..)| *model == name) {
            Some((_, usd, calls)) => (*usd, *calls) = (*usd + share.usd, *calls + share.calls),
            None => found.push((name, share.usd, share.calls)),
        }
    }
    if found.len() < 2 {
        return Vec::new();
    }
    let lines = found.into_iter().map(|(name, amount, calls)| {
        let name: String = name.chars().take(NAME).collect();
        ("models", format!("{name:<NAME$} {} · {calls}", usd(amount)))
    });
    lines.collect()
}

fn against(spent: f64, limit: Option<f64>) -> String {
    let limit = limit.map(|limit| format!(" of {}", usd(limit)));
    format!("{}{}", usd(spent), limit.unwrap_or_default())
}

/// `9999`, `12.3k`, `4.5M`
pub(crate) fn short(count: i64) -> String {
    match count {
        ..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use hermes_types::Bucket;

    use super::*;

    #[test]
    fn allowances_fit_and_a_low_one_says_when() {
        let bucket = |name, limit, remaining| Bucket {
            name,
            limit,
            remaining,
            reset: Duration::from_secs(3_000),
        };
        let limits = RateLimits {
            provider: "p".to_owned(),
            buckets: vec![
                bucket("tokens per minute", 4_000_000, 3_900_000),
                bucket("requests per hour", 60, 12),
            ],
            at: Instant::now(),
        };
        let lines: Vec<_> = allowances(&limits).into_iter().map(|line| line.1).collect();
        assert_eq!(
            lines[..2],
            ["3.9M/4.0M tokens per minute", "12/60 requests per hour"]
        );
        assert!(lines[2].starts_with("full again in 49m 5"), "{lines:?}");
    }

    #[test]
    fn long_numbers_are_shortened() {
        let check = |count, expected: &str| assert_eq!(short(count), expected);
        check(0, "0");
        check(9_999, "9999");
        check(12_345, "12.3k");
        check(4_500_000, "4.5M");
    }
}
