//! Several routes as one [`ModelClient`]: while the first works, the others cost nothing; when it doesn't, the next
//! one gets the same conversation.
//!
//! A turn begins with [`Whom::Usual`] and goes on with [`Whom::Stay`]: within a turn nobody goes back to a route
//! that was left, and the next turn tries the first one again, unless it has said a moment ago that it has had
//! enough of us.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::BoxStream;
use hermes_types::{
    ModelClient, ModelError, ModelErrorKind as Kind, ModelEvent, ModelInfo, ModelReply,
    ModelRequest, RateLimits, Scope, Switched, Whom,
};

use crate::client::RouteClient;
use crate::extras;
use crate::link::{Link, is_same};
use crate::listen::{Item, Listener, working};
use crate::resolve::not_configured;
use crate::route::Route;
use crate::standby::{Standby, is_tired, why};
use crate::timing::Timing;

#[derive(Debug)]
pub struct Chain {
    /// The first route's.
    info: ModelInfo,
    links: Arc<Links>,
}

#[derive(Debug)]
pub(crate) struct Links {
    links: Vec<Arc<Link>>,
    /// What those after the first are to it.
    standby: Standby,
    cooldown: Duration,
    /// Providers that want money first.
    pub unpaid: Arc<Unpaid>,
    /// For requests that don't name one.
    pub temperature: Option<f64>,
    /// Who is asked now.
    at: AtomicUsize,
}

/// Providers that wanted money, and when.
#[derive(Debug, Default)]
pub(crate) struct Unpaid(Mutex<HashMap<String, Instant>>);

impl Chain {
    /// A route and what stands in for it, in this order.
    pub fn new(first: RouteClient, fallbacks: Vec<RouteClient>, timing: &Timing) -> Self {
        let info = first.info().clone();
        let all = std::iter::once(first).chain(fallbacks);
        let links = all.map(Link::made).map(Arc::new).collect();
        Self::of(info, Links::new(links, Standby::Fallback, timing.cooldown))
    }

    pub(crate) fn of(info: ModelInfo, links: Links) -> Self {
        Self {
            info,
            links: Arc::new(links),
        }
    }
}

impl ModelClient for Chain {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, mut request: ModelRequest, scope: Scope) -> BoxStream<'static, Item> {
        let links = self.links.clone();
        request.temperature = request.temperature.or(links.temperature);
        working(move |mut listener| async move {
            let last = links.answer(&request, &scope, &mut listener).await;
            listener.end(last).await;
        })
    }

    fn rate_limits(&self) -> Option<RateLimits> {
        let at = self.links.at.load(Ordering::Relaxed);
        self.links.links.get(at)?.made_client()?.rate_limits()
    }

    fn can_hurry(&self) -> bool {
        let first = self.links.route(0);
        first.is_some_and(|route| extras::can_hurry(route.mode))
    }
}

impl Links {
    pub fn new(links: Vec<Arc<Link>>, standby: Standby, cooldown: Duration) -> Self {
        Self {
            links,
            standby,
            cooldown,
            unpaid: Arc::default(),
            temperature: None,
            at: AtomicUsize::new(0),
        }
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        scope: &Scope,
        listener: &mut Listener,
    ) -> Result<ModelReply, ModelError> {
        let mut failures = Vec::new();
        let mut at = self.begin(request.whom, listener).await?;
        loop {
            let client = self.links[at].client(scope).await?;
            let standby = || match self.next(at) {
                Some(_) => self.standby,
                None => Standby::Nobody,
            };
            let asked = client.inner().answer(request, scope, listener, &standby);
            let error = match asked.await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            self.note(at, &error);
            let is_over = scope.is_cancelled() || scope.remaining().is_some_and(|t| t.is_zero());
            let may_switch =
                self.standby.takes_over(error.kind) && !listener.has_heard() && !is_over;
            let Some(next) = self.next(at).filter(|_| may_switch) else {
                return Err(self.explained(error, &failures));
            };
            self.switch((at, next), why(&error), listener).await;
            failures.push((at, error));
            at = next;
        }
    }

