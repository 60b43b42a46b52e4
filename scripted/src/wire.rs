//! How a reply travels: cut into writes, paced, and broken off where the script says so.

use std::convert::Infallible;
use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use serde::Deserialize;

/// Pacing and faults of one reply. A chunk is one event of a stream, or the whole of a plain body.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Before the first byte, status line included.
    pub delay: Duration,
    /// Between two writes.
    pub between: Duration,
    /// Cut the bytes into writes of this size wherever that falls; without it each chunk is a write.
    pub bytes_per_write: Option<NonZeroUsize>,
    pub garbage: Option<Garbage>,
    pub ending: Ending,
}

/// Bytes that don't belong there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Garbage {
    #[serde(default)]
    pub after_chunks: usize,
    /// Sent as it is, before `bytes`.
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    Whole,
    /// The connection is dropped in the middle of the body.
    CutAfterChunks(usize),
    CutAfterBytes(usize),
    /// The connection stays open and nothing more comes.
    StallAfterChunks(usize),
    /// The body ends as if it were complete.
    EndAfterChunks(usize),
}

/// What to do next with a response body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Send(Bytes),
    Pause(Duration),
    Stall,
    Cut,
}

/// The acts that send `chunks` the way `wire` says.
pub(crate) fn plan(mut chunks: Vec<Bytes>, wire: &Wire) -> Vec<Act> {
    let (kept, last) = match wire.ending {
        Ending::Whole => (usize::MAX, None),
        Ending::CutAfterChunks(kept) => (kept, Some(Act::Cut)),
        Ending::CutAfterBytes(_) => (usize::MAX, Some(Act::Cut)),
        Ending::StallAfterChunks(kept) => (kept, Some(Act::Stall)),
        Ending::EndAfterChunks(kept) => (kept, None),
    };
    chunks.truncate(kept);
    if let Some(garbage) = &wire.garbage {
        let place = garbage.after_chunks.min(chunks.len());
        let bytes = [garbage.text.as_bytes(), &garbage.bytes].concat();
        chunks.insert(place, bytes.into());
    }
    if let Ending::CutAfterBytes(size) = wire.ending {
        chunks = keep_bytes(chunks, size);
    }
    if let Some(size) = wire.bytes_per_write {
        let all = Bytes::from(chunks.concat());
        chunks = all
            .chunks(size.get())
            .map(|part| all.slice_ref(part))
            .collect();
    }
    let mut acts = Vec::new();
    for chunk in chunks {
        if !acts.is_empty() && !wire.between.is_zero() {
            acts.push(Act::Pause(wire.between));
        }
        acts.push(Act::Send(chunk));
    }
    acts.extend(last);
    acts
}

fn keep_bytes(chunks: Vec<Bytes>, size: usize) -> Vec<Bytes> {
    let mut left = size;
    let kept = chunks.into_iter().map(|mut chunk| {
        chunk.truncate(left);
        left -= chunk.len();
        chunk
    });
    kept.filter(|chunk| !chunk.is_empty()).collect()
}

/// A response body that acts so.
pub(crate) fn body(acts: Vec<Act>) -> Body {
    Body::from_stream(stream::unfold(acts.into_iter(), |mut acts| async {
        // The server flushes what it has when we aren't ready: each write really is one.
        tokio::task::yield_now().await;
        loop {
            match acts.next()? {
                Act::Send(bytes) => return Some((Ok(bytes), acts)),
                Act::Pause(time) => tokio::time::sleep(time).await,
                Act::Stall => match std::future::pending::<Infallible>().await {},
                // The server drops a connection whose body fails.
                Act::Cut => return Some((Err(io::Error::other("cut by the script")), acts)),
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn wire(ending: Ending) -> Wire {
        Wire {
            delay: Duration::ZERO,
            between: Duration::ZERO,
            bytes_per_write: None,
            garbage: None,
            ending,
        }
    }

    fn check(wire: &Wire, expected: &[Act]) {
        let chunks = ["one.", "two.", "three."].map(Bytes::from);
        assert_eq!(plan(chunks.into(), wire), expected, "{wire:?}");
    }

    fn send(text: &'static str) -> Act {
        Act::Send(text.into())
    }

    #[test]
    fn endings() {
        let all = || [send("one."), send("two."), send("three.")];
        check(&wire(Ending::Whole), &all());
        check(&wire(Ending::CutAfterChunks(1)), &[send("one."), Act::Cut]);
        check(&wire(Ending::CutAfterChunks(0)), &[Act::Cut]);
        check(
            &wire(Ending::CutAfterBytes(5)),
            &[send("one."), send("t"), Act::Cut],
        );
        check(
            &wire(Ending::StallAfterChunks(1)),
            &[send("one."), Act::Stall],
        );
        check(&wire(Ending::EndAfterChunks(2)), &all()[..2]);
        check(&wire(Ending::EndAfterChunks(9)), &all());
    }

    #[test]
    fn writes_are_cut_anywhere_and_paced() {
        let wire = Wire {
            bytes_per_write: NonZeroUsize::new(6),
            between: MS,
            ..wire(Ending::CutAfterBytes(13))
        };
        let pause = || Act::Pause(MS);
        check(
            &wire,
            &[
                send("one.tw"),
                pause(),
                send("o.thre"),
                pause(),
                send("e"),
                Act::Cut,
            ],
        );
    }

    #[test]
    fn garbage_comes_on_top_of_the_chunks() {
        let garbage = |after_chunks| Wire {
            garbage: Some(Garbage {
                after_chunks,
                text: "?".into(),
                bytes: vec![b'!'],
            }),
            ..wire(Ending::EndAfterChunks(2))
        };
        check(&garbage(0), &[send("?!"), send("one."), send("two.")]);
        check(&garbage(1), &[send("one."), send("?!"), send("two.")]);
        check(&garbage(7), &[send("one."), send("two."), send("?!")]);
    }
}
