//! What stands in place of a secret, and how to recognise that again.

use std::sync::LazyLock;

use regex::Regex;

use super::Mode;
use super::scan::pattern;

/// Fewer characters than this are hidden whole: head and tail would be most of the secret.
const TOKEN_FLOOR: usize = 18;
const DISPLAY_FLOOR: usize = 12;

const HIDDEN: &str = "***";
const SENTINEL: &str = "«redacted-secret»";
pub(super) const PRIVATE_KEY: &str = "[REDACTED PRIVATE KEY]";

/// Enough of a token to tell two apart: the first 6 and last 4 characters, `***` under 18.
pub fn mask_token(token: &str) -> String {
    head_and_tail(token, TOKEN_FLOOR, 6)
}

/// For settings on a screen: the first 4 and last 4 characters, `***` under 12.
pub fn mask_display(secret: &str) -> String {
    head_and_tail(secret, DISPLAY_FLOOR, 4)
}

/// Whether text holds a sentinel, which only [`Redactor::file_read`](super::Redactor::file_read) makes:
/// writing it to a file would destroy the credential that stands there.
pub fn contains_sentinel(text: &str) -> bool {
    let labelled = || {
        text.split_once("«redacted:")
            .is_some_and(|(_, rest)| rest.contains("…»"))
    };
    text.contains(SENTINEL) || labelled()
}

/// Every stand-in for a secret in the text, also those of logs and command output. A writer compares them with
/// the file it replaces: one that isn't there already was never meant to be stored.
pub fn marks(text: &str) -> impl Iterator<Item = &str> {
    static MARK: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r"«redacted(?:-secret|:[^»\s]*…)»|\[REDACTED PRIVATE KEY\]|\b[A-Z0-9_]+=['\x22]?\*{3}",
            r"|\b[A-Za-z0-9_-]{6}\.\.\.[A-Za-z0-9_=-]{4}\b",
        ))
    });
    // Letters alone are rather a sentence than a key: "please...stop".
    let is_sentence = |mark: &str| mark.bytes().all(|b| b.is_ascii_alphabetic() || b == b'.');
    MARK.find_iter(text)
        .map(|found| found.as_str())
        .filter(move |mark| !is_sentence(mark))
}

/// Whether a value was masked before: text passes here more than once, and masks must not be masked away.
pub(super) fn is_masked(value: &str) -> bool {
    let bare = || value.strip_prefix("«redacted")?.strip_suffix('»');
    let mut chars = value.chars();
    value == HIDDEN
        || value == PRIVATE_KEY
        || bare().is_some()
        || chars.by_ref().take(6).count() == 6
            && chars.as_str().starts_with("...")
            && chars.count() == 3 + 4
}

impl Mode {
    /// In place of a token of which a little may be shown.
    pub(super) fn mask(self, token: &str) -> String {
        match self {
            Self::Text | Self::Code => mask_token(token),
            Self::FileRead => SENTINEL.to_owned(),
        }
    }

    /// In place of a password or code, of which nothing may be shown.
    pub(super) fn hide(self) -> String {
        match self {
            Self::Text | Self::Code => HIDDEN.to_owned(),
            Self::FileRead => SENTINEL.to_owned(),
        }
    }

    /// In place of a key whose vendor is known by its prefix.
    pub(super) fn mask_prefixed(self, token: &str, prefix: &str) -> String {
        match self {
            Self::Text | Self::Code => mask_token(token),
            Self::FileRead => format!("«redacted:{prefix}…»"),
        }
    }
}

fn head_and_tail(secret: &str, floor: usize, head: usize) -> String {
    const TAIL: usize = 4;
    let length = secret.chars().count();
    if length < floor {
        return HIDDEN.to_owned();
    }
    let first: String = secret.chars().take(head).collect();
    let last: String = secret.chars().skip(length - TAIL).collect();
    format!("{first}...{last}")
}
