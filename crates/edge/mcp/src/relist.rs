//! Reading the list of tools again after the server said it changed, but never as often as it says so.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use crate::failure::Failure;
use crate::generation::Generation;
use crate::listing;
use crate::server::Catalog;
use crate::timing::Timing;

/// Listings that found nothing new before they become rarer.
const PATIENCE: u32 = 10;

/// At most one listing runs and one is wanted.
pub(crate) struct Relist {
    is_wanted: bool,
    not_before: Instant,
    pause: Duration,
    longest: Duration,
    /// Listings in a row that found nothing new.
    idle: u32,
    running: Option<BoxFuture<'static, Result<Catalog, Failure>>>,
    last: Option<Catalog>,
}

impl Relist {
    pub(crate) fn new(timing: &Timing) -> Self {
        Self {
            is_wanted: false,
            not_before: Instant::now() + timing.relist_pause,
            pause: timing.relist_pause,
            longest: timing.relist_pause_max,
            idle: 0,
            running: None,
            last: None,
        }
    }

    pub(crate) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Waits for the next listing and returns what it found; `None` if it failed. Safe to drop and call again.
    pub(crate) async fn next(&mut self, current: &Arc<Generation>) -> Option<Catalog> {
        if self.running.is_none() {
            if !self.is_wanted {
                return std::future::pending().await;
            }
            sleep_until(self.not_before).await;
            self.is_wanted = false;
            let current = Arc::clone(current);
            self.running = Some(Box::pin(async move { listing::catalog(&current).await }));
        }
        let listed = match &mut self.running {
            Some(running) => running.await,
            None => return None,
        };
        self.running = None;
        self.learn(listed)
    }

    fn learn(&mut self, listed: Result<Catalog, Failure>) -> Option<Catalog> {
        // A listing that failed says nothing about the list; whether the connection is well is the probes' matter.
        let catalog = listed.ok();
        self.idle = match catalog == self.last && catalog.is_some() {
            true => self.idle + 1,
            false => 0,
        };
        let doublings = self.idle.saturating_sub(PATIENCE);
        let pause = self.pause.saturating_mul(2u32.saturating_pow(doublings));
        self.not_before = Instant::now() + pause.min(self.longest);
        if catalog.is_some() {
            self.last.clone_from(&catalog);
        }
        catalog
    }
}
