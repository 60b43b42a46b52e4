//! What went wrong, as a class that decides what happens next.

use std::fmt;
use std::time::Duration;

use crate::config::Secret;

/// The class of a failure. Recovery looks at nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// The caller gave up.
    Cancelled,
    /// The credentials were refused, or there are none.
    Auth,
    /// The credentials are good, but not for this; the scope the server asks for, if it said.
    Scope(Option<String>),
    /// The server has forgotten our session. Nothing was executed.
    SessionLost,
    /// Not a byte of the request reached the server.
    NotSent,
    /// The server is busy, and perhaps said for how long.
    Throttled(Option<Duration>),
    /// Something in between gave up; the server may have got the request.
    Gateway,
    /// The connection ended after the request was sent.
    Cut,
    /// An answer that is none.
    Protocol,
    /// The answer is larger than anybody wants to read.
    TooLarge,
    /// No answer in time.
    Deadline,
    /// The server answered, and the answer is an error.
    App,
    /// Trying again cannot help before somebody changes the configuration.
    Setup,
}

impl Class {
    /// Whether the server may have acted on the request without us knowing.
    pub fn is_ambiguous(&self) -> bool {
        matches!(
            self,
            Self::Gateway | Self::Cut | Self::Protocol | Self::TooLarge | Self::Deadline
        )
    }

    /// Whether it says that the way to the server is broken, and not that the server said no.
    pub fn counts_against_server(&self) -> bool {
        match self {
            Self::Cancelled | Self::App | Self::Throttled(Some(_)) | Self::Scope(_) => false,
            Self::Auth
            | Self::SessionLost
            | Self::NotSent
            | Self::Throttled(None)
            | Self::Gateway
            | Self::Cut
            | Self::Protocol
            | Self::TooLarge
            | Self::Deadline
            | Self::Setup => true,
        }
    }
}

/// A failure, ready to be shown: neither text is ever empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub class: Class,
    /// In a few words: `HTTP 503`, `Connection reset`, `Timeout`.
    pub kind: String,
    /// What the server or the system said.
    pub message: String,
    /// The status of the HTTP answer, if there was one.
    pub status: Option<u16>,
    /// What a refused request was sent with, and how the server refused it.
    pub(crate) refused: Option<Box<Refused>>,
    /// The code of the JSON-RPC error, if it was one.
    pub code: Option<i64>,
    /// The versions spoken by a server that refused ours.
    pub(crate) versions: Option<Box<[String]>>,
}

impl Failure {
    pub fn new(class: Class, kind: impl Into<String>, message: impl Into<String>) -> Self {
        let kind = non_empty(kind.into()).unwrap_or_else(|| format!("{class:?}"));
        let message = non_empty(message.into()).unwrap_or_else(|| kind.clone());
        Self {
            class,
            kind,
            message,
            status: None,
            refused: None,
            code: None,
            versions: None,
        }
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    #[must_use]
    pub fn with_code(mut self, code: i64) -> Self {
        self.code = Some(code);
        self
    }

    #[must_use]
    pub(crate) fn with_versions(mut self, versions: Vec<String>) -> Self {
        self.versions = Some(versions.into());
        self
    }

    #[must_use]
    pub(crate) fn with_refused(mut self, refused: Refused) -> Self {
        self.refused = Some(Box::new(refused));
        self
    }
}

/// A request that was refused for its credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The access token it carried.
    pub token: Option<Secret>,
    /// The server's `WWW-Authenticate`.
    pub challenge: Option<String>,
}

fn non_empty(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == self.message {
            f.write_str(&self.kind)
        } else {
            write!(f, "{}: {}", self.kind, self.message)
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_is_without_words() {
        let check = |kind: &str, message: &str, text: &str| {
            assert_eq!(Failure::new(Class::Cut, kind, message).to_string(), text);
        };
        check("Connection reset", "by peer", "Connection reset: by peer");
        check("Timeout", "", "Timeout");
        check("", " \n", "Cut");
    }
}
