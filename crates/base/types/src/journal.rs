//! Remembering: a conversation's messages are written down before anything else happens with them.

use futures::future::BoxFuture;

use crate::{Cost, Message, Usage};

/// Where a conversation is kept. A future that is ready means: it is safe now.
pub trait Journal: Send + Sync {
    fn append<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>>;

    /// Puts these messages in place of all that were there.
    fn rewrite<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<(), String>>;

    /// Counts one reply.
    fn usage<'a>(&'a self, usage: &'a Usage, cost: &'a Cost) -> BoxFuture<'a, Result<(), String>>;
}
