//! Remembering: a conversation's messages are written down before anything else happens with them.

use futures::future::BoxFuture;

use crate::{Cost, Message, SessionId, Usage};

/// Where a conversation is kept. A future that is ready means: it is safe now.
pub trait Journal: Send + Sync {
    fn append<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>>;

    /// Puts these messages in place of all that were there.
    fn rewrite<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<(), String>>;

    /// Goes on with a shorter conversation. What was there stays readable; the session the conversation is in
    /// from now on, if it is another one.
    fn compact<'a>(
        &'a self,
        shorter: Shorter<'a>,
    ) -> BoxFuture<'a, Result<Option<SessionId>, String>>;

    /// Counts one reply.
    fn usage<'a>(&'a self, usage: &'a Usage, cost: &'a Cost) -> BoxFuture<'a, Result<(), String>>;

    /// Counts one reply of a side model, by the task's name under `auxiliary.`. A journal that doesn't tell
    /// tasks apart counts it like any other.
    fn side_usage<'a>(
        &'a self,
        _task: &'static str,
        usage: &'a Usage,
        cost: &'a Cost,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.usage(usage, cost)
    }
}

/// What a conversation was made into.
#[derive(Clone, Copy, Debug)]
pub struct Shorter<'a> {
    pub system: &'a str,
    pub messages: &'a [Message],
}
