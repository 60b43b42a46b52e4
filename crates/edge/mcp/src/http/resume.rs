//! Answers that come as events, through as many cuts as the server lets us come back after.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::answer::{Expected, Outcome, unanswered};
use super::events::{EventStream, Trail};
use super::streamable::Core;
use crate::failure::{Class, Failure};
use crate::link::Era;

/// No server means it when it asks to be polled more often.
const SHORTEST_RETRY: Duration = Duration::from_millis(100);

impl Core {
    /// Reads events until the answer comes, through as many cuts as the server lets us come back after.
    pub(super) async fn in_events(
        &self,
        mut stream: EventStream,
        expected: &Expected<'_>,
    ) -> Outcome {
        let mut trail = Trail::default();
        let mut tries = 0;
        loop {
            let ended = loop {
                match stream.next().await {
                    Ok(Some(event)) => {
                        if let Some(outcome) = expected.in_event(event).await {
                            self.spawn(drain(stream, self.channel.site.timing.farewell));
                            return outcome;
                        }
                    }
                    Ok(None) => break unanswered(),
                    Err(failure) if failure.class == Class::Cut => break failure,
                    Err(failure) => return Err(failure),
                }
            };
            trail.follow(stream.trail());
            if trail.is_fruitful {
                tries = 0;
            }
            stream = self.resume(&trail, &mut tries, ended).await?;
        }
    }

    /// Comes back to a stream where it was cut. Whatever prevents it, the request was sent: `ended` tells how.
    async fn resume(
        &self,
        trail: &Trail,
        tries: &mut u32,
        ended: Failure,
    ) -> Result<EventStream, Failure> {
        let timing = &self.channel.site.timing;
        let is_legacy = self.era() == Era::Legacy;
        let Some(last_id) = trail.last_id.as_deref().filter(|_| is_legacy) else {
            return Err(ended);
        };
        while *tries < timing.resume_tries {
            let own = (*tries as usize).checked_sub(1);
            let own = own.and_then(|tries| timing.reconnect_delays.get(tries).copied());
            let wait = trail.retry.or(own).unwrap_or_default();
            sleep(wait.max(SHORTEST_RETRY)).await;
            *tries += 1;
            match self
                .open_stream(Some(last_id), self.channel.site.patience)
                .await
            {
                Ok(stream) => return Ok(stream),
                Err(failure) if may_pass(&failure.class) => {}
                Err(failure) => return Err(not_resumed(&ended, &failure)),
            }
        }
        Err(ended)
    }
}

/// Whether a failed attempt to open a stream is worth another one.
pub(super) fn may_pass(class: &Class) -> bool {
    matches!(
        class,
        Class::NotSent | Class::Cut | Class::Gateway | Class::Throttled(_) | Class::Auth
    )
}

fn not_resumed(ended: &Failure, why: &Failure) -> Failure {
    let message = format!("{}; the stream could not be resumed: {why}", ended.message);
    Failure::new(Class::Cut, &*ended.kind, message)
}

/// Lets a stream whose answer has come end by itself, so that its connection can be used again.
async fn drain(stream: EventStream, limit: Duration) {
    let _ = timeout(limit, stream.into_body().drain()).await;
}
