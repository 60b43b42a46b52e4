//! Owns the child: writes to it, sees it end, and makes it end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::{Exit, Input, Process, Watched};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::error_log::ErrorLog;
use super::pending::{End, Pending};
use super::reader::OutputEnd;
use crate::failure::{Class, Failure};

/// A child that ends says its last words and its exit status at about the same time; one of the two may be missing
/// because somebody it left behind holds the pipe, or because it only closed its output.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Another child that is being started at this moment has copies of all our pipes until it is itself.
const COPIES: Duration = Duration::from_millis(50);

pub(super) struct Keeper {
    pub process: Process,
    /// Dropped to tell the child that nothing more will come.
    pub input: Option<Input>,
    /// The message on its way, and how much of it is.
    pub writing: Option<(Vec<u8>, usize)>,
    /// Bytes the pipe has taken so far.
    pub written: u64,
    pub queue: mpsc::Receiver<Outgoing>,
    pub output_end: oneshot::Receiver<OutputEnd>,
    pub pending: Arc<Pending>,
    pub orders: Orders,
    pub error_log: Option<ErrorLog>,
    pub farewell: Duration,
    /// Behind the process, so that the group is watched until it was killed.
    pub _watched: Option<Watched>,
}

/// A message for the child.
pub(super) struct Outgoing {
    pub line: Vec<u8>,
    /// The request it is, if it is one.
    pub id: Option<u64>,
}

/// What the keeper is told, and what it tells.
#[derive(Clone, Default)]
pub(super) struct Orders {
    pub close: CancellationToken,
    pub kill: CancellationToken,
    /// Nothing is left of the child and what it started.
    pub gone: CancellationToken,
}

/// Why the work is over.
enum Cause {
    Close,
    Kill,
    Exited,
    Output(OutputEnd),
    Input(io::Error),
}

impl Keeper {
    pub(super) async fn run(mut self) {
        match self.work().await {
            Cause::Close => self.close().await,
            cause => self.end(cause).await,
        }
    }

    async fn work(&mut self) -> Cause {
        loop {
            tokio::select! {
                biased;
                () = self.orders.kill.cancelled() => return Cause::Kill,
                () = self.orders.close.cancelled() => return Cause::Close,
                _ = self.process.exited() => return Cause::Exited,
                end = &mut self.output_end => {
                    return Cause::Output(end.unwrap_or(OutputEnd::Closed));
                }
                outgoing = self.queue.recv(), if self.writing.is_none() => match outgoing {
                    Some(outgoing) => self.begin(outgoing),
                    None => return Cause::Kill,
                },
                taken = write(&mut self.input, &self.writing), if self.writing.is_some() => match taken {
                    Ok(taken) => self.wrote(taken),
                    Err(error) => return Cause::Input(error),
                },
            }
        }
    }

    /// Requests that were given up while they waited are not made.
    fn begin(&mut self, outgoing: Outgoing) {
        // Without its line break it is complete, too.
        let end = self.written + outgoing.line.len() as u64 - 1;
        let is_wanted = outgoing.id.is_none_or(|id| self.pending.begin(id, end));
        self.writing = is_wanted.then_some((outgoing.line, 0));
    }

    fn wrote(&mut self, taken: usize) {
        self.written += taken as u64;
        self.writing.take_if(|(line, done)| {
            *done += taken;
            *done >= line.len()
        });
    }

    /// The connection broke, or is not wanted any more.
    async fn end(&mut self, cause: Cause) {
        let exit = match cause {
            Cause::Exited
            | Cause::Output(OutputEnd::Closed | OutputEnd::Broken(_))
            | Cause::Input(_) => self.last_words(&cause).await,
            Cause::Close | Cause::Kill | Cause::Output(OutputEnd::TooLong(_)) => None,
        };
        self.process.kill().await;
        // Only now is it certain what nobody has read.
        let wasted = self.wasted().await;
        let last_line = match exit {
            Some(_) => self.last_error_line().await,
            None => None,
        };
        let in_flight = match cause {
            Cause::Output(OutputEnd::TooLong(_)) => Class::TooLarge,
            _ => Class::Cut,
        };
        self.pending.end(End {
            failure: failure(&cause, exit, last_line),
            in_flight,
            delivered: self.written.saturating_sub(wasted),
        });
    }

