//! The seam between the life of a connection and what it is made of: HTTP, events or a child's pipes.

use std::sync::Arc;

use futures::future::{self, BoxFuture};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::failure::Failure;

/// How many messages of a server may wait for us. A server that floods us waits instead.
pub(crate) const INBOX: usize = 256;

/// Opens connections to one server.
pub(crate) trait Dial: Send + Sync {
    /// Gets as far as a request can be sent: the child runs, or the client is built. No handshake yet.
    /// What the server says on its own goes to `inbox` from now on.
    fn dial(&self, inbox: Inbox) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>>;

    /// The way to try when the server refused the handshake with one of the statuses that tell an old server.
    fn fallback(&self) -> Option<Arc<dyn Dial>> {
        None
    }
}

/// One connection. It is used by many callers at a time and dies once.
pub(crate) trait Link: Send + Sync {
    /// Sends a request and waits for its answer: the `result`, or a classified failure. Ends no later than the
    /// exchange it travels in, so no answer can be waited for that cannot come any more. Dropping the future
    /// gives the exchange up (and, over HTTP, closes it).
    fn request(&self, request: Request) -> BoxFuture<'_, Result<Value, Failure>>;

    /// Sends a message that has no answer: a notification, or our answer to a request of the server.
    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Failure>>;

    /// The handshake is over: from here on requests carry this protocol version, and the standing stream is
    /// opened where there is one.
    fn agreed(&self, protocol: &Protocol);

    /// Waits until the connection is dead, and says why.
    fn closed(&self) -> BoxFuture<'_, Failure>;

    /// Asks on a connection of its own whether the server is still there. Bounded by the caller.
    fn side_probe(&self) -> BoxFuture<'_, SideProbe>;

    /// Says goodbye as far as that goes quickly, and leaves nothing behind.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Leaves nothing behind, without ceremony: the server is gone, or does not know us any more.
    fn abandon(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }
}

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub id: u64,
    pub method: &'static str,
    pub params: Value,
    /// Headers that mirror arguments (`Mcp-Name`, `Mcp-Param-…`), for the eras and transports that want them.
    pub mirrored: Vec<(String, String)>,
}

impl Request {
    /// The JSON-RPC message.
    pub(crate) fn message(&self) -> Value {
        serde_json::json!({"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": self.params})
    }
}

/// What was agreed on in the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Protocol {
    pub version: String,
    pub era: Era,
}

/// The two generations of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, `ping`.
    Legacy,
    /// From 2026-07-28: stateless.
    Modern,
}

/// What a side probe found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SideProbe {
    Alive,
    /// Nobody answers the door.
    Unreachable,
    /// Somebody is there but busy, or the transport cannot tell.
    Inconclusive,
    SessionLost,
}

/// A message of the server that is not an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inbound {
    /// The request on whose stream it came, if it came on one.
    pub origin: Option<u64>,
    pub body: InboundBody,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InboundBody {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
}

pub(crate) type Inbox = mpsc::Sender<Inbound>;
