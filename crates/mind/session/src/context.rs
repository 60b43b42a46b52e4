//! `/context`: what fills the model's window, and how much of it was new.

use hermes_agent::Sizes;

use crate::actor::Live;

impl Live {
    pub(crate) fn context(&self) -> String {
        let sizes = self.prepare(&self.work()).sizes(&self.conversation);
        let info = self.opening.model.info();
        let mut lines = vec![format!("{} ({})", info.model, info.provider)];
        lines.extend(rows(&sizes));
        lines.push(totals(&sizes));
        lines.extend(last_reply(&sizes));
        lines.join("\n")
    }
}

fn rows(sizes: &Sizes) -> Vec<String> {
    let total = sizes.total().max(1);
    let row = |name: &str, tokens: u64, note: String| {
        let share = tokens * 100 / total;
        format!("  {name:<15}{:>10} {share:>3} %{note}", thousands(tokens))
    };
    let mut rows = vec![row("instructions", sizes.system, String::new())];
    let parts = sizes.parts.iter();
    rows.extend(
        parts.map(|(name, tokens)| row(&format!("· {name}"), *tokens, " (of those)".to_owned())),
    );
    let (count, tokens) = sizes.tools;
    rows.push(row("tools", tokens, format!("  {count} tools")));
    let history = sizes.history.iter();
    rows.extend(
        history.map(|(kind, count, tokens)| row(kind, *tokens, format!("  {count} messages"))),
    );
    rows
}

fn totals(sizes: &Sizes) -> String {
    let (total, numbers) = (sizes.total(), &sizes.numbers);
    let share = total * 100 / numbers.context.max(1);
    let passes = match sizes.passes {
        0 => String::new(),
        1 => " · compacted once".to_owned(),
        n => format!(" · compacted {n} times"),
    };
    format!(
        "about {} of {} tokens ({share} %) · compacted from {} on{passes}",
        thousands(total),
        thousands(numbers.context),
        thousands(numbers.threshold),
    )
}

fn last_reply(sizes: &Sizes) -> Option<String> {
    let usage = sizes.last?;
    Some(format!(
        "last request: {} tokens, {} from the cache, {} fresh, {} written to the cache",
        thousands(usage.prompt()),
        thousands(usage.cache_read),
        thousands(usage.input),
        thousands(usage.cache_write),
    ))
}

/// `131,072`
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let check = |number, expected: &str| assert_eq!(thousands(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(131_072, "131,072");
        check(1_000_000, "1,000,000");
    }
}