    /// How many bytes certainly nobody has read. If that cannot be known, all may have been.
    async fn wasted(&self) -> u64 {
        let Some(input) = &self.input else { return 0 };
        let until = Instant::now() + COPIES;
        loop {
            match input.wasted() {
                Some(bytes) => return bytes as u64,
                None if Instant::now() >= until => return 0,
                None => sleep(COPIES / 10).await,
            }
        }
    }

    /// Waits a moment for the answers still in the pipe, and for the exit status.
    async fn last_words(&mut self, cause: &Cause) -> Option<Exit> {
        let until = Instant::now() + LAST_WORDS;
        let exit = timeout_at(until, self.process.exited()).await.ok();
        if !matches!(cause, Cause::Output(_)) {
            // Nothing more to hear, or not in time: the same to us.
            let _ = timeout_at(until, &mut self.output_end).await;
        }
        exit
    }

    async fn last_error_line(&mut self) -> Option<String> {
        let log = self.error_log.take()?;
        spawn_blocking(move || log.last_line()).await.ok()?
    }

    /// Lets the child go in its own way, as long as that is quick.
    async fn close(&mut self) {
        // The child may read on, so whatever was written counts.
        self.pending.end(self.stopped());
        self.input = None;
        let Self {
            process,
            orders,
            farewell,
            ..
        } = self;
        let politely = async {
            if timeout(*farewell, process.gone()).await.is_err() {
                process.stop().await;
            }
        };
        tokio::select! {
            biased;
            () = orders.kill.cancelled() => {}
            () = politely => {}
        }
        process.kill().await;
    }

    fn stopped(&self) -> End {
        End {
            failure: failure(&Cause::Close, None, None),
            in_flight: Class::Cut,
            delivered: self.written,
        }
    }
}

impl Drop for Keeper {
    /// However the work ended: nobody may wait for it any longer.
    fn drop(&mut self) {
        self.pending.end(self.stopped());
        self.orders.gone.cancel();
    }
}

async fn write(input: &mut Option<Input>, writing: &Option<(Vec<u8>, usize)>) -> io::Result<usize> {
    let (Some(input), Some((line, done))) = (input, writing) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    match input.write_some(&line[*done..]).await? {
        0 => Err(io::ErrorKind::WriteZero.into()),
        taken => Ok(taken),
    }
}

fn failure(cause: &Cause, exit: Option<Exit>, last_line: Option<String>) -> Failure {
    let (class, kind, message) = match (cause, exit) {
        (Cause::Close | Cause::Kill, _) => (
            Class::Cut,
            "Server stopped",
            "the server's program was stopped".to_owned(),
        ),
        (Cause::Output(OutputEnd::TooLong(limit)), _) => (
            Class::Protocol,
            "Protocol error",
            format!("too large: a message of more than {limit} bytes was refused"),
        ),
        (_, Some(exit)) => (Class::Cut, "Server exited", ended(exit)),
        (Cause::Output(OutputEnd::Broken(error)), None) => (
            Class::Cut,
            "Connection lost",
            format!("cannot read the server's output: {error}"),
        ),
        (Cause::Input(error), None) => (
            Class::Cut,
            "Connection lost",
            format!("the server takes no input any more: {error}"),
        ),
        (Cause::Exited | Cause::Output(OutputEnd::Closed), None) => (
            Class::Cut,
            "Connection lost",
            "the server closed its output".to_owned(),
        ),
    };
    let message = match last_line {
        Some(line) => format!("{message}; the error log ends with: {line}"),
        None => message,
    };
    Failure::new(class, kind, message)
}

fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("the server's program ended with status {code}"),
        Exit::Signal(signal) => format!("the server's program was killed by signal {signal}"),
        Exit::Unknown => "the server's program ended".to_owned(),
    }
}
