//! Several keys for one route: which one a call uses, and when it goes on with another. A key comes with its
//! address and its headers; it is never sent anywhere else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_home::clock;
use hermes_types::{ModelError, ModelErrorKind as Kind, ModelEvent, Retrying};
use jiff::Timestamp;

use crate::auth::{self, AuthError, Condition, Credential, Endpoints, Spent};
use crate::call::Call;
use crate::http::Http;
use crate::keys::{self, Address, NO_KEY, OF_POOL};
use crate::pool::{Leased, Pool, Pools, Setup, Strategy};
use crate::providers;
use crate::resolve::{self, Sources};
use crate::route::Route;
use crate::trouble::Failed;

/// A server that wants a longer pause than this is left for another key at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// The keys of one route.
#[derive(Debug)]
pub(crate) struct Keys {
    pool: Arc<Pool>,
    endpoints: Endpoints,
    /// The route at each address the keys are for.
    places: Vec<(String, Route)>,
    /// The key used last: servers cache prompts by it.
    last: Mutex<Option<String>>,
}

/// The key a call uses.
#[derive(Debug)]
pub(crate) struct Held {
    lease: Leased,
    /// A login is renewed once per call; what doesn't help then won't help.
    renewed: bool,
    /// A server that is asked too often is given one more try.
    limited: bool,
    /// Those that failed during this call. A server may say that they are good again at once; this call has done
    /// with them.
    failed: Vec<String>,
}

/// What to do after a failure.
pub(crate) enum Next {
    /// As if there were no other key.
    Stay,
    Again,
    Over(ModelError),
}

impl Keys {
    /// `None` if there is nothing to choose and nothing to renew.
    pub fn of(sources: Sources<'_>, route: &Route, pools: &Pools, http: Arc<Http>) -> Option<Self> {
        let provider = providers::find(sources.settings, &route.provider)?;
        if route.key.as_pair().is_some() {
            return None;
        }
        let name = keys::pool_name(sources.settings, &provider, &route.base_url);
        let address = Address::of(sources, &provider.row, route);
        let mut seeds = keys::seeds(sources, &provider, &address);
        if provider.row.key_is_optional {
            seeds.retain(|seed| !seed.source.starts_with("env:") || seed.key == route.key);
        }
        let setup = Setup {
            strategy: Strategy::of(sources.settings, &name),
            explicit: explicit(sources, &provider, route, &address),
            provider: route.provider.clone(),
            file: auth::AuthFile::new(sources.home, sources.env),
            endpoints: Endpoints::from_env(sources.env),
            name,
            seeds,
            http,
        };
        let endpoints = setup.endpoints.clone();
        let pool = pools.get(&route.base_url, setup);
        let entries = pool.entries();
        let is_worth_it = match entries.as_slice() {
            [] => false,
            [only] => auth::is_renewable(&route.provider, only),
            _ => true,
        };
        let place = |entry: &Credential| {
            let url = keys::place(sources, entry, &provider.row, &address)?;
            let mut place = resolve::elsewhere(sources, &provider, route, url);
            place.key = entry.key(&route.provider);
            place.key_name = keys::name(entry, &provider);
            Some((entry.id().to_owned(), place))
        };
        is_worth_it.then(|| Self {
            places: entries.iter().filter_map(place).collect(),
            pool,
            endpoints,
            last: Mutex::default(),
        })
    }

