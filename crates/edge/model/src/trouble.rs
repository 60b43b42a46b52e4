//! An attempt that failed: what it means, and how to say so.

use std::fmt::Display;
use std::time::{Duration, SystemTime};

use hermes_home::redact::Redactor;
use hermes_net::{Ended, backoff};
use hermes_types::{ModelError, ModelErrorKind as Kind};
use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::auth::reset_in;
use crate::classify::{self, Failure, SessionSize, Transport, Verdict};
use crate::dialect::Fault;
use crate::keys::OF_POOL;
use crate::route::Route;

/// Why an attempt did not end with a reply.
#[derive(Debug)]
pub(crate) enum Trouble {
    Cancelled,
    /// The caller's time is up.
    OutOfTime,
    Failed(Failed),
}

#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub verdict: Verdict,
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
    /// When the key is good again, if the body says.
    pub reset: Option<Timestamp>,
    pub wire: Where,
}

/// How far the attempt had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// The server answered, with an error.
    Refused,
    /// There was no answer at all.
    NoAnswer,
    /// The answer broke off or fell silent.
    Dropped,
}

impl Failed {
    pub fn refused(status: u16, headers: &HeaderMap, text: &str, size: SessionSize) -> Self {
        let mut verdict = classify::classify(&Failure {
            status: Some(status),
            text,
            transport: None,
            size,
        });
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if header("x-should-retry") == Some("false") {
            verdict.retry = false;
        }
        if let Some(place) = header("location").filter(|_| status < 400) {
            verdict.text = format!("redirected to {place}");
        }
        Self {
            verdict,
            status: Some(status),
            retry_after: header(RETRY_AFTER.as_str())
                .and_then(|value| backoff::retry_after(value, SystemTime::now()))
                .or_else(|| classify::retry_delay(text)),
            reset: reset_in(text, Timestamp::now()),
            wire: Where::Refused,
        }
    }

    /// The connection failed; `wire` says when.
    pub fn transport(error: &reqwest::Error, wire: Where, size: SessionSize) -> Self {
        let text = innermost(error);
        let transport = match () {
            () if text.contains("certificate") => Transport::Certificate,
            () if error.is_timeout() => Transport::Timeout,
            () if error.is_connect() => Transport::Connect,
            () => Transport::Broken,
        };
        let wire = match transport {
            // The server is there; most likely it closed a connection kept for reuse.
            Transport::Broken => Where::Dropped,
            _ => wire,
        };
        Self::without_status(&text, Some(transport), wire, size)
    }

    pub fn silent(limit: Duration, wire: Where) -> Self {
        let text = format!("nothing came for {} s", limit.as_secs_f32());
        let size = SessionSize::default();
        Self::without_status(&text, Some(Transport::Timeout), wire, size)
    }

    /// The stream ended, but not the reply.
    pub fn cut(size: SessionSize) -> Self {
        let text = "the connection was closed before the reply was complete";
        Self::without_status(text, Some(Transport::Broken), Where::Dropped, size)
    }

    pub fn fault(fault: Fault, size: SessionSize) -> Self {
        match fault {
            Fault::Malformed(text) => Self::malformed(text),
            Fault::Reported(error) => {
                let wire = match classify::is_drop(&error) {
                    true => Where::Dropped,
                    false => Where::Refused,
                };
                Self::without_status(&error.to_string(), None, wire, size)
            }
        }
    }

    /// A web page where a reply should be: a proxy or a wrong address.
    pub fn page(text: &str) -> Self {
        let verdict = classify::classify(&Failure {
            text,
            ..Failure::default()
        });
        Self::malformed(verdict.text)
    }

    /// Bytes that are no stream of events.
    pub fn garbled(error: impl Display) -> Self {
        Self::malformed(error.to_string())
    }

    /// There is no way to send anything; trying again won't change that.
    pub fn unusable(error: &ModelError) -> Self {
        let mut failed = Self::malformed(error.message.clone());
        failed.verdict.kind = error.kind;
        failed.verdict.retry = false;
        failed
    }

