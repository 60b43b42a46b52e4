//! Tokens for requests, renewed in time: once, whoever asks, in however many processes.
//!
//! Nothing in here opens a browser or a socket to listen on: where only a login helps, that is the answer.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::auth::Authorizer;
use crate::config::Secret;
use crate::failure::{Class, Failure, Refused};
use crate::oauth::config::Access;
use crate::oauth::renewal::Renewal;
use crate::oauth::tokens::Tokens;

/// After a failed early renewal the old token is used for so long before the next try.
const EARLY_PAUSE: Duration = Duration::from_secs(10);
/// A value shorter than this is in too many texts to be cut out of them.
const SECRET_MIN: usize = 8;
/// How many values are remembered for that.
const SECRETS_MAX: usize = 16;

/// The tokens of one server.
pub(crate) struct OAuth {
    renewal: Arc<Renewal>,
    token_poll: Duration,
    /// The renewal under way: everybody whose token it replaces waits for the same one.
    flight: Mutex<Option<Flight>>,
    /// Renewals run here, so that nobody who stops waiting stops them: a new token that was sent must be stored.
    tasks: TaskTracker,
    memory: Mutex<Memory>,
}

type Outcome = Shared<BoxFuture<'static, Result<(), Failure>>>;

struct Flight {
    /// The token that is being replaced.
    old: Option<Secret>,
    outcome: Outcome,
}

#[derive(Default)]
struct Memory {
    given: Option<Secret>,
    /// A token whose early renewal failed, and until when it is not tried again.
    waiting: Option<(Secret, Option<Instant>)>,
    secrets: VecDeque<Secret>,
    /// How many of them, from the first, are configured and stay; tokens come and go.
    kept: usize,
}

impl OAuth {
    pub(crate) fn new(access: Access, token_poll: Duration) -> Self {
        let secrets: VecDeque<_> = access.config.secrets().cloned().collect();
        let memory = Memory {
            kept: secrets.len(),
            secrets,
            ..Memory::default()
        };
        Self {
            renewal: Arc::new(Renewal::new(access)),
            token_poll,
            flight: Mutex::default(),
            tasks: TaskTracker::new(),
            memory: Mutex::new(memory),
        }
    }

    async fn settle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn current(&self) -> Result<Option<Secret>, Failure> {
        let mut tokens = self.renewal.stored().await?;
        match &tokens {
            None if self.renewal.is_unattended() => {
                self.renew(None).await?;
                tokens = self.renewal.stored().await?;
            }
            Some(old) if self.is_due(old) && self.renew_early(old).await? => {
                tokens = self.renewal.stored().await?;
            }
            _ => {}
        }
        Ok(self.give(tokens))
    }

    fn give(&self, tokens: Option<Tokens>) -> Option<Secret> {
        let mut memory = lock(&self.memory);
        for secret in tokens.iter().flat_map(Tokens::secrets) {
            memory.remember(secret);
        }
        memory.given = tokens.map(|tokens| tokens.access);
        memory.given.clone()
    }

    /// Whether the token should be replaced before it is used, as far as that was not tried in vain.
    fn is_due(&self, tokens: &Tokens) -> bool {
        let now = self.renewal.wall();
        let is_paused = match &lock(&self.memory).waiting {
            Some((token, until)) if *token == tokens.access => match until {
                None => true,
                Some(until) => self.renewal.mono() < *until && !tokens.is_expired(now),
            },
            _ => false,
        };
        tokens.is_stale(now) && self.renewal.can_renew(tokens) && !is_paused
    }

    /// Whether there is a new token. A token that is still good, or whose end only our own clock claims and
    /// nobody can give us another, is used as it is: the server will say.
    async fn renew_early(&self, tokens: &Tokens) -> Result<bool, Failure> {
        let Err(failure) = self.renew(Some(tokens.access.clone())).await else {
            return Ok(true);
        };
        let is_dead = failure.class == Class::Auth;
        if !is_dead && tokens.is_expired(self.renewal.wall()) {
            return Err(failure);
        }
        tracing::debug!(%failure, "the token could not be renewed in time");
        let until = (!is_dead).then(|| self.renewal.mono() + EARLY_PAUSE);
        lock(&self.memory).waiting = Some((tokens.access.clone(), until));
        Ok(false)
    }

    /// Joins the renewal of this token, or starts it.
    fn renew(&self, old: Option<Secret>) -> Outcome {
        let mut flight = lock(&self.flight);
        if let Some(Flight { old: same, outcome }) = &*flight
            && *same == old
            && outcome.peek().is_none()
        {
            return outcome.clone();
        }
        let outcome = detached(&self.tasks, &self.renewal, old.clone());
        let started = Flight {
            old,
            outcome: outcome.boxed().shared(),
        };
        flight.insert(started).outcome.clone()
    }

    async fn until_changed(&self) {
        loop {
            let given = lock(&self.memory).given.clone();
            // An unreadable store is looked at again like one that has nothing new.
            if let Ok(Some(tokens)) = self.renewal.stored().await
                && given.as_ref() != Some(&tokens.access)
            {
                return;
            }
            tokio::time::sleep(self.token_poll).await;
        }
    }
}

impl Authorizer for OAuth {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, Failure>> {
        self.current().boxed()
    }

    fn recover(&self, refused: Refused) -> BoxFuture<'_, Result<(), Failure>> {
        self.renew(refused.token).boxed()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.until_changed().boxed()
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        OAuth::settle(self).boxed()
    }

    fn secrets(&self) -> Vec<Secret> {
        lock(&self.memory).secrets.iter().cloned().collect()
    }
}

impl Memory {
    fn remember(&mut self, secret: &Secret) {
        if secret.expose().len() < SECRET_MIN || self.secrets.contains(secret) {
            return;
        }
        self.secrets.push_back(secret.clone());
        if self.secrets.len() > SECRETS_MAX {
            self.secrets.remove(self.kept);
        }
    }
}

/// Renews the stored tokens of a server now, without asking anybody.
pub async fn refresh(access: &Access) -> Result<(), Failure> {
    let renewal = Arc::new(Renewal::new(access.clone()));
    let old = renewal.stored().await?.map(|tokens| tokens.access);
    detached(&TaskTracker::new(), &renewal, old).await
}

/// A renewal that goes on when nobody waits for it any more.
fn detached(
    tasks: &TaskTracker,
    renewal: &Arc<Renewal>,
    old: Option<Secret>,
) -> impl Future<Output = Result<(), Failure>> + Send + use<> {
    let renewal = Arc::clone(renewal);
    let task = tasks.spawn(async move { renewal.run(old.as_ref()).await });
    task.map(|done| {
        done.unwrap_or_else(|panic| {
            Err(Failure::new(
                Class::Gateway,
                "Renewal failed",
                panic.to_string(),
            ))
        })
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