    /// A key to use now, but none of these.
    fn take(&self, now: Timestamp, failed: &[String]) -> Option<Leased> {
        // Better a refusal from the server than one from us, where there is no other key.
        let is_only = self.count() == 1;
        let is_well = |entry: &Credential| {
            (is_only || entry.condition(now) == Condition::Good)
                && !failed.iter().any(|id| id == entry.id())
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = self
            .pool
            .lease(last.as_deref(), |entry| self.fits(entry) && is_well(entry))?;
        *last = Some(lease.entry.id().to_owned());
        Some(lease)
    }

    fn fits(&self, entry: &Credential) -> bool {
        self.place(entry).is_some()
    }

    fn place(&self, entry: &Credential) -> Option<&Route> {
        let mut places = self.places.iter();
        places
            .find(|(id, _)| id == entry.id())
            .map(|(_, route)| route)
    }

    /// How many there are for this route, resting or not.
    pub fn count(&self) -> usize {
        let entries = self.pool.entries();
        entries.iter().filter(|entry| self.fits(entry)).count()
    }

    /// How many of them could be used now.
    pub fn good(&self, now: Timestamp) -> usize {
        let is_good =
            |entry: &&Credential| self.fits(entry) && entry.condition(now) == Condition::Good;
        self.pool.entries().iter().filter(is_good).count()
    }

    /// The route with this key in it, and nothing of another one.
    fn dress(&self, route: &mut Route, entry: &Credential) {
        let Some(place) = self.place(entry) else {
            return;
        };
        let concessions = route.concessions;
        *route = place.clone();
        route.concessions = concessions;
        route.key = entry.key(self.pool.provider());
    }

    /// What to say if every key is resting.
    fn all_rest(&self, now: Timestamp, because: Option<ModelError>) -> ModelError {
        let provider = self.pool.provider();
        let (until, code) = self
            .pool
            .next_time(|entry| self.fits(entry), now)
            .map_or((None, None), |(until, code)| (Some(until), code));
        let until = until.or_else(|| (self.good(now) > 0).then_some(now));
        let kind = because
            .as_ref()
            .map_or_else(|| kind_of(code), |error| error.kind);
        let when = until.map_or_else(
            || "none can be used again without a new login".to_owned(),
            |until| format!("the first can be used again {}", at(until, now)),
        );
        let mut message = format!(
            "All {} keys of {provider} have failed; {when}. See `hermes auth list {provider}`; \
             `hermes auth reset {provider}` makes them all usable at once",
            self.count()
        );
        if let Some(error) = &because {
            message = format!("{message}. The last said: {}", error.message);
        }
        ModelError {
            kind,
            message,
            status: because.and_then(|error| error.status).or(code),
            retry_after: until.and_then(|until| Duration::try_from(until.duration_since(now)).ok()),
        }
    }
}

impl Call<'_> {
    /// Takes a key for this call, renewed if it won't last.
    pub(crate) async fn take_key(&mut self) -> Result<(), ModelError> {
        let inner = self.inner;
        let Some(keys) = &inner.keys else {
            return Ok(());
        };
        let now = Timestamp::now();
        let Some(mut lease) = keys.take(now, &[]) else {
            return match keys.count() {
                0 => Ok(()),
                _ => Err(keys.all_rest(now, None)),
            };
        };
        keys.pool.note_choice(&lease).await;
        let mut renewed = false;
        if auth::needs_renewal(keys.pool.provider(), &lease.entry, &keys.endpoints, now) {
            renewed = true;
            let old = lease.entry.key(keys.pool.provider());
            match keys.pool.renew(&lease.entry, old.clone(), self.scope).await {
                Ok(new) => {
                    if let Some(why) = &new.unsaved {
                        self.say(keys.unsaved(&new.entry, why)).await;
                    }
                    lease.entry = new.entry;
                }
                Err(AuthError::Cancelled) => return Err(crate::client::cancelled()),
                Err(error) if old.is_empty() => return Err(keys.no_login(&error)),
                // It still works for a while.
                Err(error) => tracing::warn!("the login could not be renewed in advance: {error}"),
            }
        }
        keys.dress(&mut self.route, &lease.entry);
        self.held = Some(Held {
            lease,
            renewed,
            limited: false,
            failed: Vec::new(),
        });
        Ok(())
    }

    /// Goes on with a renewed or another key, if the failure is about the key.
    pub(crate) async fn next_key(&mut self, failed: &Failed) -> Next {
        let inner = self.inner;
        let may_wait = self.attempts(failed.verdict.kind) > 1;
        let (Some(keys), Some(held)) = (&inner.keys, &mut self.held) else {
            return Next::Stay;
        };
        let mut trouble = None;
        match failed.verdict.kind {
            Kind::Auth => {
                let is_login = auth::is_renewable(keys.pool.provider(), &held.lease.entry);
                if is_login && !std::mem::replace(&mut held.renewed, true) {
                    let (entry, old) = (held.lease.entry.clone(), self.route.key.clone());
                    match keys.pool.renew(&entry, old, self.scope).await {
                        Ok(new) => return self.renewed(new, failed).await,
                        Err(AuthError::Cancelled) => return Next::Over(crate::client::cancelled()),
                        Err(error) => trouble = Some(error),
                    }
                }
            }
            Kind::Billing => {}
            Kind::RateLimit => {
                let is_short = failed.retry_after.is_none_or(|wait| wait <= PATIENCE);
                if is_short && may_wait && !std::mem::replace(&mut held.limited, true) {
                    return Next::Stay;
                }
            }
            _ => return Next::Stay,
        }
        match keys.count() {
            0 | 1 => trouble.map_or(Next::Stay, |error| Next::Over(keys.no_login(&error))),
            _ => self.rotate(failed).await,
        }
    }

