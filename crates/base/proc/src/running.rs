//! A child that runs: what it says, how it ends, and how it is made to end.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::{Decoder, Group, Input};

/// From asking to end to being killed.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// How long a killed group may take to vanish; longer, and something else is wrong.
pub(crate) const VANISH: Duration = Duration::from_secs(1);
/// How often to look whether a group is gone: there is no event for it.
pub(crate) const LOOK: Duration = Duration::from_millis(20);
/// A child has ended but somebody it left behind holds its output open: silence that means nothing more comes.
const QUIET: Duration = Duration::from_millis(300);
/// The same, if there is no silence.
const DRAIN: Duration = Duration::from_secs(2);
const BUFFER: usize = 64 * 1024;

/// A child and its process group. Dropping it before it has ended kills the group.
#[derive(Debug)]
pub struct Running {
    group: Group,
    output: Output,
    waiter: Waiter,
    input: Option<Input>,
    /// Bytes for the child that it has not taken yet.
    feed: Vec<u8>,
    fed: usize,
    decoder: Decoder,
    buffer: Vec<u8>,
    exit: Option<Exit>,
    phase: Phase,
    /// When to look whether one that shall end is gone. Output must not put it off.
    look_at: Instant,
}

/// What a child does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Said something, on either of its two outputs.
    Output(String),
    /// Has ended, and all that is worth waiting for was said.
    Ended(Exit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The system did not tell.
    Unknown,
}

#[derive(Debug)]
pub(crate) enum Output {
    Pipe(pipe::Receiver),
    Screen(mpsc::Receiver<Vec<u8>>),
    Closed,
}

#[derive(Debug)]
pub(crate) enum Waiter {
    Child(Box<Child>),
    Thread(oneshot::Receiver<io::Result<ExitStatus>>),
}

#[derive(Debug)]
enum Phase {
    Runs,
    /// Was asked to end.
    Stopping {
        kill_at: Instant,
    },
    /// Was killed.
    Killed {
        give_up_at: Instant,
    },
    /// Has ended; its last words are collected.
    Draining {
        quiet_at: Instant,
        until: Instant,
    },
    Over,
}

enum Step {
    Exited(Exit),
    Read(io::Result<usize>),
    Fed(io::Result<usize>),
    Due,
}

impl Running {
    pub(crate) fn new(group: Group, output: Output, waiter: Waiter) -> Self {
        Self {
            group,
            output,
            waiter,
            input: None,
            feed: Vec::new(),
            fed: 0,
            decoder: Decoder::default(),
            buffer: vec![0; BUFFER],
            exit: None,
            phase: Phase::Runs,
            look_at: Instant::now(),
        }
    }

    pub(crate) fn with_input(mut self, input: Option<Input>) -> Self {
        self.input = input;
        self
    }

    pub(crate) fn fed(mut self, input: Option<Input>, feed: Vec<u8>) -> Self {
        self.input = input.filter(|_| !feed.is_empty());
        self.feed = feed;
        self
    }

    pub fn group(&self) -> Group {
        self.group
    }

    /// The way to its standard input, once, if that was left open.
    pub fn input(&mut self) -> Option<Input> {
        self.input.take_if(|_| self.feed.is_empty())
    }

    /// Asks the group to end. From here on [`next`](Self::next) kills it when its time is over, and reports the
    /// end when nobody is left.
    pub fn stop(&mut self) {
        if matches!(self.phase, Phase::Runs | Phase::Draining { .. }) {
            self.group.terminate();
            self.phase = Phase::Stopping {
                kill_at: Instant::now() + GRACE,
            };
        }
    }

    /// Lets it go on without us: dropping it kills nothing any more.
    pub fn release(&mut self) {
        self.phase = Phase::Over;
    }

