//! Tells a credential from what merely stands where one could: a lookup, a placeholder, a number.

use std::sync::LazyLock;

use regex::Regex;

use super::scan::pattern;

/// Names end with one of these when their value is a credential. Plurals don't: `max_tokens` counts.
const SECRET_WORDS: [&str; 9] = [
    "API_KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
];

/// Whether a field of this name holds a credential, by its last word and in either case.
pub fn is_secret_name(name: &str) -> bool {
    let name = name
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == '_')
        .as_bytes();
    SECRET_WORDS.iter().any(|word| {
        name.len()
            .checked_sub(word.len())
            .is_some_and(|at| name[at..].eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// Whether the value says where the secret is, or that one belongs here, instead of being one.
pub(super) fn is_lookup(value: &str) -> bool {
    static LOOKUP: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r"^(?:os\.(?:getenv|environ)|process\.env|import\.meta\.env|(?:std::)?env::var|ENV\[|\$ENV\{|\$\(|\{\{",
            // Whole values only: `${TOKEN:-hunter2}` and `$ecret` are secrets.
            r#"|(?:\$?\{[\w.\[\]'"]*\}|\$[A-Z_][A-Z0-9_]*|<[\w -]+>|%[sv]|\.{3})\W*$)"#,
        ))
    });
    LOOKUP.is_match(value)
}

/// Whether the value of such a name is a setting: `MAX_TOKENS=4096`, `AUTH_TIMEOUT=30`, `USE_TOKEN=true`.
///
/// A number counts only if the name goes on after the secret word, since PINs are numbers too.
pub(super) fn is_setting(name: &str, value: &str) -> bool {
    const WORDS: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "none", "null"];
    let is_number = || {
        value.len() <= 12
            && value
                .bytes()
                .all(|b| b.is_ascii_digit() || b"._".contains(&b))
    };
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
        || is_number() && !is_secret_name(name)
}
