//! One operation: sent, and if that fails in a way that can be healed, healed and sent once more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::breaker::Admission;
use crate::calls::Activity;
use crate::config::{Endpoint, RetryAmbiguous};
use crate::exchange;
use crate::failure::{Class, Failure};
use crate::generation::Generation;
use crate::lease::Waiting;
use crate::link::{Era, SideProbe};
use crate::operation::{Answer, Operation};
use crate::server::{CallContext, CallError, Cause, Reply, State};
use crate::shared::{Command, Manner, Shared};

/// A call under way.
pub(crate) struct Call<'a> {
    shared: &'a Arc<Shared>,
    operation: &'a Operation,
    context: &'a CallContext,
    started: Instant,
    retries: u32,
    /// The connection used last.
    generation: u64,
    /// The server could not be reached, and nobody was still trying.
    found_it_down: bool,
}

/// What to do after a failure.
enum Next {
    Again(Arc<Generation>),
    End(Cause),
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        shared: &'a Arc<Shared>,
        operation: &'a Operation,
        context: &'a CallContext,
    ) -> Self {
        Self {
            shared,
            operation,
            context,
            started: Instant::now(),
            retries: 0,
            generation: 0,
            found_it_down: false,
        }
    }

    pub(crate) async fn run(mut self) -> Result<Reply, CallError> {
        let outcome = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(Cause::Cancelled),
            outcome = self.admitted() => outcome,
        };
        self.settle(&outcome);
        let (retries, generation) = (self.retries, self.generation);
        match outcome {
            Ok(answer) => Ok(Reply {
                answer,
                retries,
                generation,
            }),
            Err(cause) => Err(CallError {
                cause,
                retries,
                generation,
            }),
        }
    }

    async fn admitted(&mut self) -> Result<Answer, Cause> {
        self.shared.herd.look();
        // Who needs a login is told so, however often they ask.
        if self.shared.view.borrow().state != State::NeedsAuth {
            let admission = self
                .shared
                .breaker()
                .admit(Instant::now(), &self.shared.timing);
            if let Admission::Refused {
                failures,
                retry_in,
                last,
            } = admission
            {
                return Err(Cause::Unreachable {
                    failures,
                    retry_in,
                    last,
                });
            }
        }
        let generation = self.live(0).await?;
        let generation = self.awake(generation).await?;
        let limit = self.shared.config.timeout;
        match self.attempt(&generation, limit).await {
            Ok(answer) => Ok(answer),
            Err(failure) => match self.recover(&generation, failure).await {
                Next::End(cause) => Err(cause),
                Next::Again(generation) => self.retry(&generation).await,
            },
        }
    }

    async fn retry(&mut self, generation: &Arc<Generation>) -> Result<Answer, Cause> {
        self.retries = 1;
        let timing = &self.shared.timing;
        let whole = self.shared.config.timeout + timing.renewal_wait;
        let left = whole.saturating_sub(self.started.elapsed());
        let answer = self
            .attempt(generation, left.min(self.shared.config.timeout))
            .await;
        match answer {
            Ok(answer) => Ok(answer),
            Err(failure) => {
                if failure.class.is_ambiguous() {
                    self.doubt(generation).await;
                }
                if failure.class == Class::Auth {
                    self.shared.order(Command::Refused(failure.clone())).await;
                }
                Err(self.cause(failure))
            }
        }
    }

    /// One exchange with everything that can end it.
    async fn attempt(
        &mut self,
        generation: &Arc<Generation>,
        limit: Duration,
    ) -> Result<Answer, Failure> {
        self.generation = generation.number;
        generation.touch();
        let hard = self.shared.config.max_timeout;
        let activity = Arc::new(Activity::new(self.context.clone(), limit, hard));
        let id = generation.new_id();
        let _ticket = generation.calls.begin(id, Arc::clone(&activity));
        let catalog = Arc::clone(&self.shared.catalog.borrow());
        let exchange = exchange::run(generation, self.operation, id, &activity, &catalog);
        let mut abandoned = Abandoned {
            shared: self.shared,
            generation: Some(generation),
            id,
        };
        let failure = tokio::select! {
            biased;
            result = exchange => {
                abandoned.generation = None;
                return result.map_err(|failure| self.shared.redact(failure));
            }
            () = activity.out_of_time() => self.timed_out(limit),
            failure = self.unheard(generation, &activity) => failure,
        };
        Err(failure)
    }

    fn timed_out(&self, limit: Duration) -> Failure {
        let message = format!("no answer within {:.1} s", limit.as_secs_f64());
        Failure::new(Class::Deadline, "Timeout", message)
    }

    /// Looks after a silent call on a connection of its own. Ends when the call is certainly lost.
    async fn unheard(&self, generation: &Generation, activity: &Activity) -> Failure {
        let timing = &self.shared.timing;
        let mut unreachable = 0;
        let mut since = Instant::now();
        loop {
            activity.silent_for(timing.silence, since).await;
            let probe = tokio::time::timeout(timing.silence, generation.link.side_probe());
            match probe.await {
                Ok(SideProbe::Unreachable) => unreachable += 1,
                Ok(SideProbe::SessionLost) => {
                    return Failure::new(
                        Class::Cut,
                        "Connection lost",
                        "the server forgot the session during the call",
                    );
                }
                Ok(SideProbe::Alive | SideProbe::Inconclusive) | Err(_) => unreachable = 0,
            }
            if unreachable == 2 {
                return Failure::new(
                    Class::Cut,
                    "Connection lost",
                    "the server cannot be reached any more",
                );
            }
            since = Instant::now();
        }
    }

    async fn recover(&mut self, generation: &Arc<Generation>, failure: Failure) -> Next {
        match &failure.class {
            Class::Auth => self.renew_credentials(generation, failure).await,
            Class::SessionLost => {
                let now = Instant::now();
                if !self
                    .shared
                    .storm()
                    .allows(generation.number, now, &self.shared.timing)
                {
                    return Next::End(self.cause(failure));
                }
                self.renew(generation, Manner::Cut, failure).await
            }
            Class::NotSent => {
                let manner = match self.shared.config.endpoint {
                    // A child must be gone before the next one starts.
                    Endpoint::Stdio(_) => Manner::Cut,
                    Endpoint::Http(_) => Manner::Drain,
                };
                self.renew(generation, manner, failure).await
            }
            Class::Throttled(Some(wait)) => {
                let left = self
                    .shared
                    .config
                    .timeout
                    .saturating_sub(self.started.elapsed());
                if *wait > self.shared.timing.throttle_patience.min(left) {
                    return Next::End(self.cause(failure));
                }
                sleep(*wait).await;
                Next::Again(Arc::clone(generation))
            }
            Class::Gateway | Class::Cut | Class::Protocol => self.heal(generation, failure).await,
            Class::Deadline | Class::TooLarge => {
                self.doubt(generation).await;
                Next::End(self.cause(failure))
            }
            Class::Cancelled
            | Class::Scope(_)
            | Class::Throttled(None)
            | Class::App
            | Class::Setup => Next::End(self.cause(failure)),
        }
    }

    /// Nobody knows whether the server acted. What may be repeated is repeated once the connection is sure.
    async fn heal(&mut self, generation: &Arc<Generation>, failure: Failure) -> Next {
        if !self.may_repeat() {
            self.doubt(generation).await;
            return Next::End(self.cause(failure));
        }
        let limit = self.shared.timing.liveness_probe;
        let is_alive = !generation.gone.is_cancelled() && generation.probe(limit).await.is_ok();
        match is_alive {
            true => Next::Again(Arc::clone(generation)),
            false => self.renew(generation, Manner::Cut, failure).await,
        }
    }

    async fn renew_credentials(&mut self, generation: &Arc<Generation>, failure: Failure) -> Next {
        let refused = failure
            .refused
            .clone()
            .map(|refused| *refused)
            .unwrap_or_default();
        match self.shared.auth.recover(refused).await {
            Ok(()) => self.renew(generation, Manner::Drain, failure).await,
            Err(dead) => {
                if dead.class == Class::Auth {
                    self.shared.order(Command::Refused(dead.clone())).await;
                }
                // The server refused the request itself: whatever failed since, it had no effect.
                Next::End(self.harmless(dead))
            }
        }
    }

    /// Asks for a new connection and waits for it.
    async fn renew(&mut self, generation: &Generation, manner: Manner, why: Failure) -> Next {
        let number = generation.number;
        let order = Command::Renew {
            generation: number,
            manner,
            why: why.clone(),
        };
        self.shared.order(order).await;
        match self.live(number).await {
            Ok(generation) => Next::Again(generation),
            Err(Cause::Reconnecting { .. } | Cause::NotConnected { .. }) => {
                let latest = self.shared.view.borrow().last_error.clone();
                let may_have_acted = why.class.is_ambiguous();
                let latest = self.shared.redact(latest.unwrap_or(why));
                Next::End(match may_have_acted {
                    true => self.cause(latest),
                    false => self.harmless(latest),
                })
            }
            Err(cause) => Next::End(cause),
        }
    }

    /// Waits for a connection newer than `after`.
    async fn live(&mut self, after: u64) -> Result<Arc<Generation>, Cause> {
        let mut waiting = Waiting::newer_than(after, self.shared);
        let lease = waiting.run().await;
        self.found_it_down |= waiting.found_it_down;
        lease
    }

    /// A connection under suspicion is tried before it is used.
    async fn awake(&mut self, generation: Arc<Generation>) -> Result<Arc<Generation>, Cause> {
        let events = self.shared.herd.count();
        if !generation.is_suspect(events) {
            return Ok(generation);
        }
        match generation.probe(self.shared.timing.liveness_probe).await {
            Ok(()) => {
                generation.trust(events);
                Ok(generation)
            }
            Err(failure) => match self.renew(&generation, Manner::Cut, failure).await {
                Next::Again(generation) => Ok(generation),
                Next::End(cause) => Err(cause),
            },
        }
    }

    /// The connection may be dead: it is looked at now, and by whoever uses it next.
    async fn doubt(&self, generation: &Generation) {
        generation.suspect();
        let generation = generation.number;
        self.shared.order(Command::Check { generation }).await;
    }

    /// Whether the operation may be done twice.
    fn may_repeat(&self) -> bool {
        let Operation::CallTool { name, .. } = self.operation else {
            return true;
        };
        match self.shared.config.retry_ambiguous {
            RetryAmbiguous::Always => true,
            RetryAmbiguous::Never => false,
            RetryAmbiguous::Auto => {
                let catalog = self.shared.catalog.borrow();
                let tool = catalog.tools.iter().find(|tool| tool.name == *name);
                tool.is_some_and(|tool| tool.reads_only || tool.is_idempotent)
            }
        }
    }

    /// The cause of a failure that came after a request that certainly had no effect.
    fn harmless(&self, failure: Failure) -> Cause {
        match failure.class.is_ambiguous() {
            true => Cause::Failed(failure),
            false => self.cause(failure),
        }
    }

    fn cause(&self, failure: Failure) -> Cause {
        match &failure.class {
            Class::Cancelled => Cause::Cancelled,
            Class::Auth => Cause::NeedsAuth {
                reason: failure.to_string(),
                scope: None,
            },
            Class::Scope(scope) => Cause::NeedsAuth {
                reason: failure.to_string(),
                scope: scope.clone(),
            },
            Class::Throttled(Some(wait)) => Cause::Throttled { wait: *wait },
            Class::Deadline if self.generation > 0 => Cause::TimedOut {
                elapsed: self.started.elapsed(),
                limit: self.shared.config.timeout,
                is_ambiguous: !self.may_repeat(),
            },
            class if class.is_ambiguous() && !self.may_repeat() => Cause::Ambiguous(failure),
            _ => Cause::Failed(failure),
        }
    }

    /// Tells the breaker and the storm guard how it went.
    fn settle(&self, outcome: &Result<Answer, Cause>) {
        let now = Instant::now();
        let mut breaker = self.shared.breaker();
        let fail = |breaker: &mut crate::breaker::Breaker, why: &str| {
            breaker.failed(now, &self.shared.timing, why);
        };
        match outcome {
            Ok(_) => {
                breaker.succeeded();
                self.shared.storm().succeeded();
            }
            Err(Cause::Failed(failure) | Cause::Ambiguous(failure)) => match failure.class {
                Class::App => breaker.succeeded(),
                ref class if class.counts_against_server() => {
                    fail(&mut breaker, &failure.to_string())
                }
                _ => breaker.undecided(),
            },
            Err(Cause::TimedOut { .. }) => fail(&mut breaker, "Timeout"),
            Err(Cause::NeedsAuth {
                reason,
                scope: None,
            }) => fail(&mut breaker, reason),
            Err(Cause::Reconnecting { reason }) if self.found_it_down => fail(&mut breaker, reason),
            Err(Cause::Unreachable { .. }) => {}
            Err(_) => breaker.undecided(),
        }
    }
}

/// A request somebody may stop waiting for: the server is told, where a message is the way to tell it.
struct Abandoned<'a> {
    shared: &'a Arc<Shared>,
    /// `None` once there is an answer.
    generation: Option<&'a Arc<Generation>>,
    id: u64,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let Some(generation) = self.generation else {
            return;
        };
        let is_http = matches!(self.shared.config.endpoint, Endpoint::Http(_));
        if is_http && generation.hello.protocol.era == Era::Modern {
            // Closing the exchange says it.
            return;
        }
        let (generation, id) = (Arc::clone(generation), self.id);
        let limit = self.shared.timing.farewell;
        self.shared
            .tasks
            .spawn(async move { generation.give_up(id, limit).await });
    }
}
