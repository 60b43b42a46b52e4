//! Streamable HTTP: each request is a POST of its own, answered by JSON or by events.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::answer::{Expected, Outcome, protocol, unanswered};
use super::body::{self, Body};
use super::channel::{Channel, Outgoing, content_type, is_json};
use super::events::{EVENT_STREAM, EventStream};
use super::fate::{Fate, closed_by_us};
use super::site::VERSION;
use super::waiting::{Slot, Waiting};
use super::{probe, standing};
use crate::classify;
use crate::failure::{Class, Failure};
use crate::link::{Era, Inbox, Link, Protocol, Request, SideProbe};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The version we ask for, said already while asking: some servers refuse everything without one.
pub(super) const FIRST_VERSION: &str = "2025-11-25";
const INITIALIZE: &str = "initialize";
const CALL: &str = "tools/call";

/// A connection, which is a client with its pool, and what the server has told us so far.
pub(super) struct Streamable {
    core: Arc<Core>,
    /// Ends everything that still runs when the link is dropped.
    _guard: DropGuard,
}

/// What the tasks of a link share with it.
pub(super) struct Core {
    pub channel: Channel,
    pub inbox: Inbox,
    /// For answers that take the standing stream.
    pub waiting: Waiting,
    pub fate: Fate,
    /// The standing stream is open.
    pub is_standing: AtomicBool,
    /// Cancelled when it is known whether there is a standing stream.
    pub standing_known: CancellationToken,
    state: Mutex<State>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct State {
    protocol: Option<Protocol>,
    session: Option<HeaderValue>,
    /// The server has answered `initialize`.
    is_initialized: bool,
    has_standing: bool,
    /// The server has forgotten the session, so there is nothing to end.
    is_forgotten: bool,
}

impl Streamable {
    pub(super) fn new(channel: Channel, inbox: Inbox) -> Self {
        let stop = CancellationToken::new();
        let core = Core {
            channel,
            inbox,
            waiting: Waiting::default(),
            fate: Fate::default(),
            is_standing: AtomicBool::new(false),
            standing_known: CancellationToken::new(),
            state: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: stop.clone(),
        };
        Self {
            core: Arc::new(core),
            _guard: stop.drop_guard(),
        }
    }
}

impl Link for Streamable {
    fn request(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(self.core.request(request))
    }

    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async move {
            let method = message["method"].as_str().unwrap_or_default();
            let headers = self.core.headers(method, &[]);
            let outgoing = self.core.post(&message, headers);
            self.core.channel.send(&outgoing).await.map(drop)
        })
    }

    fn agreed(&self, protocol: &Protocol) {
        let mut state = self.core.state();
        state.protocol = Some(protocol.clone());
        let wants_standing = protocol.era == Era::Legacy && state.is_initialized;
        if wants_standing && !std::mem::replace(&mut state.has_standing, true) {
            drop(state);
            self.core.spawn(standing::listen(self.core.clone()));
        }
    }

    fn closed(&self) -> BoxFuture<'_, Failure> {
        Box::pin(self.core.fate.sealed())
    }

    fn side_probe(&self) -> BoxFuture<'_, SideProbe> {
        Box::pin(async move {
            match self.core.ask_aside().await {
                Ok(Some(_)) => SideProbe::Alive,
                Ok(None) => SideProbe::Inconclusive,
                Err(failure) => probe::verdict(&failure),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.core.end().await;
            self.core.end_session().await;
        })
    }

    fn abandon(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.core.end())
    }
}

