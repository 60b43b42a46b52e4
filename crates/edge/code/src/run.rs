//! A script that runs: what it says, what it asks for, and that nothing of it is left in the end.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hermes_gate::Permit;
use hermes_proc::{
    Capture, Captured, Decoder, Errors, Exit, Lifeline, Mark, Piped, Process, Spawn, Watched,
};
use hermes_types::{Progress, Scope};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::unix::pipe;
use tokio::process::ChildStdout;
use tokio::time::{Instant, interval_at, sleep_until, timeout};
use tokio_util::task::TaskTracker;

use crate::desk::Desk;
use crate::rpc;
use crate::staging::Staging;

/// An interrupted script is answered after this, whether it is gone or not.
const ANSWER: Duration = Duration::from_millis(100);
/// A script that says nothing is still a sign of life this often.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The script has ended but somebody it left behind holds its output open: silence that means nothing more comes.
const QUIET: Duration = Duration::from_millis(300);
/// The same, if there is no silence.
const DRAIN: Duration = Duration::from_secs(2);
/// Kept of each output; more than is shown, as what is stripped from it doesn't count.
const HEAD: usize = 256 * 1024;
const TAIL: usize = 512 * 1024;
const BUFFER: usize = 64 * 1024;

/// A script with all that belongs to it. Dropping it kills every process of it and removes its files, in this
/// order.
pub(crate) struct Script {
    process: Process,
    stdout: Stream<ChildStdout>,
    stderr: Stream<pipe::Receiver>,
    /// Finds who has left the group.
    mark: Mark,
    _watched: Option<Watched>,
    staging: Staging,
}

/// How it went.
pub(crate) struct Finished {
    pub ending: Ending,
    pub stdout: Said,
    pub stderr: Said,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(Exit),
    TimedOut,
    Interrupted,
}

/// What came out of one of its pipes.
pub(crate) struct Said {
    pub kept: Captured,
    /// All of it.
    pub bytes: u64,
}

/// Who waits for a script, and for how long.
pub(crate) struct Wait<'a> {
    pub scope: &'a Scope,
    pub limit: Duration,
    pub progress: &'a Progress,
    /// Where scripts end that nobody waits for any more.
    pub dying: &'a TaskTracker,
}

impl Script {
    /// Starts what the gate has let pass.
    pub fn start(
        _permit: &Permit,
        spawn: Spawn,
        (mark, staging): (Mark, Staging),
        lifeline: Option<&Lifeline>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("The script could not be started: {error}");
        let (reader, writer) = io::pipe().map_err(failed)?;
        let errors = Errors::File(OwnedFd::from(writer).into());
        let started = spawn.start_piped(errors);
        // Its input ends at once: nobody is there to type.
        let Piped {
            output, process, ..
        } = started.map_err(|error| format!("The script could not be started: {error}"))?;
        let stderr = pipe::Receiver::from_owned_fd(reader.into()).map_err(failed)?;
        Ok(Self {
            _watched: lifeline.map(|line| line.watch(process.group())),
            process,
            stdout: Stream::new(output),
            stderr: Stream::new(stderr),
            mark,
            staging,
        })
    }

    /// Answers its calls until it ends, is stopped, or has used up its time.
    pub async fn run(mut self, desk: &Desk, wait: &Wait<'_>) -> Finished {
        let ending = tokio::select! {
            biased;
            // Endless output would starve whatever stands behind it.
            () = wait.scope.cancel.cancelled() => Ending::Interrupted,
            () = sleep_until(Instant::now() + wait.limit) => Ending::TimedOut,
            exit = self.work(desk, wait.progress) => Ending::Exited(exit),
        };
        let gone = match ending {
            Ending::Exited(_) => {
                self.process.kill().await;
                true
            }
            Ending::TimedOut => {
                self.stop().await;
                true
            }
            Ending::Interrupted => timeout(ANSWER, self.stop()).await.is_ok(),
        };
        let finished = Finished {
            ending,
            stdout: self.stdout.said(),
            stderr: self.stderr.said(),
        };
        if !gone {
            wait.dying.spawn(async move { self.stop().await });
        }
        finished
    }

