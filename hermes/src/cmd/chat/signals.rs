//! Signals that end a run, and the exit codes they lead to.

use std::future::{Future, poll_fn};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use hermes_home::Env;
use hermes_session::{Input, Session};
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cmd::Failed;

/// From a signal to the end, unless `HERMES_SIGTERM_GRACE` says otherwise.
const GRACE: f64 = 1.5;

/// Set while [`give_back`] is who ends the process: a process has one set of signals.
static GIVES_BACK: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    Interrupt,
    Terminate,
    Hangup,
}

impl Caught {
    pub const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::Hangup];
    /// Those that mean the end also where Ctrl+C means something else.
    pub const ENDS: [Self; 2] = [Self::Terminate, Self::Hangup];

    /// 128 and the number of the signal, as shells count.
    pub fn failed(self) -> Failed {
        Failed(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::Hangup => 129,
        })
    }

    fn kind(self) -> SignalKind {
        match self {
            Self::Interrupt => SignalKind::interrupt(),
            Self::Terminate => SignalKind::terminate(),
            Self::Hangup => SignalKind::hangup(),
        }
    }
}

/// Signals that wait here instead of ending the process.
pub struct Signals {
    watched: Vec<(Caught, Signal)>,
    grace: Duration,
}

impl Signals {
    pub fn watch(kinds: &[Caught], env: &Env) -> Result<Self> {
        let watch = |caught: &Caught| Ok((*caught, signal(caught.kind())?));
        let watched: std::io::Result<_> = kinds.iter().map(watch).collect();
        let grace = env.filled("HERMES_SIGTERM_GRACE");
        let grace = grace.and_then(|seconds| seconds.parse().ok());
        let watched = watched.context("watching for signals")?;
        GIVES_BACK.store(false, Ordering::SeqCst);
        Ok(Self {
            watched,
            grace: Duration::from_secs_f64(grace.unwrap_or(GRACE).clamp(0.0, 60.0)),
        })
    }

    /// How long an end may take.
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// The next one. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Caught {
        poll_fn(|cx| {
            let came = self
                .watched
                .iter_mut()
                .find_map(|(caught, signal)| signal.poll_recv(cx).is_ready().then_some(*caught));
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Runs `work` to its end, or to a signal: then the session is closed, and what has not ended soon, or at
    /// a second signal, is dropped.
    pub async fn during<T>(
        &mut self,
        session: &Session,
        work: impl Future<Output = T>,
    ) -> (Option<T>, Option<Caught>) {
        tokio::pin!(work);
        let caught = tokio::select! {
            // First: what was caught before the beginning must not be overtaken by it.
            biased;
            caught = self.next() => caught,
            done = &mut work => return (Some(done), None),
        };
        let close = async { tokio::join!(session.send(Input::Close), work).1 };
        let grace = self.grace;
        tokio::select! {
            done = tokio::time::timeout(grace, close) => (done.ok(), Some(caught)),
            _ = self.next() => (None, Some(caught)),
        }
    }
}

/// From here on a signal gives the terminal back before it ends the process, until somebody watches for signals
/// who puts more in order than that. Nobody runs the runtime while a person is asked, so it is a thread's work.
pub fn give_back(env: &Env) -> Result<()> {
    if GIVES_BACK.load(Ordering::SeqCst) {
        return Ok(());
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("watching for signals")?;
    let entered = runtime.enter();
    let mut signals = Signals::watch(&Caught::ALL, env)?;
    drop(entered);
    GIVES_BACK.store(true, Ordering::SeqCst);
    let watch = move || {
        let caught = runtime.block_on(signals.next());
        if GIVES_BACK.load(Ordering::SeqCst) {
            hermes_tui::screen::restore_now();
            hermes_lines::show_typing();
            process::exit(caught.failed().0.into());
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(watch).context("watching for signals")?;
    Ok(())
}
