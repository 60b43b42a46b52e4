//! A server made of a closure.

use std::sync::{Arc, Mutex};

use futures::future::{self, BoxFuture};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::auth::NoTokens;
use crate::calls::locked;
use crate::config::{Endpoint, HttpEndpoint, ServerConfig};
use crate::failure::{Class, Failure};
use crate::handle::{Server, Surroundings};
use crate::handshake::Client;
use crate::herd::Herd;
use crate::link::{Dial, Inbox, Link, Protocol, Request, SideProbe};
use crate::operation::{Answer, Operation};
use crate::server::{CallContext, CallError, Reply};
use crate::timing::{Clock, Timing};

/// What the server does with a request: `connection` counts the connections from 1.
pub(super) type React = dyn Fn(usize, &Request) -> Reaction + Send + Sync;

pub(super) enum Reaction {
    Answer(Value),
    Fail(Failure),
    Hang,
}

/// The server, and what it has seen.
pub(super) struct World {
    react: Box<React>,
    seen: Mutex<Vec<(usize, &'static str)>>,
    dials: Mutex<usize>,
    /// Connecting fails while this says so.
    refuses: Mutex<Option<Failure>>,
    closed: Mutex<Vec<CancellationToken>>,
}

impl World {
    pub(super) fn new(
        react: impl Fn(usize, &Request) -> Reaction + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            react: Box::new(react),
            seen: Mutex::default(),
            dials: Mutex::default(),
            refuses: Mutex::default(),
            closed: Mutex::default(),
        })
    }

    pub(super) fn count(&self, method: &str) -> usize {
        locked(&self.seen)
            .iter()
            .filter(|(_, seen)| *seen == method)
            .count()
    }

    pub(super) fn dials(&self) -> usize {
        *locked(&self.dials)
    }

    pub(super) fn refuse(&self, failure: Option<Failure>) {
        *locked(&self.refuses) = failure;
    }

    /// The connection dies under the client.
    pub(super) fn hang_up(&self) {
        for link in locked(&self.closed).iter() {
            link.cancel();
        }
    }

    pub(super) fn serve(self: &Arc<Self>, change: impl FnOnce(&mut ServerConfig)) -> Server {
        let endpoint = Endpoint::Http(HttpEndpoint::new("http://server.test/mcp"));
        let mut config = ServerConfig::new("fake", endpoint);
        config.era = crate::config::EraChoice::Legacy;
        config.keepalive = None;
        change(&mut config);
        let timing = Timing {
            jitter: 0.0,
            ..Timing::default()
        };
        let around = Surroundings {
            client: Client {
                name: "test".to_owned(),
                version: "1".to_owned(),
            },
            herd: Herd::new(Arc::new(Awake), &timing),
            timing,
            sampler: None,
            permission: None,
        };
        let auth = Arc::new(NoTokens {
            headers: Vec::new(),
        });
        Server::start_with(config, Arc::new(FakeDial(Arc::clone(self))), auth, &around)
    }
}

struct Awake;

impl Clock for Awake {
    fn mono(&self) -> tokio::time::Instant {
        tokio::time::Instant::now()
    }

    fn boot(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn wall(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH
    }
}

struct FakeDial(Arc<World>);

impl Dial for FakeDial {
    fn dial(&self, _: Inbox) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>> {
        let world = Arc::clone(&self.0);
        *locked(&world.dials) += 1;
        let refused = locked(&world.refuses).clone();
        Box::pin(async move {
            if let Some(failure) = refused {
                return Err(failure);
            }
            let closed = CancellationToken::new();
            locked(&world.closed).push(closed.clone());
            let number = world.dials();
            Ok(Arc::new(FakeLink {
                world,
                number,
                closed,
            }) as Arc<dyn Link>)
        })
    }
}

struct FakeLink {
    world: Arc<World>,
    number: usize,
    closed: CancellationToken,
}

impl Link for FakeLink {
    fn request(&self, request: Request) -> BoxFuture<'_, Result<Value, Failure>> {
        if self.closed.is_cancelled() {
            let failure = Failure::new(Class::NotSent, "Connection lost", "hung up");
            return Box::pin(future::ready(Err(failure)));
        }
        locked(&self.world.seen).push((self.number, request.method));
        let reaction = match (self.world.react)(self.number, &request) {
            Reaction::Answer(value) if value.is_null() => Reaction::Answer(healthy(&request)),
            other => other,
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            match reaction {
                Reaction::Answer(value) => Ok(value),
                Reaction::Fail(failure) => Err(failure),
                Reaction::Hang => future::pending().await,
            }
        })
    }

    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Failure>> {
        if message["method"] == "notifications/cancelled" {
            locked(&self.world.seen).push((self.number, "notifications/cancelled"));
        }
        Box::pin(future::ready(Ok(())))
    }

    fn agreed(&self, _: &Protocol) {}

    fn closed(&self) -> BoxFuture<'_, Failure> {
        Box::pin(async {
            self.closed.cancelled().await;
            Failure::new(Class::Cut, "Connection lost", "hung up")
        })
    }

    fn side_probe(&self) -> BoxFuture<'_, SideProbe> {
        Box::pin(future::ready(SideProbe::Inconclusive))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }
}

/// What a server answers that has nothing to complain about.
fn healthy(request: &Request) -> Value {
    match request.method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "fake", "version": "1"},
        }),
        "tools/list" => json!({"tools": [
            {"name": "write"},
            {"name": "read", "annotations": {"readOnlyHint": true}},
        ]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        _ => json!({}),
    }
}

pub(super) fn well() -> Reaction {
    Reaction::Answer(Value::Null)
}

pub(super) fn fail(class: Class, message: &str) -> Reaction {
    Reaction::Fail(Failure::new(class, "Test", message))
}

pub(super) fn tool(name: &str) -> Operation {
    Operation::CallTool {
        name: name.to_owned(),
        arguments: Map::new(),
    }
}

pub(super) async fn call(server: &Server, operation: &Operation) -> Result<Reply, CallError> {
    server.call(operation, &CallContext::default()).await
}

pub(super) fn text(reply: &Reply) -> &str {
    match &reply.answer {
        Answer::Tool(result) => match result.content.first() {
            Some(crate::content::Content::Text(text)) => text,
            _ => "",
        },
        _ => "",
    }
}
