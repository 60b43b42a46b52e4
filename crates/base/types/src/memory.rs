//! Remembering beyond the notes of our own: one memory outside, beside the built-in one.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};

use crate::{Message, Scope, SessionId, Tool};

/// A memory somebody else keeps. Nothing of a conversation fails because it does: errors are told and the turn goes on.
/// A scope brings the time there is.
pub trait MemoryProvider: Send + Sync {
    /// As the owner chose it: `mcp:notes`.
    fn name(&self) -> &str;

    /// What it knows that belongs to these words; empty if nothing does.
    fn recall<'a>(
        &'a self,
        words: &'a str,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Takes in what was said.
    fn keep<'a>(
        &'a self,
        exchange: &'a Exchange,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// These are about to be replaced by a summary: what whoever writes it should know besides; empty if nothing.
    fn before_summary<'a>(
        &'a self,
        _: &'a [Message],
        _: &'a Scope,
    ) -> BoxFuture<'a, Result<String, String>> {
        std::future::ready(Ok(String::new())).boxed()
    }

    /// Hears what happens in the session. Told in order, one at a time, beside the conversation.
    fn noted<'a>(&'a self, _: &'a MemoryNews, _: &'a Scope) -> BoxFuture<'a, Result<(), String>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Tools of its own; those with a name that is taken are left out.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// What the system prompt says about it.
    fn prompt_part(&self) -> Option<String> {
        None
    }
}

/// One turn, without what was recalled for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    pub session: SessionId,
    pub user: String,
    pub assistant: String,
}

/// What happens in a session besides its exchanges.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryNews {
    /// It has begun.
    Began(MemorySession),
    /// A turn begins, counted from 1.
    TurnStarted { turn: u64, words: String },
    /// These words may well be close to what is asked next: whoever is slow can think ahead.
    Ahead { words: String },
    /// A child has ended.
    Delegated { goal: String, result: String },
    /// The built-in memory was changed.
    Written(MemoryWrite),
    /// The conversation goes on elsewhere, or another one begins.
    Switched {
        from: SessionId,
        to: SessionId,
        why: SwitchedBy,
    },
    /// It is over, with these messages.
    Ended {
        session: SessionId,
        messages: Arc<Vec<Message>>,
    },
}

/// Whose session it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySession {
    pub session: SessionId,
    /// How it is reached: `cli` and so on.
    pub platform: String,
    pub home: PathBuf,
}

/// Why a conversation is stored under another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchedBy {
    /// It was made shorter and is still the same.
    Compression,
    /// The owner went to another one.
    Owner,
}

/// A change of the built-in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryWrite {
    /// `add` or `replace`
    pub action: &'static str,
    /// `memory` or `user`
    pub target: &'static str,
    pub content: String,
    pub origin: WriteOrigin,
    pub session: SessionId,
    pub call_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrigin {
    Foreground,
    BackgroundReview,
}

impl fmt::Display for WriteOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreground => "foreground",
            Self::BackgroundReview => "background_review",
        })
    }
}
