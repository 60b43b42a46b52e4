//! `/usage`: what this conversation has used, what it cost, and how much is left. Fits 40 columns.

use std::sync::atomic::Ordering;

use hermes_home::clock;
use hermes_store::{Account, Share};
use hermes_types::{Content, usd};

use crate::actor::Live;

/// As much of a model's name as fits beside its numbers.
const NAME: usize = 16;
/// Roughly, where nobody has counted.
const CHARS_PER_TOKEN: usize = 4;

impl Live {
    pub(crate) async fn usage(&self) -> String {
        let store = &self.opening.store;
        let account = store.account(&self.id).await.unwrap_or_default();
        let mut lines = used(&account);
        lines.extend(self.costs(&account).await);
        lines.extend(models(&account));
        lines.push(self.window());
        if let Ok(Some(session)) = store.session(&self.id).await {
            let since = clock::local(session.started_at).strftime("%Y-%m-%d %H:%M");
            lines.push((
                "messages",
                format!("{} since {since}", session.message_count),
            ));
        }
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
    use super::*;

    #[test]
    fn long_numbers_are_shortened() {
        let check = |count, expected: &str| assert_eq!(short(count), expected);
        check(0, "0");
        check(9_999, "9999");
        check(12_345, "12.3k");
        check(4_500_000, "4.5M");
    }
}