impl Core {
    async fn request(&self, request: Request) -> Outcome {
        let expected = Expected {
            id: json!(request.id),
            origin: Some(request.id),
            inbox: &self.inbox,
        };
        let mut slot = self.waiting.enter(request.id)?;
        if request.method == CALL {
            self.standing_settled().await;
        }
        let outcome = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(closed_by_us()),
            outcome = self.exchange(&request, &expected, &self.channel) => match outcome {
                Ok(Some(result)) => Ok(result),
                Ok(None) => self.late_answer(&mut slot).await,
                Err(failure) => Err(failure),
            },
            outcome = slot.answer() => outcome,
        };
        self.learn(request.method, &outcome);
        outcome
    }

    /// Until the standing stream is there, if one was asked for: a tool may ask us something on it at once.
    async fn standing_settled(&self) {
        if !self.state().has_standing {
            return;
        }
        let limit = self.channel.site.timing.standing_wait;
        tokio::select! {
            _ = timeout(limit, self.standing_known.cancelled()) => {}
            () = self.stop.cancelled() => {}
        }
        // Once is enough.
        self.standing_known.cancel();
    }

    fn learn(&self, method: &str, outcome: &Outcome) {
        match outcome {
            Ok(_) if method == INITIALIZE => self.state().is_initialized = true,
            Err(failure) if failure.class == Class::SessionLost => self.state().is_forgotten = true,
            _ => {}
        }
    }

    /// One POST and its answer; `None` if the server took the request without one.
    async fn exchange(
        &self,
        request: &Request,
        expected: &Expected<'_>,
        channel: &Channel,
    ) -> Result<Option<Value>, Failure> {
        let headers = self.headers(request.method, &request.mirrored);
        let mut message = request.message();
        message["id"] = expected.id.clone();
        let response = channel.send(&self.post(&message, headers)).await?;
        if request.method == INITIALIZE {
            // Known before the answer is read: the server may ask us something in between.
            self.state().session = response.headers().get(SESSION).cloned();
        }
        if matches!(response.status().as_u16(), 202 | 204) {
            return Ok(None);
        }
        let patience = channel.site.patience;
        let limit = channel.site.max_response;
        match &*content_type(&response) {
            EVENT_STREAM => {
                let stream = EventStream::new(response, limit, patience);
                self.in_events(stream, expected).await.map(Some)
            }
            kind if is_json(kind) || kind.is_empty() => {
                let text = Body::new(response, patience).whole(limit).await?;
                expected.in_body(text).await.map(Some)
            }
            kind => Err(self.wrong_kind(kind, response).await),
        }
    }

    async fn wrong_kind(&self, kind: &str, response: Response) -> Failure {
        let status = response.status().as_u16();
        let text = body::beginning(response, self.channel.site.timing.error_body).await;
        let message = format!(
            "the answer is {kind}, not JSON: {}",
            classify::excerpt(&text)
        );
        protocol(message).with_status(status)
    }

    /// The server took the request and will answer it on the standing stream, if at all.
    async fn late_answer(&self, slot: &mut Slot) -> Outcome {
        let limit = match self.is_standing.load(Ordering::Relaxed) {
            true => self.channel.site.timing.late_answer,
            // It may have come already, and the stream ended after it.
            false => Duration::ZERO,
        };
        match timeout(limit, slot.answer()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(unanswered()),
        }
    }

    /// A GET that events come from.
    pub(super) async fn open_stream(
        &self,
        last_id: Option<&str>,
        patience: Duration,
    ) -> Result<EventStream, Failure> {
        let mut headers = self.headers("", &[]);
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        headers.remove(CONTENT_TYPE);
        if let Some(value) = last_id.and_then(|id| HeaderValue::try_from(id).ok()) {
            headers.insert(LAST_EVENT, value);
        }
        let mut outgoing = self.outgoing(Method::GET, headers);
        outgoing.patience = patience;
        let response = self.channel.send(&outgoing).await?;
        match &*content_type(&response) {
            EVENT_STREAM => Ok(EventStream::new(
                response,
                self.channel.site.max_response,
                patience,
            )),
            kind => Err(protocol(format!("the stream is {kind:?}, not events"))),
        }
    }

    /// A question on a connection of its own.
    async fn ask_aside(&self) -> Result<Option<Value>, Failure> {
        let request = probe::request(self.state().protocol.as_ref());
        let expected = Expected {
            id: json!(probe::ID),
            origin: None,
            inbox: &self.inbox,
        };
        let channel = self.channel.fresh()?;
        self.exchange(&request, &expected, &channel).await
    }

    /// The headers of a message that is about `method`.
    fn headers(&self, method: &str, mirrored: &[(String, String)]) -> HeaderMap {
        let state = self.state();
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let protocol = state.protocol.as_ref();
        let version = protocol.map_or(FIRST_VERSION, |protocol| &*protocol.version);
        if !self.channel.site.headers.contains_key(VERSION) {
            insert(&mut headers, VERSION, version);
        }
        if protocol.is_some_and(|protocol| protocol.era == Era::Modern) {
            if !method.is_empty() {
                insert(&mut headers, METHOD.as_str(), method);
            }
            for (name, value) in mirrored {
                insert(&mut headers, name, value);
            }
        } else if let Some(session) = state.session.as_ref().filter(|_| method != INITIALIZE) {
            headers.insert(SESSION, session.clone());
        }
        headers
    }

    fn post(&self, message: &Value, headers: HeaderMap) -> Outgoing {
        let mut outgoing = self.outgoing(Method::POST, headers);
        // A JSON value can always be written.
        outgoing.body = Bytes::from(serde_json::to_vec(message).unwrap_or_default());
        outgoing
    }

    fn outgoing(&self, method: Method, headers: HeaderMap) -> Outgoing {
        let site = &self.channel.site;
        Outgoing {
            method,
            url: site.url.clone(),
            body: Bytes::new(),
            patience: site.patience,
            has_session: headers.contains_key(SESSION),
            headers,
        }
    }

    /// Stops everything that runs for this link.
    async fn end(&self) {
        self.stop.cancel();
        self.fate.seal(closed_by_us());
        self.tasks.close();
        // Every task stops at the token; one that doesn't must not keep us.
        let _ = timeout(self.channel.site.timing.farewell, self.tasks.wait()).await;
    }

    async fn end_session(&self) {
        let headers = self.headers("", &[]);
        let was_lost = |failure: Failure| failure.class == Class::SessionLost;
        let is_live = !self.state().is_forgotten && !self.fate.reason().is_some_and(was_lost);
        if !is_live || !headers.contains_key(SESSION) {
            return;
        }
        let outgoing = self.outgoing(Method::DELETE, headers);
        // Many servers don't offer it, and those that do forget us sooner or later anyway.
        let _ = timeout(
            self.channel.site.timing.farewell,
            self.channel.send(&outgoing),
        )
        .await;
    }

    /// Runs `work` until it is done or the link ends.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            stop.run_until_cancelled(work).await;
        });
    }

    pub(super) fn era(&self) -> Era {
        self.state()
            .protocol
            .as_ref()
            .map_or(Era::Legacy, |protocol| protocol.era)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        (Ok(name), Ok(value)) => {
            headers.insert(name, value);
        }
        _ => tracing::warn!("the header {name} cannot be sent"),
    }
}
