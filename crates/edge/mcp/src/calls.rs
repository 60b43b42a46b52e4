//! The calls under way on one connection, so that what a server says can find the call it is about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::server::{CallContext, Progress};

/// All calls of one connection.
#[derive(Default)]
pub(crate) struct Calls {
    open: Mutex<HashMap<u64, Arc<Activity>>>,
    /// A call ended.
    ended: Notify,
}

impl Calls {
    /// Notes a call; it is forgotten when the ticket is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: u64, activity: Arc<Activity>) -> Ticket {
        locked(&self.open).insert(id, activity);
        Ticket {
            calls: Arc::clone(self),
            id,
        }
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Activity>> {
        locked(&self.open).get(&id).cloned()
    }

    /// The call under way, if there is exactly one.
    pub(crate) fn only(&self) -> Option<Arc<Activity>> {
        let open = locked(&self.open);
        let mut calls = open.values();
        match (calls.next(), calls.next()) {
            (Some(call), None) => Some(Arc::clone(call)),
            _ => None,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        locked(&self.open).is_empty()
    }

    /// Waits until no call is under way.
    pub(crate) async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.is_idle() {
                return;
            }
            ended.await;
        }
    }
}

pub(crate) struct Ticket {
    calls: Arc<Calls>,
    id: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        locked(&self.calls.open).remove(&self.id);
        self.calls.ended.notify_waiters();
    }
}

/// How one call is getting on: when it was last heard of, and how long it may still take.
pub(crate) struct Activity {
    pub context: CallContext,
    limit: Duration,
    clock: Mutex<CallClock>,
    /// The clock was changed.
    changed: Notify,
}

struct CallClock {
    deadline: Instant,
    /// Where progress cannot extend the deadline to.
    hard: Instant,
    heard: Instant,
    /// Since when the server waits for us; it is not its time that runs then.
    waiting: Option<Instant>,
    waits: u32,
}

impl Activity {
    /// A call that may take `limit`, with progress up to `hard` from now.
    pub(crate) fn new(context: CallContext, limit: Duration, hard: Duration) -> Self {
        let now = Instant::now();
        let clock = CallClock {
            deadline: now + limit,
            hard: now + hard.max(limit),
            heard: now,
            waiting: None,
            waits: 0,
        };
        Self {
            context,
            limit,
            clock: Mutex::new(clock),
            changed: Notify::new(),
        }
    }

    /// The server reported progress: it is alive, and gets more time.
    pub(crate) fn progressed(&self, progress: Progress) {
        {
            let mut clock = locked(&self.clock);
            let now = Instant::now();
            clock.heard = now;
            clock.deadline = clock.deadline.max((now + self.limit).min(clock.hard));
        }
        self.changed.notify_waiters();
        if let Some(listener) = &self.context.progress {
            listener(progress);
        }
    }

    /// Stops the clock while the guard lives: the server waits for our user or our model.
    pub(crate) fn waits_for_us(self: &Arc<Self>) -> OurTime {
        let mut clock = locked(&self.clock);
        clock.waits += 1;
        clock.waiting.get_or_insert_with(Instant::now);
        drop(clock);
        self.changed.notify_waiters();
        OurTime(Arc::clone(self))
    }

    /// Ends when the call has used up its time.
    pub(crate) async fn out_of_time(&self) {
        self.reached(|clock| clock.deadline).await;
    }

    /// Ends when nothing was heard of the call for `limit`, or for `limit` since `from`.
    pub(crate) async fn silent_for(&self, limit: Duration, from: Instant) {
        self.reached(|clock| clock.heard.max(from) + limit).await;
    }

    async fn reached(&self, moment: impl Fn(&CallClock) -> Instant) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let until = {
                let clock = locked(&self.clock);
                clock.waiting.is_none().then(|| moment(&clock))
            };
            match until {
                Some(until) if until <= Instant::now() => return,
                Some(until) => tokio::select! {
                    () = sleep_until(until) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }
}

/// Our own time, not the server's.
pub(crate) struct OurTime(Arc<Activity>);

impl Drop for OurTime {
    fn drop(&mut self) {
        let mut clock = locked(&self.0.clock);
        clock.waits = clock.waits.saturating_sub(1);
        if clock.waits == 0
            && let Some(since) = clock.waiting.take()
        {
            let ours = since.elapsed();
            clock.deadline += ours;
            clock.hard += ours;
            clock.heard = Instant::now();
        }
        drop(clock);
        self.0.changed.notify_waiters();
    }
}

/// Nothing in here can panic half-way, so a poisoned lock is as good as another.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn progress() -> Progress {
        Progress {
            done: 1.0,
            total: None,
            message: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_the_deadline_up_to_the_cap() {
        let activity = Activity::new(CallContext::default(), 10 * SECOND, 25 * SECOND);
        let start = Instant::now();
        let report = async {
            loop {
                sleep(5 * SECOND).await;
                activity.progressed(progress());
            }
        };
        tokio::select! {
            () = activity.out_of_time() => {}
            () = report => {}
        }
        assert_eq!(start.elapsed(), 25 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn our_own_time_does_not_count() {
        let activity = Arc::new(Activity::new(
            CallContext::default(),
            10 * SECOND,
            10 * SECOND,
        ));
        let start = Instant::now();
        let ask = async {
            sleep(4 * SECOND).await;
            let ours = activity.waits_for_us();
            sleep(100 * SECOND).await;
            drop(ours);
        };
        futures::future::join(activity.out_of_time(), ask).await;
        assert_eq!(start.elapsed(), 110 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_counted_from_the_last_sign_of_life() {
        let activity = Activity::new(CallContext::default(), 60 * SECOND, 60 * SECOND);
        let start = Instant::now();
        sleep(3 * SECOND).await;
        activity.progressed(progress());
        activity.silent_for(20 * SECOND, start).await;
        assert_eq!(start.elapsed(), 23 * SECOND);
        let again = activity.silent_for(20 * SECOND, Instant::now());
        assert!(timeout(19 * SECOND, again).await.is_err());
    }

    #[test]
    fn a_call_is_found_while_it_lasts() {
        let calls = Arc::new(Calls::default());
        let call = || Arc::new(Activity::new(CallContext::default(), SECOND, SECOND));
        let one = calls.begin(1, call());
        assert!(calls.only().is_some());
        let two = calls.begin(2, call());
        assert!(calls.only().is_none() && calls.find(2).is_some());
        drop((one, two));
        assert!(calls.is_idle());
    }
}
