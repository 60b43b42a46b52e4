//! What a failure means: one pure function from what was seen to what policy can act on.
//!
//! The order of the questions matters and is the specification's (agent-loop §13.1).

mod body;
mod limits;
mod words;

#[cfg(test)]
mod tests;

use std::time::Duration;

use hermes_types::ModelErrorKind as Kind;
use serde_json::Value;

use body::Body;
use words::any;

/// What was seen of a failure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failure<'a> {
    pub status: Option<u16>,
    /// The body of an error response, the error object of a stream, or the text of a transport error.
    pub text: &'a str,
    pub transport: Option<Transport>,
    pub size: SessionSize,
}

/// How a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// It could not be made.
    Connect,
    Timeout,
    /// It ended in the middle.
    Broken,
    /// The server is not who it should be. Trying again won't help.
    Certificate,
}

/// How large the conversation is, to tell "too long" from other vague refusals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionSize {
    pub tokens: u64,
    pub messages: usize,
    pub window: u64,
}

/// What a failure means.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub kind: Kind,
    /// Whether the same request may work a little later.
    pub retry: bool,
    /// What the server said, for people.
    pub text: String,
}

pub fn classify(failure: &Failure<'_>) -> Verdict {
    let body = Body::read(failure.text);
    let case = Case {
        failure,
        text: body.searchable.as_str(),
        code: body.code.as_deref().unwrap_or_default(),
    };
    let status = failure.status.or(body.status);
    let kind = case.kind(status);
    Verdict {
        kind,
        retry: is_retryable(kind) && failure.transport != Some(Transport::Certificate),
        text: body.message,
    }
}

/// Whether an error object in a stream reports a lost connection, not a decision of the server.
pub fn is_drop(error: &Value) -> bool {
    let body = Body::read(&error.to_string());
    body.status.is_none() && any(&body.searchable, words::DROP)
}

/// Whether a quota is Google's for those who don't pay.
pub fn is_free_tier(text: &str) -> bool {
    let text = text.to_lowercase();
    any(&text, &["free_tier", "free tier", "freetier"])
}

/// How long to wait, where a server says so in its error and not in a header.
pub fn retry_delay(text: &str) -> Option<Duration> {
    body::retry_delay(text)
}

/// Whether a server says it cannot stream.
pub fn is_streaming_refused(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("stream") && text.contains("not supported")
}

/// A field of a request that some servers refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Reasoning,
    Temperature,
    OutputLimit,
}

/// The field a server says it does not take, whatever its value.
pub fn refused_field(text: &str) -> Option<Field> {
    let text = text.to_lowercase();
    if !any(&text, words::FIELD_REFUSED) {
        return None;
    }
    // The first one named is meant; others may be proposals.
    let named = words::FIELDS
        .iter()
        .filter_map(|(word, field)| Some((text.find(word)?, *field)));
    named.min_by_key(|(at, _)| *at).map(|(_, field)| field)
}

fn is_retryable(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::RateLimit
            | Kind::Overloaded
            | Kind::Server
            | Kind::Timeout
            | Kind::Transport
            | Kind::Malformed
            | Kind::Unknown
    )
}

/// A failure under examination; all texts in lower case.
struct Case<'a> {
    failure: &'a Failure<'a>,
    text: &'a str,
    code: &'a str,
}

