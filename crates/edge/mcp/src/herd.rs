//! Many servers at once: noticing that the machine slept, and not waking all of them in one instant.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use crate::calls::locked;
use crate::timing::{Clock, Timing};

/// Shared by all servers of a program.
#[derive(Clone)]
pub struct Herd(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    timing: Timing,
    /// How far the boot clock was ahead of the monotonic one when somebody last looked.
    lead: Mutex<Duration>,
    start: (Instant, Duration),
    /// Counts the mass events: resumes, and whatever the program reports.
    events: watch::Sender<u64>,
    gate: Semaphore,
    /// Whether somebody looks at the clocks now and then: only where there are servers.
    is_watched: Mutex<bool>,
}

impl Herd {
    pub fn new(clock: Arc<dyn Clock>, timing: &Timing) -> Self {
        let start = (clock.mono(), clock.boot());
        Self(Arc::new(Inner {
            clock,
            lead: Mutex::new(Duration::ZERO),
            start,
            events: watch::Sender::new(0),
            gate: Semaphore::new(timing.mass_limit),
            timing: timing.clone(),
            is_watched: Mutex::new(false),
        }))
    }

    /// The network is back, or something else happened that concerns every server.
    pub fn rouse(&self) {
        self.0.events.send_modify(|count| *count += 1);
    }

    /// Compares the clocks; a jump means that the machine slept and every socket is suspect.
    pub(crate) fn look(&self) {
        let (mono, boot) = self.0.start;
        let awake = self.0.clock.mono().saturating_duration_since(mono);
        let lead = self
            .0
            .clock
            .boot()
            .saturating_sub(boot)
            .saturating_sub(awake);
        let mut known = locked(&self.0.lead);
        let has_slept = lead.saturating_sub(*known) > self.0.timing.suspend_jump;
        *known = (*known).max(lead);
        drop(known);
        if has_slept {
            self.rouse();
        }
    }

    /// Mass events so far.
    pub(crate) fn count(&self) -> u64 {
        *self.0.events.borrow()
    }

    /// From the first server to the last, the clocks are watched.
    pub(crate) fn events(&self) -> watch::Receiver<u64> {
        let mut is_watched = locked(&self.0.is_watched);
        let events = self.0.events.subscribe();
        if !std::mem::replace(&mut *is_watched, true) {
            TaskTracker::new().spawn(self.clone().watch());
        }
        events
    }

    /// Looks at the clocks now and then, for as long as there is somebody to tell.
    async fn watch(self) {
        let every = self.0.timing.suspend_jump / 6;
        loop {
            tokio::select! {
                () = sleep(every) => self.look(),
                () = self.0.events.closed() => {
                    let mut is_watched = locked(&self.0.is_watched);
                    // A server may have come as the last one went.
                    *is_watched = !self.0.events.is_closed();
                    if !*is_watched {
                        return;
                    }
                }
            }
        }
    }

    /// Waits for a place among those who may act after a mass event.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        sleep(self.0.timing.mass_spread.mul_f64(fastrand::f64())).await;
        // Nobody closes it; without a place the server would only be a little early.
        self.0.gate.acquire().await.ok()
    }
}

impl std::fmt::Debug for Herd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Herd").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::SystemTime;

    use super::*;

    #[derive(Default)]
    struct Sleeper {
        slept: AtomicU64,
        start: Mutex<Option<Instant>>,
    }

    impl Clock for Sleeper {
        fn mono(&self) -> Instant {
            Instant::now()
        }

        fn boot(&self) -> Duration {
            let start = *locked(&self.start).get_or_insert_with(Instant::now);
            start.elapsed() + Duration::from_secs(self.slept.load(Ordering::Relaxed))
        }

        fn wall(&self) -> SystemTime {
            SystemTime::now()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn sleep_is_noticed_once() {
        let clock = Arc::new(Sleeper::default());
        let herd = Herd::new(Arc::clone(&clock) as _, &Timing::default());
        let check = |events: u64| assert_eq!(*herd.events().borrow(), events);
        tokio::time::advance(Duration::from_secs(3600)).await;
        herd.look();
        check(0);
        clock.slept.store(20, Ordering::Relaxed);
        herd.look();
        check(0);
        clock.slept.store(3600, Ordering::Relaxed);
        herd.look();
        herd.look();
        check(1);
    }

    #[tokio::test(start_paused = true)]
    async fn clocks_are_watched_from_the_first_server_to_the_last() {
        let clock = Arc::new(Sleeper::default());
        let herd = Herd::new(Arc::clone(&clock) as _, &Timing::default());
        clock.slept.store(3600, Ordering::Relaxed);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(herd.count(), 0);
        let mut events = herd.events();
        events.changed().await.unwrap();
        assert_eq!(herd.count(), 1);
        drop(events);
        sleep(Duration::from_secs(60)).await;
        clock.slept.store(7200, Ordering::Relaxed);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(herd.count(), 1);
        herd.events().changed().await.unwrap();
        assert_eq!(herd.count(), 2);
    }
}