    /// Who is asked first.
    async fn begin(&self, whom: Whom, listener: &mut Listener) -> Result<usize, ModelError> {
        let at = self.at.load(Ordering::Relaxed);
        let (next, reason) = match whom {
            Whom::Stay => return Ok(at),
            Whom::Usual => match self.rested(Instant::now(), at) {
                Start::At(next) => {
                    self.at.store(next, Ordering::Relaxed);
                    return Ok(next);
                }
                Start::Instead(next, reason) => (next, reason),
            },
            Whom::Next => {
                let next = self.next(at).ok_or_else(nobody_else)?;
                (next, "its answers were of no use".to_owned())
            }
        };
        self.switch((at, next), reason, listener).await;
        Ok(next)
    }

    /// Where a turn begins: the first that isn't to be left alone, but not before where the last one ended if the
    /// very first still is.
    fn rested(&self, now: Instant, at: usize) -> Start {
        let Some(reason) = self.resting(0, now) else {
            return Start::At(0);
        };
        if at > 0 && self.resting(at, now).is_none() {
            return Start::At(at);
        }
        let awake = |place: &usize| self.resting(*place, now).is_none();
        let mut others = std::iter::successors(self.next(0), |place| self.next(*place));
        match others.find(awake) {
            Some(next) => Start::Instead(next, reason),
            None => Start::At(0),
        }
    }

    /// Why a link is left alone for now, if it is.
    fn resting(&self, place: usize, now: Instant) -> Option<String> {
        let tired = self.links.get(place)?.tired(now, self.cooldown);
        tired.or_else(|| {
            let route = self.route(place)?;
            let wants = self.unpaid.wants(&route.provider, now);
            wants.then(|| "out of credit".to_owned())
        })
    }

    /// The next one that can be used and wasn't tried under another name.
    fn next(&self, at: usize) -> Option<usize> {
        let is_new = |place: usize, route: &Route| {
            let before = (0..place).filter_map(|place| self.route(place));
            !before.into_iter().any(|other| is_same(other, route))
        };
        let mut later = at + 1..self.links.len();
        later.find(|place| {
            self.route(*place)
                .is_some_and(|route| is_new(*place, route))
        })
    }

    fn route(&self, place: usize) -> Option<&Route> {
        self.links.get(place)?.route().ok()
    }

    /// Remembers who is to be left alone.
    fn note(&self, at: usize, error: &ModelError) {
        if is_tired(error.kind) {
            self.links[at].tire(why(error));
        }
        if error.kind == Kind::Billing
            && let Some(route) = self.route(at)
        {
            self.unpaid.note(&route.provider);
        }
    }

    async fn switch(&self, (from, to): (usize, usize), reason: String, listener: &mut Listener) {
        self.at.store(to, Ordering::Relaxed);
        let name = |place| self.route(place).map(Route::title).unwrap_or_default();
        let switched = Switched {
            from: name(from),
            to: name(to),
            reason,
        };
        tracing::warn!(
            "{} is asked instead of {}: {}",
            switched.to,
            switched.from,
            switched.reason
        );
        listener.tell(ModelEvent::Switched(switched)).await;
    }

    /// The last error, with what went before and what could not be tried.
    fn explained(&self, last: ModelError, before: &[(usize, ModelError)]) -> ModelError {
        let name = |place: usize| self.route(place).map(Route::title).unwrap_or_default();
        let tried = before
            .iter()
            .map(|(place, error)| format!("\n  before that, {}: {error}", name(*place)));
        let unusable = self.links.iter().filter_map(|link| {
            let error = link.route().err()?;
            let wish = link.wish()?;
            Some(format!(
                "\n  not tried, {} ({}): {error}",
                wish.model, wish.provider
            ))
        });
        // Those who help out with side tasks were nobody's choice: that they can't is no news.
        let unusable = unusable
            .filter(|_| self.standby == Standby::Fallback && self.standby.takes_over(last.kind));
        let more: String = tried.chain(unusable).collect();
        ModelError {
            message: last.message + &more,
            ..last
        }
    }
}

/// What [`Whom::Next`] gets where there is none.
pub(crate) fn nobody_else() -> ModelError {
    let text = "There is no other model to ask: `hermes fallback add` adds one";
    not_configured(text.to_owned())
}

/// Where a turn begins.
enum Start {
    At(usize),
    /// The first is left alone, for this reason.
    Instead(usize, String),
}

impl Unpaid {
    /// How long a provider that wanted money is not asked.
    const REST: Duration = Duration::from_secs(600);

    fn note(&self, provider: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(provider.to_owned(), Instant::now());
    }

    fn wants(&self, provider: &str, now: Instant) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = all.get(provider);
        since.is_some_and(|since| now.saturating_duration_since(*since) < Self::REST)
    }
}
