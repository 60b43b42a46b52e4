//! One route as a [`ModelClient`]: streams, watches for silence, retries what may work later.
//!
//! Everything runs inside the stream handed out. Dropping it drops the request, and the connection with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::channel::mpsc::{self, Sender};
use futures::stream::{self, BoxStream};
use futures::{SinkExt, StreamExt};
use hermes_types::{
    ModelClient, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, Scope,
};

use crate::call::Call;
use crate::dump::Dumps;
use crate::http::Http;
use crate::route::{Concessions, Route};
use crate::timing::Timing;

/// Events on their way to the caller; a few, so that a slow reader slows the server down.
const CHANNEL: usize = 16;

pub(crate) type Item = Result<ModelEvent, ModelError>;

/// A model behind one route.
#[derive(Debug)]
pub struct RouteClient {
    info: ModelInfo,
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub route: Route,
    pub timing: Timing,
    pub http: Arc<Http>,
    pub learned: Learned,
    /// `None`: requests are not written down.
    pub dumps: Option<Dumps>,
}

/// What the server has been found not to take, for as long as this client lives.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    no_streaming: AtomicBool,
    no_betas: AtomicBool,
    plain_schemas: AtomicBool,
    no_reasoning: AtomicBool,
    no_temperature: AtomicBool,
}

impl RouteClient {
    pub fn new(route: Route, timing: Timing, http: Arc<Http>) -> Self {
        Self::made(route, timing, http, None)
    }

    /// One that writes requests down.
    pub fn dumping(route: Route, timing: Timing, http: Arc<Http>, dumps: Dumps) -> Self {
        Self::made(route, timing, http, Some(dumps))
    }

    fn made(route: Route, timing: Timing, http: Arc<Http>, dumps: Option<Dumps>) -> Self {
        let info = ModelInfo {
            provider: route.provider.clone(),
            model: route.model.clone(),
            base_url: route.base_url.to_string(),
            context_length: route.context.tokens,
        };
        let inner = Inner {
            route,
            timing,
            http,
            learned: Learned::default(),
            dumps,
        };
        Self {
            info,
            inner: Arc::new(inner),
        }
    }
}

impl ModelClient for RouteClient {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, scope: Scope) -> BoxStream<'static, Item> {
        let scope = match self.inner.timing.call {
            Some(limit) => scope.within(limit),
            None => scope,
        };
        let (events, received) = mpsc::channel(CHANNEL);
        let work = run(self.inner.clone(), request, scope, events);
        let work = stream::once(work).filter_map(|()| std::future::ready(None));
        stream::select(received, work).boxed()
    }
}

async fn run(inner: Arc<Inner>, request: ModelRequest, scope: Scope, mut events: Sender<Item>) {
    let last = if scope.is_cancelled() {
        Err(cancelled())
    } else {
        let answer = Call::new(&inner, &request, &scope, &mut events)
            .answer()
            .await;
        answer.map(ModelEvent::Done)
    };
    // Fails only if nobody listens any more, and then nobody minds.
    let _ = events.send(last).await;
}

pub(crate) fn cancelled() -> ModelError {
    ModelError::new(ModelErrorKind::Cancelled, "The request was cancelled")
}

impl Learned {
    pub fn concessions(&self) -> Concessions {
        let holds = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        Concessions {
            no_streaming: holds(&self.no_streaming),
            no_betas: holds(&self.no_betas),
            plain_schemas: holds(&self.plain_schemas),
            // A matter of one conversation's blocks, not of the server.
            no_thinking_blocks: false,
            no_reasoning: holds(&self.no_reasoning),
            no_temperature: holds(&self.no_temperature),
        }
    }

    pub fn keep(&self, concessions: Concessions) {
        let note = |flag: &AtomicBool, on: bool| flag.fetch_or(on, Ordering::Relaxed);
        note(&self.no_streaming, concessions.no_streaming);
        note(&self.no_betas, concessions.no_betas);
        note(&self.plain_schemas, concessions.plain_schemas);
        note(&self.no_reasoning, concessions.no_reasoning);
        note(&self.no_temperature, concessions.no_temperature);
    }
}
