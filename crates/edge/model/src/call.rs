//! One call of a model: attempts until there is a reply, or no hope of one.

use std::time::Duration;

use hermes_net::within;
use hermes_types::{
    ModelError, ModelErrorKind as Kind, ModelEvent, ModelReply, ModelRequest, Pot, Retrying, Scope,
};

use crate::attempt::Broken;
use crate::classify::{Field, SessionSize, is_streaming_refused, refused_field};
use crate::client::{Inner, cancelled};
use crate::cost;
use crate::dialect;
use crate::dump::Why;
use crate::listen::Listener;
use crate::reply::Draft;
use crate::rotate::{Held, Next};
use crate::route::Route;
use crate::standby::{Standby, is_tired};
use crate::trouble::{Failed, Trouble, Where};

pub(crate) struct Call<'a> {
    pub inner: &'a Inner,
    pub request: &'a ModelRequest,
    pub scope: &'a Scope,
    listener: &'a mut Listener,
    /// Who would be asked next; found out when the first attempt fails.
    standby: &'a (dyn Fn() -> Standby + Send + Sync),
    /// The client's route, with what this call has learned about it.
    pub route: Route,
    pub size: SessionSize,
    /// The key in use, if there are several.
    pub held: Option<Held>,
}

impl<'a> Call<'a> {
    pub fn new(
        inner: &'a Inner,
        request: &'a ModelRequest,
        scope: &'a Scope,
        listener: &'a mut Listener,
        standby: &'a (dyn Fn() -> Standby + Send + Sync),
    ) -> Self {
        let mut route = inner.route.clone();
        route.concessions = inner.learned.concessions();
        let size = SessionSize {
            tokens: 0,
            messages: request.messages.len(),
            window: route.context.tokens,
        };
        Self {
            inner,
            request,
            scope,
            listener,
            standby,
            route,
            size,
            held: None,
        }
    }

    /// Tries until there is a reply, or an error that trying again won't change.
    pub async fn answer(mut self) -> Result<ModelReply, ModelError> {
        let answer = match self.take_key().await {
            Ok(()) => self.tries().await,
            Err(error) => return Err(error),
        };
        if let (Err(error), Some(dumps)) = (&answer, &self.inner.dumps)
            && !matches!(error.kind, Kind::Cancelled | Kind::NotConfigured | Kind::Spent)
            // What somebody else answers is nobody's riddle.
            && !(self.standby)().takes_over(error.kind)
        {
            let session = &self.scope.session;
            let wire = dialect::encode(&self.route, self.request, session);
            let why = Why::Failed(error);
            dumps.write(session, &self.route, wire, why).await;
        }
        answer
    }

    async fn tries(&mut self) -> Result<ModelReply, ModelError> {
        let (mut attempt, mut drops) = (1, 0);
        loop {
            if let Some(pot) = self.scope.purse.empty() {
                return Err(spent(&pot));
            }
            let Broken { trouble, draft } = match self.attempt().await {
                Ok(reply) => {
                    self.inner.fitted().await;
                    return Ok(self.priced(reply));
                }
                Err(broken) => broken,
            };
            let failed = match trouble {
                Trouble::Cancelled => return Err(cancelled()),
                Trouble::OutOfTime => return Err(self.out_of_time()),
                Trouble::Failed(failed) => failed,
            };
            if draft.is_worth_keeping() {
                return Ok(self.dropped(draft).await);
            }
            if self.concede(&failed) {
                continue;
            }
            if let Kind::ContextOverflow { limit: Some(limit) } = failed.verdict.kind {
                self.inner.overflowed(limit);
            }
            match self.next_key(&failed).await {
                Next::Stay => {}
                Next::Again => continue,
                Next::Over(error) => return Err(error),
            }
            drops += u32::from(failed.wire == Where::Dropped);
            let of = self.attempts(failed.verdict.kind);
            let may_retry =
                failed.verdict.retry && attempt < of && drops <= self.inner.timing.drop_retries;
            if may_retry {
                self.pause(attempt, of, failed).await?;
                attempt += 1;
            } else if failed.wire == Where::Dropped && draft.was_seen() {
                return Ok(self.dropped(draft).await);
            } else {
                return Err(failed.into_error(&self.route));
            }
        }
    }

