//! Numbers in complaints: how large the window is, how much room is left for a reply.

use std::sync::LazyLock;

use regex::Regex;

/// The window a message names, if it is one a model could have.
pub(super) fn context(text: &str) -> Option<u64> {
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            r"(?:max_model_len|maximum model length)\s*(?:is\s*)?[:=(]?\s*(\d{4,})",
            r"(?:max(?:imum)?|limit)\s*(?:context\s*)?(?:length|size|window)?\s*(?:is|of|:)?\s*(\d{4,})",
            r"context\s*(?:length|size|window)\s*(?:is|of|:)?\s*(\d{4,})",
            r"(\d{4,})\s*(?:token)?\s*(?:context|limit)",
            r">\s*(\d{4,})\s*(?:max|limit|token)",
            r"(\d{4,})\s*max(?:imum)?\b",
        ]
        .iter()
        .map(|text| pattern(text))
        .collect()
    });
    // Thousands are written with and without commas.
    let text = text.replace(',', "");
    let found = PATTERNS
        .iter()
        .filter_map(|pattern| pattern.captures(&text));
    let numbers = found.filter_map(|found| found[1].parse().ok());
    numbers
        .into_iter()
        .find(|limit| (1_024..=10_000_000).contains(limit))
}

/// The reply that would fit, if the conversation does and only the asked-for reply doesn't.
pub(super) fn available_output(text: &str) -> Option<u64> {
    static AVAILABLE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"available[_ ]tokens\D{0,4}(\d+)"));
    static RANGE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"range of max_tokens should be \[\d+,\s*(\d+)\]"));
    let of = |pattern: &Regex| pattern.captures(text)?[1].parse().ok();
    let is_output = text.contains("max_tokens");
    is_output
        .then(|| of(&AVAILABLE).or_else(|| of(&RANGE)))
        .flatten()
}

#[expect(clippy::expect_used, reason = "constants; compiled by the tests")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern for limits compiles")
}
