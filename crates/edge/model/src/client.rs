//! One route as a [`ModelClient`]: streams, watches for silence, retries what may work later.
//!
//! Everything runs inside the stream handed out. Dropping it drops the request, and the connection with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::stream::BoxStream;
use hermes_types::{
    ModelClient, ModelError, ModelErrorKind, ModelInfo, ModelReply, ModelRequest, RateLimits,
    Scope, Whom,
};
use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::call::Call;
use crate::chain::nobody_else;
use crate::context;
use crate::dump::Dumps;
use crate::extras;
use crate::http::Http;
use crate::listen::{Item, Listener, working};
use crate::nous;
use crate::rates::Rates;
use crate::rotate::Keys;
use crate::route::{Concessions, Route};
use crate::standby::Standby;
use crate::timing::Timing;

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
    /// Where what concerns other runs is kept; `None`: nowhere.
    pub home: Option<PathBuf>,
    pub rates: Rates,
    /// `None`: the route's key is the only one.
    pub keys: Option<Keys>,
}

/// What the server has been found not to take, for as long as this client lives.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    no_streaming: AtomicBool,
    no_betas: AtomicBool,
    plain_schemas: AtomicBool,
    no_reasoning: AtomicBool,
    no_temperature: AtomicBool,
    no_output_limit: AtomicBool,
    /// The window an error message named and no success has confirmed yet; 0: none did.
    window: AtomicU64,
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
        let info = route.info();
        let inner = Inner {
            route,
            timing,
            http,
            learned: Learned::default(),
            dumps,
            home: None,
            rates: Rates::default(),
            keys: None,
        };
        Self {
            info,
            inner: Arc::new(inner),
        }
    }

    /// One that keeps in this directory what concerns other runs too.
    #[must_use]
    pub(crate) fn at_home(mut self, home: PathBuf) -> Self {
        // Nobody else has it yet.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.home = Some(home);
        }
        self
    }

    /// One that has several keys.
    #[must_use]
    pub(crate) fn with_keys(mut self, keys: Option<Keys>) -> Self {
        // Nobody else has it yet.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.keys = keys;
        }
        self
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl ModelClient for RouteClient {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, scope: Scope) -> BoxStream<'static, Item> {
        let inner = self.inner.clone();
        working(move |mut listener| async move {
            let alone = || Standby::Nobody;
            let last = match request.whom {
                Whom::Next => Err(nobody_else()),
                Whom::Usual | Whom::Stay => {
                    inner.answer(&request, &scope, &mut listener, &alone).await
                }
            };
            listener.end(last).await;
        })
    }

    fn rate_limits(&self) -> Option<RateLimits> {
        self.inner.rates.latest()
    }

    fn can_hurry(&self) -> bool {
        extras::can_hurry(self.inner.route.mode)
    }
}

impl Inner {
    /// One reply, after as many attempts as whoever stands by leaves it.
    pub async fn answer(
        &self,
        request: &ModelRequest,
        scope: &Scope,
        listener: &mut Listener,
        standby: &(dyn Fn() -> Standby + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        let scope = match self.timing.call {
            Some(limit) => scope.within(limit),
            None => scope.clone(),
        };
        if scope.is_cancelled() {
            return Err(cancelled());
        }
        if let Some(wait) = self.blocked() {
            return Err(nous::blocked(wait));
        }
        let call = Call::new(self, request, &scope, listener, standby);
        call.answer().await
    }

    /// Takes note of what the head of a response says about limits.
    pub fn heard(&self, status: StatusCode, headers: &HeaderMap) {
        let before = self.rates.latest();
        let now = self.rates.note(&self.route.provider, headers);
        let Some(guard) = self.nous() else {
            return;
        };
        if status.is_success() {
            guard.clear();
        } else if status == StatusCode::TOO_MANY_REQUESTS {
            guard.refused(now.as_ref(), before.as_ref(), headers);
        }
    }

    /// How long this route must not be asked, because some process was told so.
    fn blocked(&self) -> Option<Duration> {
        self.nous()?.left(Timestamp::now())
    }

    fn nous(&self) -> Option<nous::Guard> {
        let home = self.home.as_ref()?;
        // Several accounts rest one by one: their pool knows.
        let is_alone = self.keys.as_ref().is_none_or(|keys| keys.count() < 2);
        (self.route.provider == nous::PROVIDER && is_alone).then(|| nous::Guard::new(home))
    }

    /// Whether another key of the same provider could be tried before another provider is.
    pub fn can_rotate(&self) -> bool {
        let keys = self.keys.as_ref();
        keys.is_some_and(|keys| keys.good(Timestamp::now()) > 1)
    }

    /// Notes the window an error message named, if it is news.
    pub fn overflowed(&self, limit: u64) {
        if limit < self.route.context.tokens {
            self.learned.window.store(limit, Ordering::Relaxed);
        }
    }

    /// A request has fitted: what an error message said about the window before is kept for other runs.
    pub async fn fitted(&self) {
        let tokens = self.learned.window.swap(0, Ordering::Relaxed);
        let Some(home) = self.home.clone().filter(|_| tokens > 0) else {
            return;
        };
        let (model, base_url) = (self.route.model.clone(), self.route.base_url.to_string());
        let written = tokio::task::spawn_blocking(move || {
            context::remember(&home, &model, &base_url, tokens);
        });
        // It reports its own trouble.
        let _ = written.await;
    }
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
            no_temperature: holds(&self.no_temperature),
            no_output_limit: holds(&self.no_output_limit),
            // A matter of one conversation's blocks, not of the server.
            no_thinking_blocks: false,
            no_reasoning: holds(&self.no_reasoning),
        }
    }

    pub fn keep(&self, concessions: Concessions) {
        let note = |flag: &AtomicBool, on: bool| flag.fetch_or(on, Ordering::Relaxed);
        note(&self.no_streaming, concessions.no_streaming);
        note(&self.no_betas, concessions.no_betas);
        note(&self.plain_schemas, concessions.plain_schemas);
        note(&self.no_reasoning, concessions.no_reasoning);
        note(&self.no_temperature, concessions.no_temperature);
        note(&self.no_output_limit, concessions.no_output_limit);
    }
}
