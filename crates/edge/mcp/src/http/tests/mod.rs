//! The transports against a server that does exactly what a test tells it to.

mod answers;
mod legacy;
mod limits;
mod opening;
mod resuming;
mod server;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::HttpDial;
use crate::auth::{Authorizer, NoTokens};
use crate::config::{Endpoint, HttpEndpoint, Secret, ServerConfig};
use crate::failure::{Class, Failure, Refused};
use crate::link::{Dial, Era, INBOX, Inbound, Link, Protocol, Request};
use crate::timing::Timing;
use server::Server;

/// A link to a test server, and what the server says on its own.
struct Line {
    link: Arc<dyn Link>,
    inbox: mpsc::Receiver<Inbound>,
}

impl Line {
    async fn to(server: &Server) -> Self {
        Self::with(server, |_| {}).await
    }

    async fn with(server: &Server, change: impl FnOnce(&mut ServerConfig)) -> Self {
        Self::dial(&dial(server, change)).await.unwrap()
    }

    async fn dial(dial: &dyn Dial) -> Result<Self, Failure> {
        let (sender, inbox) = mpsc::channel(INBOX);
        let link = dial.dial(sender).await?;
        Ok(Self { link, inbox })
    }

    async fn ask(&self, id: u64, method: &'static str) -> Result<Value, Failure> {
        let request = Request {
            id,
            method,
            params: json!({}),
            mirrored: vec![("Mcp-Name".to_owned(), "thing".to_owned())],
        };
        let asked = self.link.request(request);
        within(asked).await
    }

    /// Shakes hands as the supervisor does.
    async fn shake(&self) {
        let protocol = legacy("2025-06-18");
        self.link.agreed(&legacy("2025-11-25"));
        self.ask(0, "initialize").await.unwrap();
        self.link.agreed(&protocol);
    }

    async fn class(&self) -> Class {
        self.failure().await.class
    }

    async fn failure(&self) -> Failure {
        let failure = self.ask(7, "tools/call").await.unwrap_err();
        assert!(!failure.kind.is_empty() && !failure.message.is_empty());
        failure
    }
}

/// Nothing in these tests may hang.
async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work)
        .await
        .expect("it hangs")
}

fn legacy(version: &str) -> Protocol {
    Protocol {
        version: version.to_owned(),
        era: Era::Legacy,
    }
}

fn modern() -> Protocol {
    Protocol {
        version: "2026-07-28".to_owned(),
        era: Era::Modern,
    }
}

fn config(url: &str) -> ServerConfig {
    let mut endpoint = HttpEndpoint::new(url);
    endpoint.skip_preflight = true;
    endpoint.headers = [("X-Key".to_owned(), Secret::new("hidden-value"))].into();
    ServerConfig::new("box", Endpoint::Http(endpoint))
}

/// Everything that waits, waits a tenth of its time.
fn timing() -> Timing {
    Timing::default().faster(10.0)
}

fn dial(server: &Server, change: impl FnOnce(&mut ServerConfig)) -> HttpDial {
    let mut config = config(&server.url("/mcp"));
    change(&mut config);
    build(
        &config,
        Arc::new(NoTokens {
            headers: Vec::new(),
        }),
    )
    .unwrap()
}

fn build(config: &ServerConfig, auth: Arc<dyn Authorizer>) -> Result<HttpDial, Failure> {
    HttpDial::new(config, http(&mut config.clone()), timing(), auth)
}

fn http(config: &mut ServerConfig) -> &mut HttpEndpoint {
    match &mut config.endpoint {
        Endpoint::Http(endpoint) => endpoint,
        Endpoint::Stdio(_) => panic!("no HTTP server"),
    }
}

/// Gives out one token for ever.
struct OneToken;

impl Authorizer for OneToken {
    fn token(&self) -> futures::future::BoxFuture<'_, Result<Option<Secret>, Failure>> {
        Box::pin(async { Ok(Some(Secret::new("token-1"))) })
    }

    fn recover(&self, _: Refused) -> futures::future::BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }

    fn changed(&self) -> futures::future::BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}
