//! One of several routes to an answer: found when it is needed, left alone when it has had enough.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hermes_types::{ModelError, Scope};
use tokio::sync::OnceCell;

use crate::client::RouteClient;
use crate::maker::Maker;
use crate::route::Route;
use crate::wish::Wish;

#[derive(Debug)]
pub(crate) struct Link {
    /// `None` for one that was given as a client.
    wished: Option<Wished>,
    route: OnceLock<Result<Route, ModelError>>,
    client: OnceCell<Arc<RouteClient>>,
    /// When it last said that it has had enough of us, and how; also for whoever asks the same in another way.
    tired: Arc<Mutex<Option<(Instant, String)>>>,
}

#[derive(Debug)]
struct Wished {
    maker: Arc<Maker>,
    wish: Wish,
    /// How long one call may take; `None`: as long as the caller waits.
    call: Option<Duration>,
}

impl Link {
    pub fn made(client: RouteClient) -> Self {
        let route = client.inner().route.clone();
        Self {
            wished: None,
            route: OnceLock::from(Ok(route)),
            client: OnceCell::new_with(Some(Arc::new(client))),
            tired: Arc::default(),
        }
    }

    pub fn wished(maker: Arc<Maker>, wish: Wish, call: Option<Duration>) -> Self {
        Self {
            wished: Some(Wished { maker, wish, call }),
            route: OnceLock::new(),
            client: OnceCell::new(),
            tired: Arc::default(),
        }
    }

    /// The same model asked in another way: both get tired together.
    #[must_use]
    pub fn beside(self, other: &Self) -> Self {
        Self {
            tired: other.tired.clone(),
            ..self
        }
    }

    /// Where it leads, or why nowhere. Looks it up when first asked.
    pub fn route(&self) -> Result<&Route, &ModelError> {
        let found = self.route.get_or_init(|| match &self.wished {
            Some(wished) => wished.maker.route(wished.wish.clone()),
            None => Err(crate::resolve::no_model()),
        });
        found.as_ref()
    }

    /// The client, made when first asked.
    pub async fn client(&self, scope: &Scope) -> Result<Arc<RouteClient>, ModelError> {
        let make = async || match (&self.wished, self.route()) {
            (Some(wished), Ok(route)) => {
                let route = wished.maker.settled(route.clone(), scope).await;
                Ok(Arc::new(wished.maker.client(route, wished.call)))
            }
            (_, Err(error)) => Err(error.clone()),
            (None, _) => Err(crate::resolve::no_model()),
        };
        self.client.get_or_try_init(make).await.cloned()
    }

    pub fn made_client(&self) -> Option<&Arc<RouteClient>> {
        self.client.get()
    }

    /// How the owner wrote it.
    pub fn wish(&self) -> Option<&Wish> {
        self.wished.as_ref().map(|wished| &wished.wish)
    }

    pub fn tire(&self, why: String) {
        *self.tired.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), why));
    }

    /// Why it is left alone, if that was less than `cooldown` before `now`.
    pub fn tired(&self, now: Instant, cooldown: Duration) -> Option<String> {
        let tired = self.tired.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, why) = tired.as_ref()?;
        (now.saturating_duration_since(*since) < cooldown).then(|| why.clone())
    }
}

/// Whether both lead to the same model.
pub(crate) fn is_same(one: &Route, other: &Route) -> bool {
    one.model == other.model
        && (one.base_url == other.base_url || one.provider == other.provider && !is_open(one))
}

/// `custom` is no provider but any address.
fn is_open(route: &Route) -> bool {
    route.provider == "custom"
}
