//! One scan that says which rules can match at all, and the running of these.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::RegexSet;
use regex::{Captures, Regex};

use super::rules::RULES;
use super::{Mode, mask, prefix};

/// One shape of secret. Its pattern captures the secret, and nothing else, in whichever group takes part.
pub(super) struct Rule {
    /// Matches wherever the pattern could; cheap, because all triggers are tried in one scan.
    pub(super) trigger: &'static str,
    pub(super) pattern: LazyLock<Regex>,
    pub(super) place: Place,
    /// What to put in place of the secret; `None` leaves it.
    pub(super) replace: fn(&Hit<'_>, Mode) -> Option<String>,
}

#[derive(PartialEq, Eq)]
pub(super) enum Place {
    Everywhere,
    /// Not in source code, where such text is mostly constants and fixtures.
    Prose,
}

/// A match: the text, the part the pattern covers, and the secret inside it.
pub(super) struct Hit<'t> {
    pub(super) text: &'t str,
    pub(super) whole: Range<usize>,
    pub(super) secret: Range<usize>,
}

static TRIGGERS: LazyLock<RegexSet> = LazyLock::new(|| {
    let rules = RULES.iter().map(|rule| rule.trigger.to_owned());
    trigger_set(iter::once(prefix::trigger()).chain(rules))
});

/// Runs over text the rules that can match it.
pub(super) fn apply(text: &str, mode: Mode) -> Cow<'_, str> {
    // Whether there is any trigger is found out faster than which, and mostly there is none.
    if !TRIGGERS.is_match(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let seen = TRIGGERS.matches(text.as_bytes());
    let mut clean = Cow::Borrowed(text);
    if seen.matched(0) {
        clean = prefix::redact(text, mode);
    }
    for (index, rule) in RULES.iter().enumerate() {
        let wanted = mode == Mode::Text || rule.place == Place::Everywhere;
        if wanted
            && seen.matched(index + 1)
            && let Some(changed) = rule.apply(&clean, mode)
        {
            clean = Cow::Owned(changed);
        }
    }
    clean
}

/// A pattern of this module's own, which the tests have compiled.
#[expect(
    clippy::expect_used,
    reason = "constant; every pattern is compiled by the tests"
)]
pub(super) fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("a pattern of the redactor compiles")
}

#[expect(clippy::expect_used, reason = "constant; compiled by the tests")]
fn trigger_set(sources: impl Iterator<Item = String>) -> RegexSet {
    let ascii = sources.map(|source| format!("(?-u){source}"));
    RegexSet::new(ascii).expect("the triggers of the redactor compile")
}

impl Rule {
    /// The text without this rule's secrets; `None` if it had none.
    fn apply(&self, text: &str, mode: Mode) -> Option<String> {
        let mut clean = String::new();
        let mut done = 0;
        for captures in self.pattern.captures_iter(text) {
            let Some(hit) = Hit::new(text, &captures) else {
                continue;
            };
            if mask::is_masked(hit.secret()) {
                continue;
            }
            let Some(replacement) = (self.replace)(&hit, mode) else {
                continue;
            };
            clean.push_str(&text[done..hit.secret.start]);
            clean.push_str(&replacement);
            done = hit.secret.end;
        }
        (done > 0).then(|| clean + &text[done..])
    }
}

impl<'t> Hit<'t> {
    fn new(text: &'t str, captures: &Captures<'t>) -> Option<Self> {
        let mut groups = captures.iter().flatten();
        let (whole, secret) = (groups.next()?.range(), groups.next()?.range());
        Some(Self {
            text,
            whole,
            secret,
        })
    }

    pub(super) fn secret(&self) -> &'t str {
        &self.text[self.secret.clone()]
    }

    /// The match up to the secret.
    pub(super) fn before(&self) -> &'t str {
        &self.text[self.whole.start..self.secret.start]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces that together make hits of every rule.
    fn pieces() -> impl Strategy<Value = String> {
        let pieces = [
            "API_KEY",
            "TOKEN",
            "PASSWD",
            "_X",
            "=",
            " ",
            "\t",
            "\"",
            "'",
            "\\",
            ":",
            "\n",
            "apikey",
            "token",
            "Secret",
            "secret_value",
            "key_material",
            "A_CREDENTIAL",
            "Authorization",
            "x-goog-api-key",
            "X-Access-Token",
            "12345678",
            "abcdefghijklmnopqrstuvwxyzabcdefg",
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "eyJ",
            ".",
            "postgres",
            "https",
            "://",
            "u",
            "@",
            "/",
            "?",
            "&",
            "X-Amz-Signature",
            "client_secret",
            "code",
            "id_token",
            "<@",
            ">",
            "123456789012345678",
            "+1234567",
            "é",
        ];
        prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..16)
            .prop_map(|pieces| pieces.concat())
    }

    /// Every rule in turn, whether or not it was triggered: what [`apply`] must not differ from.
    fn plain(text: &str, mode: Mode) -> String {
        let mut clean = prefix::redact(text, mode).into_owned();
        for rule in &RULES {
            if (mode == Mode::Text || rule.place == Place::Everywhere)
                && let Some(changed) = rule.apply(&clean, mode)
            {
                clean = changed;
            }
        }
        clean
    }

    /// Text of any kind with secrets, whole or in pieces, strewn in.
    fn seeded() -> impl Strategy<Value = String> {
        let secrets = [
            "ghp_abcdefghijklmnop1234",
            "sk-abcdefghijklmnop1234",
            "API_KEY=abcdefghijklmnop1234",
            "MAX_TOKENS=4096",
            "password: hunter2hunter2",
            "{\"token\": \"abcdefghijklmnop1234\"}",
            "Authorization: Bearer abcdefghijklmnop1234",
            "x-api-key: abcdefghijklmnop1234",
            "12345678:abcdefghijklmnopqrstuvwxyzabcdefg",
            "postgres://u:hunter2@host/db",
            "https://user:hunter2@host/",
            "https://abcdefghijkl@host/",
            "https://host/?access_token=abcdefghijkl&x=1",
            "token=abcdefghijkl&x=1",
            "eyJabcdefghijklmnop.abcdefgh.abcdefgh",
            "<@123456789012345678>",
            "+12345678901",
        ];
        let piece = prop_oneof![
            2 => prop::sample::select(secrets.to_vec()).prop_map(str::to_owned),
            2 => pieces(),
            2 => "[ -~\n]{0,24}",
            1 => any::<String>(),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn looking_first_changes_nothing(text in seeded()) {
            for mode in [Mode::Text, Mode::Code, Mode::FileRead] {
                prop_assert_eq!(apply(&text, mode), plain(&text, mode));
            }
        }

        #[test]
        fn no_pattern_matches_unseen_by_its_trigger(text in pieces()) {
            let seen = TRIGGERS.matches(text.as_bytes());
            for (index, rule) in RULES.iter().enumerate() {
                prop_assert!(seen.matched(index + 1) || !rule.pattern.is_match(&text), "rule {index}");
            }
        }
    }
}