    async fn work(&mut self, desk: &Desk, progress: &Progress) -> Exit {
        let Self {
            process,
            stdout,
            stderr,
            staging,
            ..
        } = self;
        // In no order: neither a flood of output nor one of calls must hold up the other.
        tokio::select! {
            exit = listen(process, stdout, stderr, progress) => exit,
            never = rpc::serve(&staging.listener, desk) => match never {},
        }
    }

    /// Ends all of it. Dropping the future loses nothing; whoever begins anew gives it its full time again.
    async fn stop(&mut self) {
        let Self {
            process,
            stdout,
            stderr,
            ..
        } = self;
        tokio::select! {
            () = process.stop() => {}
            // Who has something to say until the end must not be held up by it.
            never = hear_all(stdout, stderr) => match never {},
        }
        self.mark.kill();
        last_words(&mut self.stdout, &mut self.stderr).await;
    }
}

/// Collects what it says until it has ended.
async fn listen(
    process: &mut Process,
    stdout: &mut Stream<ChildStdout>,
    stderr: &mut Stream<pipe::Receiver>,
    progress: &Progress,
) -> Exit {
    let begun = Instant::now();
    let mut tick = interval_at(begun + HEARTBEAT, HEARTBEAT);
    let exit = loop {
        tokio::select! {
            biased;
            exit = process.exited() => break exit,
            now = tick.tick() => {
                progress.tell(&format!("still running ({} s)", (now - begun).as_secs()));
            }
            () = hear(stdout, stderr) => {}
        }
    };
    last_words(stdout, stderr).await;
    exit
}

/// The next piece of either output; never, once both have ended.
async fn hear(stdout: &mut Stream<ChildStdout>, stderr: &mut Stream<pipe::Receiver>) {
    tokio::select! {
        () = stdout.hear(), if stdout.is_open() => {}
        () = stderr.hear(), if stderr.is_open() => {}
        else => std::future::pending().await,
    }
}

async fn hear_all(
    stdout: &mut Stream<ChildStdout>,
    stderr: &mut Stream<pipe::Receiver>,
) -> Infallible {
    loop {
        hear(stdout, stderr).await;
    }
}

async fn last_words(stdout: &mut Stream<ChildStdout>, stderr: &mut Stream<pipe::Receiver>) {
    let until = Instant::now() + DRAIN;
    while stdout.is_open() || stderr.is_open() {
        let quiet = Instant::now() + QUIET;
        tokio::select! {
            biased;
            () = sleep_until(until) => return,
            () = hear(stdout, stderr) => {}
            () = sleep_until(quiet) => return,
        }
    }
}

/// One of its outputs, kept in bounded memory.
struct Stream<R> {
    /// `None` after its end.
    reader: Option<R>,
    decoder: Decoder,
    capture: Capture,
    bytes: u64,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Stream<R> {
    fn new(reader: R) -> Self {
        Self {
            reader: Some(reader),
            decoder: Decoder::default(),
            capture: Capture::new(HEAD, TAIL),
            bytes: 0,
            buffer: vec![0; BUFFER],
        }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Waits for the next piece. Dropping the future loses nothing.
    async fn hear(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        // A pipe has no failure worth telling apart from its end.
        let size = reader.read(&mut self.buffer).await.unwrap_or(0);
        let text = match size {
            0 => {
                self.reader = None;
                self.decoder.finish()
            }
            size => self.decoder.push(&self.buffer[..size]),
        };
        self.bytes += size as u64;
        self.capture.push(&text);
    }

    fn said(&mut self) -> Said {
        self.capture.push(&self.decoder.finish());
        Said {
            kept: self.capture.take(),
            bytes: self.bytes,
        }
    }
}
