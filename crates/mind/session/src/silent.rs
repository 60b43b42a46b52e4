//! Turns that nobody reads along with: what they say is kept nowhere, and nobody answers them.

use futures::future::{BoxFuture, FutureExt};
use hermes_store::Store;
use hermes_types::{
    Answer, Asker, Cost, Journal, Message, Question, Scope, SessionId, Shorter, Usage,
};

use crate::journal::count;

/// Whatever is asked: no.
pub(crate) struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
        async { Answer::Nobody }.boxed()
    }
}

/// What is said is kept nowhere; what it costs goes on an account, if there is one.
pub(crate) struct Nowhere {
    pub account: Option<Account>,
}

/// A session that pays for a task beside it.
#[derive(Clone)]
pub(crate) struct Account {
    pub store: Store,
    pub id: SessionId,
    pub task: &'static str,
}

impl Journal for Nowhere {
    fn append<'a>(&'a self, _: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        async { Ok(()) }.boxed()
    }

    fn rewrite<'a>(&'a self, _: &'a [Message]) -> BoxFuture<'a, Result<(), String>> {
        async { Ok(()) }.boxed()
    }

    fn compact<'a>(&'a self, _: Shorter<'a>) -> BoxFuture<'a, Result<Option<SessionId>, String>> {
        async { Ok(None) }.boxed()
    }

    fn usage<'a>(&'a self, usage: &'a Usage, cost: &'a Cost) -> BoxFuture<'a, Result<(), String>> {
        match &self.account {
            Some(paid) => count(&paid.store, &paid.id, paid.task, (usage, cost)).boxed(),
            None => async { Ok(()) }.boxed(),
        }
    }
}
