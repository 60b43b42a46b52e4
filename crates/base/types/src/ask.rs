//! Asking the owner. One mechanism for approvals, questions, secrets and confirmations.

use std::time::Duration;

use futures::future::BoxFuture;

use crate::Scope;

/// Waits for the owner's answer, or says why there is none.
pub trait Asker: Send + Sync {
    fn ask<'a>(&'a self, question: Question, scope: &'a Scope) -> BoxFuture<'a, Answer>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// May this command run? The warnings say why one asks.
    Approve {
        command: String,
        warnings: Vec<String>,
        /// A longer answer counts as this one.
        longest: Consent,
        timeout: Duration,
    },
    /// Something only the owner can decide; no choices: an open question.
    Clarify {
        question: String,
        choices: Vec<String>,
    },
    /// A value that must not be shown or stored, such as a password.
    Secret { prompt: String },
    Confirm {
        question: String,
        /// `Always` can be answered, too, where that is it: the owner is not asked again.
        longest: Consent,
    },
    /// A server wants something of the owner while it works on a call: may it have these fields?
    Elicit {
        server: String,
        message: String,
        /// Each in one line.
        fields: Vec<String>,
        timeout: Duration,
    },
}

/// How long consent lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consent {
    Once,
    /// For the rest of the session.
    Session,
    /// In future sessions, too.
    Always,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Once,
    /// Also for the rest of the session.
    Session,
    /// Also in future sessions.
    Always,
    Deny,
    Text(String),
    /// Nobody is there to ask.
    Nobody,
    TimedOut,
    Cancelled,
}
