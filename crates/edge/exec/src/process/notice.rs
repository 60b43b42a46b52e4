//! What there is to tell a session about its jobs while nobody asked.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_types::SessionId;
use tokio::sync::Notify;
use tokio::time::Instant;

/// More sightings than this in `BURST` over all jobs, and there are none for `SILENCE`.
const MAX_BURST: usize = 15;
const BURST: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);
/// Nobody takes them: the oldest go.
const MAX_QUEUED: usize = 256;

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whose job it is.
    pub session: SessionId,
    /// `proc_…`
    pub process: String,
    pub command: String,
    pub what: Happened,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It ended; there is exactly one of these, and none if the model already knows.
    Completed {
        exit_code: Option<i32>,
        output: String,
    },
    /// A watched pattern was printed.
    Matched {
        pattern: String,
        output: String,
        suppressed: u32,
    },
    /// The pattern was printed too often; from now on only the end is told.
    WatchGivenUp { suppressed: u32 },
    /// All jobs together matched too often.
    WatchesSilenced,
    /// … and may match again; this many were not told.
    WatchesReleased { suppressed: usize },
}

impl Notice {
    /// As a message to the model.
    pub fn text(&self) -> String {
        let Self {
            process, command, ..
        } = self;
        match &self.what {
            Happened::Completed { exit_code, output } => {
                let code = exit_code.map_or("unknown".to_owned(), |code| code.to_string());
                format!(
                    "[IMPORTANT: Background process {process} has ended (exit code {code}).\nCommand: \
                     {command}\nOutput:\n{output}]"
                )
            }
            Happened::Matched {
                pattern,
                output,
                suppressed,
            } => {
                let more = match suppressed {
                    0 => String::new(),
                    count => format!("\n({count} earlier matches were not reported)"),
                };
                format!(
                    "[IMPORTANT: Background process {process} printed \"{pattern}\".\nCommand: {command}\n\
                     Lines:\n{output}{more}]"
                )
            }
            Happened::WatchGivenUp { suppressed } => format!(
                "[IMPORTANT: The watch patterns of background process {process} matched too often \
                 ({suppressed} matches not reported) and are off. You will be told once, when it ends.]"
            ),
            Happened::WatchesSilenced => format!(
                "[IMPORTANT: Watch patterns of all background processes match too often; silent for {} s.]",
                SILENCE.as_secs()
            ),
            Happened::WatchesReleased { suppressed } => format!(
                "[IMPORTANT: Watch patterns are reported again; {suppressed} matches were left out.]"
            ),
        }
    }
}

/// The queue sessions take their notices from.
#[derive(Debug, Default)]
pub(super) struct Notices {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    notices: VecDeque<Notice>,
    /// When the last sightings were told.
    recent: VecDeque<Instant>,
    silent_until: Option<Instant>,
    left_out: usize,
}

impl Notices {
    pub fn push(&self, notice: Notice) {
        self.lock().push(notice);
        self.arrived.notify_waiters();
    }

    /// A sighting, if there have not been too many.
    pub fn push_sighting(&self, notice: Notice, now: Instant) {
        self.lock().admit(notice, now);
        self.arrived.notify_waiters();
    }

    /// Takes what is there for `session`, but for what `known` says the model has seen.
    pub fn take(&self, session: &SessionId, known: impl Fn(&Notice) -> bool) -> Vec<Notice> {
        let mut queue = self.lock();
        let (own, others) = std::mem::take(&mut queue.notices)
            .into_iter()
            .partition::<VecDeque<_>, _>(|notice| notice.session == *session);
        queue.notices = others;
        own.into_iter().filter(|notice| !known(notice)).collect()
    }

    /// Ready as soon as there is something for `session`.
    pub async fn wait(&self, session: &SessionId) {
        loop {
            let mut arrived = std::pin::pin!(self.arrived.notified());
            // From here on nothing that arrives is missed.
            arrived.as_mut().enable();
            let waiting = |notice: &Notice| notice.session == *session;
            if self.lock().notices.iter().any(waiting) {
                return;
            }
            arrived.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, notice: Notice) {
        if self.notices.len() == MAX_QUEUED {
            self.notices.pop_front();
        }
        self.notices.push_back(notice);
    }

    fn admit(&mut self, notice: Notice, now: Instant) {
        if self.silent_until.is_some_and(|until| now < until) {
            self.left_out += 1;
            return;
        }
        let about_all = |what| Notice {
            what,
            ..notice.clone()
        };
        if self.silent_until.take().is_some() {
            self.recent.clear();
            let suppressed = std::mem::take(&mut self.left_out);
            self.push(about_all(Happened::WatchesReleased { suppressed }));
        }
        self.recent.retain(|told| now - *told < BURST);
        self.recent.push_back(now);
        if self.recent.len() > MAX_BURST {
            self.silent_until = Some(now + SILENCE);
            self.left_out = 1;
            self.push(about_all(Happened::WatchesSilenced));
        } else {
            self.push(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting() -> Notice {
        Notice {
            session: "s".into(),
            process: "proc_1".to_owned(),
            command: "x".to_owned(),
            what: Happened::Matched {
                pattern: "p".to_owned(),
                output: String::new(),
                suppressed: 0,
            },
        }
    }

    #[test]
    fn a_burst_is_followed_by_silence() {
        let notices = Notices::default();
        let start = Instant::now();
        for n in 0..40 {
            notices.push_sighting(sighting(), start + Duration::from_millis(n * 100));
        }
        let told = notices.take(&"s".into(), |_| false);
        assert_eq!(told.len(), MAX_BURST + 1);
        assert_eq!(told[MAX_BURST].what, Happened::WatchesSilenced);
        notices.push_sighting(sighting(), start + Duration::from_secs(40));
        let told = notices.take(&"s".into(), |_| false);
        assert_eq!(told[0].what, Happened::WatchesReleased { suppressed: 25 });
        assert_eq!(told[1], sighting());
    }

    #[test]
    fn sessions_take_only_their_own() {
        let notices = Notices::default();
        notices.push(sighting());
        assert!(notices.take(&"other".into(), |_| false).is_empty());
        assert!(notices.take(&"s".into(), |_| true).is_empty());
        assert!(notices.take(&"s".into(), |_| false).is_empty());
    }
}
