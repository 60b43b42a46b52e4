//! The transport of 2024-11-05: requests are posted, and all answers come on one long stream of events.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::answer::{Expected, Outcome, protocol};
use super::channel::{Channel, Outgoing, content_type, is_json};
use super::events::{EVENT_STREAM, EventStream};
use super::fate::{Fate, closed_by_us};
use super::site::{Site, VERSION};
use super::waiting::Waiting;
use super::{body, probe};
use crate::failure::{Class, Failure};
use crate::link::{Inbox, Link, Protocol, Request, SideProbe};

const METHOD_NOT_FOUND: i64 = -32601;

/// A connection: the stream, and where to post.
pub(super) struct Legacy {
    core: Arc<Core>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// Ends the stream when the link is dropped.
    _guard: DropGuard,
}

struct Core {
    channel: Channel,
    endpoint: Url,
    inbox: Inbox,
    waiting: Waiting,
    fate: Fate,
}

/// Opens the stream and waits, no longer than `limit`, until it says where to post.
pub(super) async fn open(
    channel: Channel,
    inbox: Inbox,
    limit: Duration,
) -> Result<Legacy, Failure> {
    let (stream, endpoint) = match timeout(limit, announced(&channel)).await {
        Ok(opened) => opened?,
        Err(_) => return Err(body::silent(limit)),
    };
    let core = Arc::new(Core {
        channel,
        endpoint,
        inbox,
        waiting: Waiting::default(),
        fate: Fate::default(),
    });
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();
    let work = core.clone().follow(stream);
    let token = stop.clone();
    tasks.spawn(async move {
        token.run_until_cancelled(work).await;
    });
    Ok(Legacy {
        core,
        tasks,
        _guard: stop.clone().drop_guard(),
        stop,
    })
}

async fn announced(channel: &Channel) -> Result<(EventStream, Url), Failure> {
    let site = &channel.site;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
    let outgoing = outgoing(site, Method::GET, site.url.clone(), headers);
    let response = channel.send(&outgoing).await?;
    let kind = content_type(&response);
    if kind != EVENT_STREAM {
        return Err(protocol(format!("the stream is {kind:?}, not events")));
    }
    let mut stream = EventStream::new(response, site.max_response, site.timing.body_silence);
    while let Some(event) = stream.next().await? {
        if event.name == "endpoint" {
            let endpoint = endpoint(site, &event.data)?;
            return Ok((stream, endpoint));
        }
    }
    Err(protocol("the stream ended before it said where to post"))
}

fn endpoint(site: &Site, text: &str) -> Result<Url, Failure> {
    let url = site.url.join(text.trim());
    let url = url.map_err(|error| protocol(format!("the endpoint is not a URL: {error}")))?;
    if !site.is_same_origin(&url) {
        let origin = url.origin().ascii_serialization();
        let message =
            format!("the endpoint is at another origin, {origin}; nothing was sent there");
        return Err(protocol(message));
    }
    Ok(url)
}

fn outgoing(site: &Site, method: Method, url: Url, mut headers: HeaderMap) -> Outgoing {
    if !site.headers.contains_key(VERSION) {
        let version = HeaderValue::from_static("2024-11-05");
        headers.insert(HeaderName::from_static(VERSION), version);
    }
    Outgoing {
        // The endpoint names the session in its path or query.
        has_session: method == Method::POST,
        method,
        url,
        headers,
        body: Bytes::new(),
        patience: site.timing.body_silence,
    }
}

impl Link for Legacy {
    fn request(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(self.core.request(request))
    }

    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async move { self.core.post(&self.core.channel, &message).await.map(drop) })
    }

    fn agreed(&self, _: &Protocol) {}

    fn closed(&self) -> BoxFuture<'_, Failure> {
        Box::pin(self.core.fate.sealed())
    }

    fn side_probe(&self) -> BoxFuture<'_, SideProbe> {
        Box::pin(async move {
            // The answer comes on the stream; that the server takes the question is enough.
            match self.core.ask_aside().await {
                Ok(_) => SideProbe::Alive,
                Err(failure) => probe::verdict(&failure),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop.cancel();
            self.core.end(closed_by_us());
            self.tasks.close();
            // The task stops at the token; if it doesn't, it must not keep us.
            let _ = timeout(self.core.channel.site.timing.farewell, self.tasks.wait()).await;
        })
    }

    fn abandon(&self) -> BoxFuture<'_, ()> {
        self.close()
    }
}

impl Core {
    async fn request(&self, request: Request) -> Outcome {
        if request.method == "server/discover" {
            // Later protocols don't have this transport.
            let message = "this transport is older than server/discover";
            let failure = Failure::new(Class::App, "Server error", message);
            return Err(failure.with_code(METHOD_NOT_FOUND));
        }
        let mut slot = self.waiting.enter(request.id)?;
        let message = request.message();
        let posted = async {
            match self.post(&self.channel, &message).await {
                Ok(response) => self.refusal(&request, response).await,
                Err(failure) => Err(failure),
            }
        };
        tokio::select! {
            biased;
            outcome = slot.answer() => return outcome,
            posted = posted => posted?,
        }
        let patience = self.channel.site.patience;
        match timeout(patience, slot.answer()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(body::silent(patience)),
        }
    }

    /// Some servers say no in the body of a good answer. What is a yes there still comes on the stream.
    async fn refusal(&self, request: &Request, response: Response) -> Result<(), Failure> {
        if !is_json(&content_type(&response)) {
            return Ok(());
        }
        let expected = Expected {
            id: json!(request.id),
            origin: Some(request.id),
            inbox: &self.inbox,
        };
        let text = body::beginning(response, self.channel.site.timing.error_body).await;
        match expected.in_body(text.into_bytes()).await {
            Err(failure) if failure.class != Class::Protocol => Err(failure),
            _ => Ok(()),
        }
    }

    async fn post(&self, channel: &Channel, message: &Value) -> Result<Response, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let site = &channel.site;
        let mut outgoing = outgoing(site, Method::POST, self.endpoint.clone(), headers);
        outgoing.body = Bytes::from(message.to_string());
        channel.send(&outgoing).await
    }

    async fn ask_aside(&self) -> Result<Response, Failure> {
        let message = json!({"jsonrpc": "2.0", "id": probe::ID, "method": "ping"});
        self.post(&self.channel.fresh()?, &message).await
    }

    /// Hands out what the stream brings. Its end is the end of the connection.
    async fn follow(self: Arc<Self>, mut stream: EventStream) {
        let why = loop {
            match stream.next().await {
                Ok(Some(event)) => {
                    if let Err(lost) = self.waiting.deliver(event, &self.inbox).await {
                        break lost;
                    }
                }
                Ok(None) => break ended(),
                Err(failure) => break failure,
            }
        };
        self.end(why);
    }

    fn end(&self, why: Failure) {
        self.waiting.end(&why);
        self.fate.seal(why);
    }
}

fn ended() -> Failure {
    let message = "the server ended the stream that answers come on";
    Failure::new(Class::Cut, "Connection closed", message)
}
