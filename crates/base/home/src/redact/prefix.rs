//! Keys that vendors made recognisable by how they begin.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::Mode;
use super::mask::is_masked;
use super::scan::pattern;

/// One vendor's way to begin a key, and what follows.
struct Prefix {
    text: &'static str,
    /// What may follow besides ASCII letters and digits.
    extra: &'static [u8],
    min: usize,
    max: usize,
    shape: Shape,
}

/// What tells a key from an identifier that happens to begin like one.
#[derive(Clone, Copy)]
enum Shape {
    Any,
    /// A digit or mixed case: `sk_bulk_insert` is a function.
    Varied,
    /// Capitals and digits.
    Upper,
}

const fn key(text: &'static str, extra: &'static str, min: usize) -> Prefix {
    Prefix {
        text,
        extra: extra.as_bytes(),
        min,
        max: usize::MAX,
        shape: Shape::Any,
    }
}

const fn varied(text: &'static str, extra: &'static str, min: usize) -> Prefix {
    Prefix {
        shape: Shape::Varied,
        ..key(text, extra, min)
    }
}

const AWS: Prefix = Prefix {
    max: 16,
    shape: Shape::Upper,
    ..key("AKIA", "", 16)
};

/// A prefix that continues another stands before it, so that a sentinel names the vendor.
static PREFIXES: &[Prefix] = &[
    key("sk-", "_-", 10),        // OpenAI, OpenRouter, Anthropic
    key("sk_live_", "", 10),     // Stripe
    key("sk_test_", "", 10),     // Stripe
    key("rk_live_", "", 10),     // Stripe
    varied("sk_", "_", 10),      // ElevenLabs
    key("ghp_", "", 10),         // GitHub, personal
    key("gho_", "", 10),         // GitHub, OAuth
    key("ghu_", "", 10),         // GitHub, user to server
    key("ghs_", "", 10),         // GitHub, server to server
    key("ghr_", "", 10),         // GitHub, refresh
    key("github_pat_", "_", 10), // GitHub, fine-grained
    key("xoxa-", "-", 10),       // Slack
    key("xoxb-", "-", 10),       // Slack
    key("xoxp-", "-", 10),       // Slack
    key("xoxr-", "-", 10),       // Slack
    key("xoxs-", "-", 10),       // Slack
    key("xapp-", "-", 12),       // Slack
    key("AIza", "_-", 30),       // Google
    key("pplx-", "", 10),        // Perplexity
    key("fal_", "_-", 10),       // Fal
    key("fc-", "", 10),          // Firecrawl
    key("bb_live_", "_-", 10),   // Browserbase
    key("gAAAA", "_-=", 20),     // Fernet, as Codex stores tokens
    AWS,
    key("SG.", "_-.", 10), // SendGrid; the part after the second dot is the secret one
    key("hf_", "", 10),    // Hugging Face
    key("r8_", "", 10),    // Replicate
    key("npm_", "", 10),   // npm
    key("pypi-", "_-", 10), // PyPI
    key("dop_v1_", "", 10), // DigitalOcean
    key("doo_v1_", "", 10), // DigitalOcean
    varied("am_", "_-", 10), // AgentMail
    key("tvly-", "-", 10), // Tavily, also `tvly-dev-`
    varied("exa_", "", 10), // Exa
    key("gsk_", "", 10),   // Groq
    key("syt_", "_", 10),  // Matrix
    key("retaindb_", "", 10), // RetainDB
    key("hsk-", "", 10),   // Hindsight
    key("mem0_", "", 10),  // Mem0
    key("brv_", "", 10),   // ByteRover
    key("xai-", "", 30),   // xAI
    key("ntn_", "", 10),   // Notion
    key("fw-", "", 30),    // Fireworks
    key("fw_", "", 30),    // Fireworks
    key("fpk_", "", 30),   // Fireworks
];

/// A pattern for text that may hold a key: a prefix that doesn't continue a word.
pub(super) fn trigger() -> String {
    format!(r"(?:\A|[^A-Za-z0-9_-])(?:{})", any_prefix())
}

/// Masks every key; a key ends where its word ends, so that `task-force` and `ghp_x_y` stay.
pub(super) fn redact(text: &str, mode: Mode) -> Cow<'_, str> {
    static CANDIDATE: LazyLock<Regex> = LazyLock::new(|| pattern(&any_prefix()));
    let mut clean = String::new();
    let mut done = 0;
    let mut from = 0;
    while let Some(found) = CANDIDATE.find_at(text, from) {
        from = found.end();
        if found.start() > 0 && is_word(text.as_bytes()[found.start() - 1]) {
            continue;
        }
        let Some((prefix, token)) = key_at(&text[found.start()..]) else {
            continue;
        };
        if is_masked(token) {
            continue;
        }
        clean.push_str(&text[done..found.start()]);
        clean.push_str(&mode.mask_prefixed(token, prefix.text));
        done = found.start() + token.len();
        from = done;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[done..]);
    Cow::Owned(clean)
}

/// Whether a text holds a key as one of the vendors makes them.
pub fn contains_key(text: &str) -> bool {
    matches!(redact(text, Mode::Text), Cow::Owned(_))
}

fn any_prefix() -> String {
    let texts: Vec<_> = PREFIXES
        .iter()
        .map(|prefix| regex::escape(prefix.text))
        .collect();
    texts.join("|")
}

fn key_at(text: &str) -> Option<(&'static Prefix, &str)> {
    PREFIXES
        .iter()
        .find_map(|prefix| Some((prefix, prefix.match_at(text)?)))
}

impl Prefix {
    /// The key this text begins with.
    fn match_at<'t>(&self, text: &'t str) -> Option<&'t str> {
        let rest = text.strip_prefix(self.text)?;
        let belongs = |b: u8| is_word(b) || self.extra.contains(&b);
        let end = rest.bytes().position(|b| !belongs(b)).unwrap_or(rest.len());
        // A dot inside a key joins its parts, one behind it ends the sentence.
        let body = rest[..end].trim_end_matches('.');
        let allowed = body
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || self.extra.contains(&b));
        let fits =
            allowed && (self.min..=self.max).contains(&body.len()) && self.shape.admits(body);
        fits.then(|| &text[..self.text.len() + body.len()])
    }
}

impl Shape {
    fn admits(self, body: &str) -> bool {
        let has = |class: fn(&u8) -> bool| body.bytes().any(|b| class(&b));
        match self {
            Self::Any => true,
            Self::Varied => {
                has(u8::is_ascii_digit)
                    || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
            }
            Self::Upper => !has(u8::is_ascii_lowercase),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_words() {
        assert!(contains_key("https://x.test/?q=ghp_abcdefghijklmnop1234"));
        assert!(!contains_key("https://x.test/task-force?q=sk_bulk_insert"));
    }
}