    async fn renewed(&mut self, new: crate::pool::Renewed, failed: &Failed) -> Next {
        let (Some(keys), Some(held)) = (&self.inner.keys, &mut self.held) else {
            return Next::Stay;
        };
        let mut reason = format!("{}; the login was renewed", failed.reason(&self.route));
        if let Some(why) = &new.unsaved {
            reason = keys.unsaved(&new.entry, why);
        }
        held.lease.entry = new.entry;
        keys.dress(&mut self.route, &held.lease.entry);
        self.say(reason).await;
        Next::Again
    }

    /// Marks the key that failed and takes another one.
    async fn rotate(&mut self, failed: &Failed) -> Next {
        let inner = self.inner;
        let (Some(keys), Some(held)) = (&inner.keys, self.held.take()) else {
            return Next::Stay;
        };
        let now = Timestamp::now();
        let reason = failed.reason(&self.route);
        let spent = Spent {
            code: failed.status,
            reason: word(failed.verdict.kind).to_owned(),
            message: reason.clone(),
            reset_at: failed.reset_at(now),
        };
        let entry = held.lease.entry.clone();
        keys.pool.exhausted(&entry, spent, now).await;
        drop(held.lease);
        let mut tried = held.failed;
        tried.push(entry.id().to_owned());
        let Some(lease) = keys.take(now, &tried) else {
            let error = failed.clone().into_error(&self.route);
            return Next::Over(keys.all_rest(now, Some(error)));
        };
        keys.pool.note_choice(&lease).await;
        let (from, to) = (entry.label().to_owned(), lease.entry.label().to_owned());
        keys.dress(&mut self.route, &lease.entry);
        self.held = Some(Held {
            lease,
            renewed: false,
            limited: true,
            failed: tried,
        });
        self.say(format!("{reason} (key '{from}'); going on with key '{to}'"))
            .await;
        Next::Again
    }

    async fn say(&mut self, reason: String) {
        tracing::warn!("{reason}");
        let retrying = Retrying {
            attempt: 1,
            of: self.inner.timing.attempts,
            wait: Duration::ZERO,
            reason,
        };
        self.emit(vec![ModelEvent::Retrying(retrying)]).await;
    }
}

impl Keys {
    fn no_login(&self, error: &AuthError) -> ModelError {
        let provider = self.pool.provider();
        ModelError::new(
            Kind::Auth,
            format!(
                "The login with {provider} could not be renewed: {error}. Log in again: `hermes auth login {provider}`"
            ),
        )
    }

    fn unsaved(&self, entry: &Credential, why: &str) -> String {
        format!(
            "the login '{}' was renewed but could not be saved ({why}): when this process ends, log in again with \
             `hermes auth login {}`",
            entry.label(),
            self.pool.provider()
        )
    }
}

/// The key the owner named for this route, if it is in no pool.
fn explicit(
    sources: Sources<'_>,
    provider: &providers::Provider,
    route: &Route,
    address: &Address,
) -> Option<auth::Seed> {
    let is_none = route.key.is_empty() || route.key.expose() == NO_KEY;
    let known = keys::credentials(sources, provider, address);
    let is_known = known
        .iter()
        .any(|entry| entry.key(&route.provider) == route.key);
    let is_of_pool = route.key_name.starts_with(OF_POOL);
    (!is_none && !is_known && !is_of_pool).then(|| auth::Seed {
        source: match route.key_name.as_str() {
            "model.api_key" => "model_config".to_owned(),
            name => format!("config:{name}"),
        },
        label: route.key_name.clone(),
        key: route.key.clone(),
        base_url: route.base_url.to_string(),
    })
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Auth => "auth",
        Kind::Billing => "billing",
        _ => "rate_limit",
    }
}

fn kind_of(code: Option<u16>) -> Kind {
    match code {
        Some(401 | 403) => Kind::Auth,
        Some(402) => Kind::Billing,
        _ => Kind::RateLimit,
    }
}

/// `at 14:05 (in 12 min)`
fn at(until: Timestamp, now: Timestamp) -> String {
    let left = until.duration_since(now).as_secs().max(0);
    let left = match left {
        0..90 => format!("{left} s"),
        90..5400 => format!("{} min", (left + 59) / 60),
        _ => format!("{} h", (left + 3599) / 3600),
    };
    format!("at {} (in {left})", clock::local(until).strftime("%H:%M"))
}