    /// Waits for what happens next. After the end there is only the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(ended) = self.ended() {
                return ended;
            }
            match self.step().await {
                Step::Exited(exit) => self.exited(exit),
                Step::Read(Ok(size @ 1..)) => {
                    let text = self.heard(size);
                    if !text.is_empty() {
                        return Event::Output(text);
                    }
                }
                // A terminal ends with an error; a pipe has none worth telling apart from its end.
                Step::Read(_) => {
                    self.output = Output::Closed;
                    let rest = self.decoder.finish();
                    if !rest.is_empty() {
                        return Event::Output(rest);
                    }
                }
                Step::Fed(taken) => self.was_fed(taken),
                Step::Due => self.due(),
            }
        }
    }

    async fn step(&mut self) -> Step {
        let wake = self.wake();
        let exited = self.exit.is_some();
        let open = !matches!(self.output, Output::Closed);
        let hungry = !self.feed.is_empty();
        tokio::select! {
            // First: endless output must not hide the end.
            biased;
            exit = self.waiter.wait(), if !exited => Step::Exited(exit),
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => Step::Due,
            read = self.output.read(&mut self.buffer), if open => Step::Read(read),
            taken = feed(&mut self.input, &self.feed[self.fed..]), if hungry => Step::Fed(taken),
        }
    }

    /// When to look again although nothing happened.
    fn wake(&self) -> Option<Instant> {
        match self.phase {
            Phase::Runs | Phase::Over => None,
            Phase::Stopping { .. } | Phase::Killed { .. } => Some(self.look_at),
            Phase::Draining { quiet_at, until } => Some(quiet_at.min(until)),
        }
    }

    fn exited(&mut self, exit: Exit) {
        self.exit = Some(exit);
        if matches!(self.phase, Phase::Runs) {
            self.drain();
        }
    }

    fn drain(&mut self) {
        let now = Instant::now();
        self.phase = Phase::Draining {
            quiet_at: now + QUIET,
            until: now + DRAIN,
        };
    }

    fn heard(&mut self, size: usize) -> String {
        if let Phase::Draining { quiet_at, .. } = &mut self.phase {
            *quiet_at = Instant::now() + QUIET;
        }
        let Self {
            decoder, buffer, ..
        } = self;
        decoder.push(&buffer[..size])
    }

    fn was_fed(&mut self, taken: io::Result<usize>) {
        self.fed += taken.as_ref().copied().unwrap_or(0);
        // A child that doesn't want its input is no failure.
        if taken.is_err() || self.fed == self.feed.len() {
            (self.feed, self.fed) = (Vec::new(), 0);
            self.input = None;
        }
    }

    fn due(&mut self) {
        let now = Instant::now();
        self.look_at = now + LOOK;
        match self.phase {
            Phase::Stopping { .. } | Phase::Killed { .. } if self.nobody_left() => self.drain(),
            Phase::Stopping { kill_at } if now >= kill_at => {
                self.group.kill();
                self.phase = Phase::Killed {
                    give_up_at: now + VANISH,
                };
            }
            Phase::Killed { give_up_at } if now >= give_up_at => self.phase = Phase::Over,
            Phase::Draining { .. } => self.phase = Phase::Over,
            _ => {}
        }
    }

    fn nobody_left(&self) -> bool {
        self.exit.is_some() && self.group.is_gone()
    }

    fn ended(&mut self) -> Option<Event> {
        let silent = matches!(self.output, Output::Closed);
        if silent && matches!(self.phase, Phase::Draining { .. }) {
            self.phase = Phase::Over;
        }
        matches!(self.phase, Phase::Over).then(|| Event::Ended(self.exit.unwrap_or(Exit::Unknown)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        match self.phase {
            // It ended by itself; what it left running in its group was meant to stay.
            Phase::Draining { .. } | Phase::Over => {}
            Phase::Runs | Phase::Stopping { .. } | Phase::Killed { .. } => self.group.kill(),
        }
    }
}

async fn feed(input: &mut Option<Input>, bytes: &[u8]) -> io::Result<usize> {
    match input {
        Some(input) => input.write_some(bytes).await,
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

impl Output {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.read(buffer).await,
            Self::Screen(pieces) => {
                let piece = pieces.recv().await.unwrap_or_default();
                // The reading thread's pieces are smaller than the buffer.
                let size = piece.len().min(buffer.len());
                buffer[..size].copy_from_slice(&piece[..size]);
                Ok(size)
            }
            Self::Closed => Ok(0),
        }
    }
}

impl Waiter {
    async fn wait(&mut self) -> Exit {
        let status = match self {
            Self::Child(child) => child.wait().await,
            Self::Thread(status) => status
                .await
                .unwrap_or_else(|gone| Err(io::Error::other(gone))),
        };
        status.map_or(Exit::Unknown, Exit::from)
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

/// For people: it ended with…
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unknown => f.write_str("no exit code"),
        }
    }
}

impl Exit {
    /// One number for all: the code, or the signal as a negative number.
    pub fn number(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => -signal,
            Self::Unknown => -1,
        }
    }
}
