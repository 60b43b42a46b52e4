//! The way from a script to the tools: a socket in its staging directory that only its owner can reach.
//!
//! One line of JSON asks, one line answers. Whatever comes in, memory stays bounded: a connection that sends more
//! than a line may have is closed, and beyond a few connections others wait to be let in.

use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::desk::{Desk, Then};

/// The longest line: a file that a script writes as a whole must fit.
pub(crate) const MAX_REQUEST: usize = 8 * 1024 * 1024;
/// A script has one for each call; its threads and children call at the same time.
const CONNECTIONS: usize = 8;
/// When the system is out of something, it may have it again soon.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers whoever connects, for as long as it is polled.
pub(crate) async fn serve(listener: &UnixListener, desk: &Desk) -> Infallible {
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if open.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => open.push(talk(stream, desk)),
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(()) = open.next() => {}
        }
    }
}

/// One connection, until either side has enough of it.
async fn talk(stream: UnixStream, desk: &Desk) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(line) = line(&mut reader).await {
        let reply = desk.answer(&line).await;
        // Who doesn't want the answer any more is gone or about to be.
        if writer.write_all(reply.line.as_bytes()).await.is_err() || reply.then == Then::HangUp {
            return;
        }
    }
}

/// The next line; what is left at the end counts as one. `None` at the end, or if there is no end to it.
async fn line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = reader.take(MAX_REQUEST as u64 + 1);
    bounded.read_until(b'\n', &mut line).await.ok()?;
    (!line.is_empty() && line.len() <= MAX_REQUEST).then_some(line)
}
