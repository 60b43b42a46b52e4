//! Waiting for a foreground command: to its end, to its time limit, or until somebody stops it.

use std::time::Duration;

use hermes_home::redact::Redactor;
use hermes_proc::{Capture, Captured, Event, Exit};
use hermes_types::{Progress, Scope};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};

use super::output::{HEAD, TAIL, clean};
use super::shell::{Shell, Started};
use super::sudo::Password;

/// An interrupted command is answered after this, whether it is gone or not.
const ANSWER: Duration = Duration::from_millis(100);
/// How often to tell who watches what is going on.
const TELL: Duration = Duration::from_secs(2);
/// A command that says nothing is still a sign of life this often.
const HEARTBEAT: Duration = Duration::from_secs(10);
const TOLD_LINES: usize = 3;

/// How it went.
pub(super) struct Finished {
    pub output: Captured,
    pub ending: Ending,
    /// The directory it left, if it ended by itself.
    pub cwd: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(Exit),
    TimedOut,
    Interrupted,
}

pub(super) struct Wait<'a> {
    pub shell: &'a Shell,
    pub scope: &'a Scope,
    pub limit: Duration,
    pub progress: &'a Progress,
    pub redactor: &'a Redactor,
    /// Not to be shown either.
    pub password: Option<&'a Password>,
}

impl Wait<'_> {
    pub async fn for_end(&self, mut started: Started) -> Finished {
        let mut capture = Capture::new(HEAD, TAIL);
        let ending = tokio::select! {
            biased;
            // Endless output would starve whatever stands behind it.
            () = self.scope.cancel.cancelled() => Ending::Interrupted,
            () = sleep_until(Instant::now() + self.limit) => Ending::TimedOut,
            exit = self.listen(&mut started, &mut capture) => Ending::Exited(exit),
        };
        let mut gone = true;
        match ending {
            Ending::Exited(_) => {}
            Ending::TimedOut => {
                started.handle.stop();
                drain(&mut started, &mut capture).await;
            }
            Ending::Interrupted => {
                started.handle.stop();
                gone = timeout(ANSWER, drain(&mut started, &mut capture))
                    .await
                    .is_ok();
            }
        }
        let cwd = self.shell.finished(&started);
        if !gone {
            self.shell.bury(started.into_handle());
        }
        Finished {
            output: capture.take(),
            cwd: cwd.filter(|_| matches!(ending, Ending::Exited(_))),
            ending,
        }
    }

    /// Collects output and tells about it until the command ends.
    async fn listen(&self, started: &mut Started, capture: &mut Capture) -> Exit {
        let begun = Instant::now();
        let mut tick = interval_at(begun + TELL, TELL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut news, mut told) = (false, begun);
        loop {
            tokio::select! {
                biased;
                now = tick.tick() => {
                    if news {
                        self.progress.tell(&self.last_lines(capture.recent()));
                    } else if now - told >= HEARTBEAT {
                        self.progress.tell(&format!("still running ({} s)", (now - begun).as_secs()));
                    } else {
                        continue;
                    }
                    (news, told) = (false, now);
                }
                event = started.handle.next() => match event {
                    Event::Output(text) => {
                        capture.push(&text);
                        news = true;
                    }
                    Event::Ended(exit) => return exit,
                },
            }
        }
    }

    /// Only whole lines: half a line can hold half a key.
    fn last_lines(&self, recent: &str) -> String {
        let whole = recent.rfind('\n').map_or("", |end| &recent[..end]);
        let start = whole.rmatch_indices('\n').nth(TOLD_LINES - 1);
        let lines = clean(&whole[start.map_or(0, |(at, _)| at + 1)..], self.redactor);
        match self.password {
            Some(password) => password.hidden_in(lines),
            None => lines,
        }
    }
}

async fn drain(started: &mut Started, capture: &mut Capture) {
    while let Event::Output(text) = started.handle.next().await {
        capture.push(&text);
    }
}