    /// The keys can't sign anything.
    pub fn unsigned(problem: String) -> Self {
        Self::unusable(&ModelError::new(Kind::NotConfigured, problem))
    }

    fn malformed(text: String) -> Self {
        let verdict = Verdict {
            kind: Kind::Malformed,
            retry: true,
            text,
        };
        Self {
            verdict,
            status: None,
            retry_after: None,
            reset: None,
            wire: Where::Refused,
        }
    }

    fn without_status(
        text: &str,
        transport: Option<Transport>,
        wire: Where,
        size: SessionSize,
    ) -> Self {
        let verdict = classify::classify(&Failure {
            status: None,
            text,
            transport,
            size,
        });
        Self {
            verdict,
            status: None,
            retry_after: None,
            reset: None,
            wire,
        }
    }

    /// When the key is good again, as far as the server says.
    pub fn reset_at(&self, now: Timestamp) -> Option<Timestamp> {
        let wait = self.retry_after.and_then(|wait| now.checked_add(wait).ok());
        self.reset.or(wait)
    }

    /// One line about what happened.
    pub fn reason(&self, route: &Route) -> String {
        let text = clean(&self.verdict.text, route);
        match self.status {
            Some(status) => format!("HTTP {status}: {text}"),
            None => text,
        }
    }

    /// The whole story: what, where, and what to do about it.
    pub fn into_error(self, route: &Route) -> ModelError {
        let mut message = format!(
            "{} [{}, model {}, {}]",
            self.reason(route),
            route.provider,
            route.model,
            route.base_url,
        );
        let hint = match classify::is_free_tier(&self.verdict.text) {
            true => Some(FREE_TIER.to_owned()),
            false => hint(self.verdict.kind, route),
        };
        if let Some(hint) = hint {
            message = format!("{message}. {hint}");
        }
        ModelError {
            kind: self.verdict.kind,
            message,
            status: self.status,
            retry_after: self.retry_after,
        }
    }
}

impl Trouble {
    /// A wait that ended: our own patience, or the caller's.
    pub fn ended(ended: Ended, limit: Duration, wire: Where) -> Self {
        match ended {
            Ended::Cancelled => Self::Cancelled,
            Ended::OutOfTime => Self::OutOfTime,
            Ended::TooSlow => Self::Failed(Failed::silent(limit, wire)),
        }
    }
}

impl From<Failed> for Trouble {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

const FREE_TIER: &str = "The key is on Google's free tier, which is too small for an agent. Turn on billing for its \
                         project at https://aistudio.google.com/apikey, or choose another provider with `hermes model`";

/// What the owner can do about it.
fn hint(kind: Kind, route: &Route) -> Option<String> {
    let key = &route.key_name;
    Some(match kind {
        Kind::Auth if key.starts_with(OF_POOL) => format!("Check the key: `hermes auth list {}`", route.provider),
        Kind::Auth => format!("Check the key: `hermes config set {key} <key>`"),
        Kind::Billing => format!("Add credit to the {} account, or choose another provider with `hermes model`", route.provider),
        Kind::ModelNotFound => "Choose another model with `hermes model`".to_owned(),
        Kind::PolicyBlocked => "Allow a provider of this model in the account's privacy settings, or choose another model".to_owned(),
        Kind::Transport | Kind::Timeout if route.is_local() => "Is the server running there?".to_owned(),
        Kind::RateLimit => "Wait a little, or choose another provider with `hermes model`".to_owned(),
        _ => return None,
    })
}

/// Errors quote what was sent; keys must not come along.
fn clean(text: &str, route: &Route) -> String {
    let key = route.key.expose();
    let text = match key.len() >= 4 {
        true => text.replace(key, &route.key.masked()),
        false => text.to_owned(),
    };
    Redactor::default().force(&text).into_owned()
}

/// The cause behind the layers, which only repeat the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