impl Case<'_> {
    fn kind(&self, status: Option<u16>) -> Kind {
        if let Some(kind) = status.and_then(|status| self.special(status)) {
            return kind;
        }
        match status {
            Some(status @ 300..) => self.by_status(status),
            _ => self.without_status(),
        }
    }

    /// Refusals with a remedy of their own.
    fn special(&self, status: u16) -> Option<Kind> {
        let has = |word: &str| self.text.contains(word);
        match status {
            400 if has("signature") && has("thinking") => Some(Kind::ThinkingSignature),
            400 if self.code == "invalid_encrypted_content" => Some(Kind::ThinkingSignature),
            400 if has("encrypted content") && has("could not be") => Some(Kind::ThinkingSignature),
            400 if has("api key not valid") => Some(Kind::Auth),
            // A day's worth is used up: waiting a minute won't help.
            429 if is_free_tier(self.text) && any(self.text, words::FREE_TIER_OVER) => {
                Some(Kind::Billing)
            }
            429 if has("extra usage") && has("long context") => Some(Kind::LongContextTier),
            400 if has("long context beta") && has("not yet available") => {
                Some(Kind::BetaForbidden)
            }
            400 if any(self.text, words::GRAMMAR) => Some(Kind::Grammar),
            400 if has("unable to generate parser") && has("template") => Some(Kind::Grammar),
            400..500 if any(self.text, words::IMAGE_REJECTED) => Some(Kind::ImagesRejected),
            _ => None,
        }
    }

    fn by_status(&self, status: u16) -> Kind {
        match status {
            400 => self.bad_request(),
            401 => Kind::Auth,
            402 => self.payment(),
            403 if any(self.text, words::SPENDING_LIMIT) => Kind::Billing,
            403 => Kind::Auth,
            404 => self.not_found(),
            408 => Kind::Timeout,
            413 => Kind::PayloadTooLarge,
            429 if words::BILLING_CODES.contains(&self.code) => Kind::Billing,
            429 => Kind::RateLimit,
            503 | 529 => Kind::Overloaded,
            500.. => Kind::Server,
            // Redirects too: those we could follow have been followed.
            _ => Kind::Format,
        }
    }

    /// A used-up allowance that comes back by itself is a rate limit; one that must be paid for isn't.
    fn payment(&self) -> Kind {
        if any(self.text, words::USAGE_LIMIT) && any(self.text, words::TRANSIENT) {
            Kind::RateLimit
        } else {
            Kind::Billing
        }
    }

    fn not_found(&self) -> Kind {
        if any(self.text, words::POLICY) {
            Kind::PolicyBlocked
        } else if any(self.text, words::MODEL) || words::MODEL_CODES.contains(&self.code) {
            Kind::ModelNotFound
        } else {
            Kind::Unknown
        }
    }

    fn bad_request(&self) -> Kind {
        // Names the very words we look for below, but complains about the field, not the amount.
        if self.text.contains("unsupported parameter") {
            return Kind::Format;
        }
        if any(self.text, words::IMAGE_TOO_LARGE) {
            return Kind::ImageTooLarge;
        }
        if let Some(available) = limits::available_output(self.text) {
            return Kind::OutputTooLarge { available };
        }
        if any(self.text, words::CONTEXT) || words::CONTEXT_CODES.contains(&self.code) {
            return self.overflow();
        }
        let table: [(&[&str], Kind); 4] = [
            (words::POLICY, Kind::PolicyBlocked),
            (words::MODEL, Kind::ModelNotFound),
            (words::RATE, Kind::RateLimit),
            (words::BILLING, Kind::Billing),
        ];
        if let Some((_, kind)) = table.iter().find(|(list, _)| any(self.text, list)) {
            return *kind;
        }
        if let Some(kind) = self.by_code() {
            return kind;
        }
        // A server that only says "Error" about a long conversation means its length.
        if self.text.trim().chars().count() < 30 && self.is_large(0.4, 80_000, 80) {
            return self.overflow();
        }
        Kind::Format
    }

    fn without_status(&self) -> Kind {
        if let Some(kind) = self.by_code().or_else(|| self.by_message()) {
            return kind;
        }
        let transport = self.failure.transport;
        if any(self.text, words::TLS_ALERT) {
            return Kind::Timeout;
        }
        let is_disconnect =
            transport == Some(Transport::Broken) || any(self.text, words::DISCONNECT);
        if is_disconnect && self.is_large(0.6, 120_000, 200) {
            return self.overflow();
        }
        match transport {
            Some(Transport::Timeout) => Kind::Timeout,
            Some(_) => Kind::Transport,
            None if is_disconnect || any(self.text, words::DROP) => Kind::Transport,
            None if any(self.text, words::TIMEOUT) => Kind::Timeout,
            None => Kind::Unknown,
        }
    }

    fn by_code(&self) -> Option<Kind> {
        let table: [(&[&str], Kind); 5] = [
            (words::RATE_CODES, Kind::RateLimit),
            (words::BILLING_CODES, Kind::Billing),
            (words::MODEL_CODES, Kind::ModelNotFound),
            (words::CONTEXT_CODES, self.overflow()),
            (words::OVERLOADED_CODES, Kind::Overloaded),
        ];
        let row = table.iter().find(|(codes, _)| codes.contains(&self.code));
        row.map(|(_, kind)| *kind)
    }

    fn by_message(&self) -> Option<Kind> {
        if any(self.text, words::USAGE_LIMIT) && any(self.text, words::TRANSIENT) {
            return Some(Kind::RateLimit);
        }
        let table: [(&[&str], Kind); 8] = [
            (words::PAYLOAD, Kind::PayloadTooLarge),
            (words::IMAGE_TOO_LARGE, Kind::ImageTooLarge),
            (words::BILLING, Kind::Billing),
            (words::RATE, Kind::RateLimit),
            (words::CONTEXT, self.overflow()),
            (words::POLICY, Kind::PolicyBlocked),
            (words::MODEL, Kind::ModelNotFound),
            (words::AUTH, Kind::Auth),
        ];
        let row = table.iter().find(|(list, _)| any(self.text, list));
        row.map(|(_, kind)| *kind)
    }

    fn overflow(&self) -> Kind {
        Kind::ContextOverflow {
            limit: limits::context(self.text),
        }
    }

    /// By share of the window, or for windows of ordinary size by absolute numbers.
    fn is_large(&self, share: f64, tokens: u64, messages: usize) -> bool {
        let size = self.failure.size;
        let is_big = size.tokens > tokens || size.messages > messages;
        size.window > 0
            && (size.tokens as f64 > size.window as f64 * share || size.window <= 256_000 && is_big)
    }
}