    /// How many attempts this kind of trouble is worth here and now.
    pub fn attempts(&self, kind: Kind) -> u32 {
        let own = self.inner.timing.attempts;
        if is_tired(kind) && self.inner.can_rotate() {
            return own;
        }
        own.min((self.standby)().attempts(kind))
    }

    /// What somebody has seen of a reply that broke off is the reply.
    async fn dropped(&mut self, draft: Draft) -> ModelReply {
        let mut events = Vec::new();
        let mut reply = draft.dropped(&mut events);
        self.emit(events).await;
        // It was bought, but the bill never came.
        reply.cost = cost::unknown(&self.route);
        self.scope.purse.pay(reply.cost.usd);
        reply
    }

    pub async fn emit(&mut self, events: Vec<ModelEvent>) {
        for event in events {
            self.listener.tell(event).await;
        }
    }

    /// Changes how the request is written if that is what the server minds. Each change happens once.
    fn concede(&mut self, failed: &Failed) -> bool {
        let before = self.route.concessions;
        let now = &mut self.route.concessions;
        match failed.verdict.kind {
            Kind::ThinkingSignature => now.no_thinking_blocks = true,
            Kind::Grammar => now.plain_schemas = true,
            Kind::BetaForbidden => now.no_betas = true,
            _ if is_streaming_refused(&failed.verdict.text) => now.no_streaming = true,
            _ if matches!(failed.status, Some(400 | 422)) => {
                match refused_field(&failed.verdict.text) {
                    Some(Field::Reasoning) => now.no_reasoning = true,
                    Some(Field::Temperature) => now.no_temperature = true,
                    Some(Field::OutputLimit) => now.no_output_limit = true,
                    None => {}
                }
            }
            _ => {}
        }
        let conceded = *now != before;
        if conceded {
            tracing::info!("trying without it: {}", failed.reason(&self.route));
            self.inner.learned.keep(self.route.concessions);
        }
        conceded
    }

    /// Waits before the next attempt, and says so first.
    async fn pause(&mut self, attempt: u32, of: u32, failed: Failed) -> Result<(), ModelError> {
        let wait = self.wait(attempt, &failed);
        if self.scope.remaining().is_some_and(|left| left <= wait) {
            return Err(failed.into_error(&self.route));
        }
        let retrying = Retrying {
            attempt,
            of,
            wait,
            reason: failed.reason(&self.route),
        };
        tracing::warn!(
            "attempt {attempt} failed, waiting {wait:?}: {}",
            retrying.reason
        );
        self.emit(vec![ModelEvent::Retrying(retrying)]).await;
        let slept = within(self.scope, Duration::MAX, tokio::time::sleep(wait)).await;
        slept.map_err(|_| cancelled())
    }

    fn wait(&self, attempt: u32, failed: &Failed) -> Duration {
        let timing = &self.inner.timing;
        if let Some(asked) = failed.retry_after {
            return asked.min(timing.longest_retry_after);
        }
        let backoff = match failed.verdict.kind {
            Kind::Malformed => timing.malformed_backoff,
            // A server that had begun to answer is there: at once.
            _ if failed.wire == Where::Dropped => return Duration::ZERO,
            _ => timing.backoff,
        };
        backoff.wait(attempt, fastrand::f64())
    }

    fn priced(&self, mut reply: ModelReply) -> ModelReply {
        reply.cost = cost::of(&self.route, &reply.usage);
        self.scope.purse.pay(reply.cost.usd);
        reply
    }

    fn out_of_time(&self) -> ModelError {
        let route = &self.route;
        let place = format!(
            "{}, model {}, {}",
            route.provider, route.model, route.base_url
        );
        ModelError::new(Kind::Timeout, format!("No reply in time [{place}]"))
    }
}

/// Nothing is sent: the owner's limit is reached.
fn spent(pot: &Pot) -> ModelError {
    ModelError::new(Kind::Spent, pot.refusal())
}
