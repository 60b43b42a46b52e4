//! The standing stream of a session, on which the server speaks without being asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use super::events::{EventStream, Trail};
use super::resume::may_pass;
use super::streamable::Core;
use crate::failure::{Class, Failure};

/// Keeps the stream open as long as the server offers it. Ends the link if the server has forgotten the session.
pub(super) async fn listen(core: Arc<Core>) {
    let mut trail = Trail::default();
    let mut was_open = false;
    let mut fruitless = 0;
    loop {
        let silence = core.channel.site.timing.body_silence;
        let opened = core.open_stream(trail.last_id.as_deref(), silence).await;
        core.standing_known.cancel();
        let lost = match opened {
            Ok(stream) => {
                was_open = true;
                let end = follow(&core, stream, &mut trail).await;
                fruitless = if trail.is_fruitful { 0 } else { fruitless + 1 };
                end
            }
            Err(failure) => {
                fruitless += 1;
                Err(failure)
            }
        };
        match lost {
            Err(failure) if failure.class == Class::SessionLost && was_open => {
                return core.fate.seal(failure);
            }
            Err(failure) if !may_pass(&failure.class) => {
                // On the first try this is how a server says that it has no such stream, whatever the status.
                return tracing::debug!(
                    server = core.channel.site.name,
                    "no standing stream: {failure}"
                );
            }
            _ => {}
        }
        sleep(wait(&core, &trail, fruitless)).await;
    }
}

/// Hands on what the stream brings until it ends. Fails if it says that the session is gone.
async fn follow(core: &Core, mut stream: EventStream, trail: &mut Trail) -> Result<(), Failure> {
    let open = Open::new(core);
    let end = loop {
        match stream.next().await {
            Ok(Some(event)) => {
                if let Err(lost) = core.waiting.deliver(event, &core.inbox).await {
                    break Err(lost);
                }
            }
            Ok(None) | Err(_) => break Ok(()),
        }
    };
    drop(open);
    trail.follow(stream.trail());
    end
}

fn wait(core: &Core, trail: &Trail, fruitless: usize) -> Duration {
    let delays = &core.channel.site.timing.reconnect_delays;
    let own = delays.get(fruitless.min(delays.len().saturating_sub(1)));
    let own = own.copied().unwrap_or(Duration::from_secs(1));
    match trail.retry {
        Some(asked) if fruitless == 0 => asked.max(Duration::from_millis(100)),
        Some(asked) => asked.max(own),
        None => own,
    }
}

/// Says that the stream is open, for as long as it exists.
struct Open<'a>(&'a Core);

impl<'a> Open<'a> {
    fn new(core: &'a Core) -> Self {
        core.is_standing.store(true, Ordering::Relaxed);
        Self(core)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.is_standing.store(false, Ordering::Relaxed);
    }
}
