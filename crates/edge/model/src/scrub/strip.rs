//! Think tags out of a complete text, where one can look ahead.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Cleans a complete text: closed pairs anywhere, an unclosed block at the beginning of a line, stray closing
/// tags, and markup of tool calls that a server failed to parse.
pub fn strip(text: &str) -> String {
    if !text.contains('<') {
        return text.to_owned();
    }
    let mut text = PAIRS.replace_all(text, unquoted(text)).into_owned();
    for markup in MARKUP.iter() {
        text = markup.replace_all(&text, "").into_owned();
    }
    if let Some(open) = UNCLOSED.find(&text) {
        text.truncate(open.start());
    }
    CLOSERS.replace_all(&text, unquoted(&text)).into_owned()
}

/// Removes a match unless it stands behind a backtick, where it is an example.
fn unquoted(text: &str) -> impl Fn(&Captures<'_>) -> String {
    move |found: &Captures<'_>| {
        let Some(whole) = found.get(0) else {
            return String::new();
        };
        match text[..whole.start()].ends_with('`') {
            true => whole.as_str().to_owned(),
            false => String::new(),
        }
    }
}

const NAMES: &str = "think|thinking|reasoning|thought|reasoning_scratchpad|memory-context";
const MARKUP_NAMES: [&str; 5] = [
    "tool_call",
    "tool_calls",
    "tool_result",
    "function_call",
    "function_calls",
];

static PAIRS: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"(?is)<(?:{NAMES})>.*?</(?:{NAMES})>")));
static UNCLOSED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?im)^[ \t]*<(?:{NAMES})>|<memory-context>[ \t]*\r?\n"
    ))
});
static CLOSERS: LazyLock<Regex> = LazyLock::new(|| {
    let markup = MARKUP_NAMES.join("|");
    pattern(&format!(r"(?i)</(?:{NAMES}|{markup})>\s*"))
});
static MARKUP: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let pairs = MARKUP_NAMES.map(|name| format!(r"(?ims)^[ \t]*<{name}>.*?</{name}>"));
    let function = r"(?ims)^[ \t]*<function name=[^>]*>.*?</function>".to_owned();
    pairs
        .iter()
        .chain([&function])
        .map(|text| pattern(text))
        .collect()
});

#[expect(clippy::expect_used, reason = "constants; compiled by the tests")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of the scrubber compiles")
}
