//! Our end of a stdio child. The child only carries bytes and obeys; state, counters and faults are here, so
//! they survive it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::BytesMut;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use super::counters::Seen;
use super::fault::{Fault, Realm};
use super::http::{Conn, Request};
use super::pipe::{Pipe, Work};
use super::relay::{CLOSE_STDOUT, KILL, SPAWN, STOP, WRITE};
use super::rpc::Incoming;
use super::session::{Open, Order, Out, Owner, line};
use super::state::{Shared, body_seen};

const MAX_LINE: u64 = 16 << 20;
const BACKLOG: usize = 256;

/// How a child presents itself.
#[derive(Debug, Deserialize)]
struct Hello {
    pid: u32,
    env: BTreeMap<String, String>,
}

/// Talks to a child until it is gone.
pub(crate) async fn serve(shared: Arc<Shared>, conn: Conn, request: &Request) {
    let Ok(hello) = serde_json::from_slice::<Hello>(&request.body) else {
        return;
    };
    let scope = shared.with(|inner| {
        inner.counters.children += 1;
        inner.counters.child_pid = Some(hello.pid);
        inner.fresh("child")
    });
    let (outbox, inbox) = line();
    let _open = Open::new(&shared, outbox.clone(), Owner::Child);
    let (calls, work) = mpsc::channel(BACKLOG);
    let pipe = Pipe {
        shared,
        outbox,
        env: Arc::new(hello.env),
        scope,
    };
    let (stream, ahead) = conn.into_parts();
    let (reading, writing) = stream.into_split();
    tokio::select! {
        () = hear(&pipe, reading, ahead, calls) => {}
        () = pipe.run(work) => {}
        () = speak(writing, inbox) => {}
    }
}

/// Takes the client's lines.
async fn hear(pipe: &Pipe, reading: OwnedReadHalf, ahead: BytesMut, calls: mpsc::Sender<Work>) {
    let mut reader = BufReader::new(std::io::Cursor::new(ahead).chain(reading));
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut reader).take(MAX_LINE);
        if !matches!(bounded.read_until(b'\n', &mut line).await, Ok(1..)) {
            return;
        }
        if let Some(work) = heard(pipe, &line)
            && calls.send(work).await.is_err()
        {
            return;
        }
    }
}

/// The call in a line, if it wants an answer.
fn heard(pipe: &Pipe, line: &[u8]) -> Option<Work> {
    let incoming = Incoming::read(line)?;
    pipe.shared.with(|inner| {
        inner.record(Seen {
            place: "child",
            method: String::new(),
            path: pipe.scope.clone(),
            headers: BTreeMap::new(),
            body: body_seen(line),
        });
        let rpc = match incoming {
            Incoming::Answer { id, body } => {
                inner.answered(&id, body);
                return None;
            }
            Incoming::Call(rpc) => rpc,
        };
        inner.count_call(&rpc);
        if rpc.method == "notifications/cancelled" {
            inner.cancel(&pipe.scope, &rpc.params["requestId"]);
        }
        rpc.id.as_ref()?;
        let fault = inner.hit(&rpc, Realm::Stdio);
        (fault != Some(Fault::InitializeSilent)).then(|| Work::new(inner, &pipe.scope, rpc, fault))
    })
}

/// Tells the child what to write and what to do.
async fn speak(mut writing: OwnedWriteHalf, mut inbox: mpsc::Receiver<Out>) {
    while let Some(out) = inbox.recv().await {
        let sent = match out {
            Out::Say(text) | Out::Trickle(text, _) | Out::Half(text) => {
                let mut sent = Ok(());
                for piece in text.line().pieces() {
                    sent = frame(&mut writing, WRITE, &piece).await;
                    if sent.is_err() {
                        break;
                    }
                }
                sent
            }
            Out::Order(Order::Kill) => frame(&mut writing, KILL, &[]).await,
            Out::Order(Order::Stop) => frame(&mut writing, STOP, &[]).await,
            Out::Order(Order::CloseStdout) => frame(&mut writing, CLOSE_STDOUT, &[]).await,
            Out::Order(Order::Spawn(count)) => frame(&mut writing, SPAWN, &[count]).await,
            Out::Close | Out::Reset => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn frame(writing: &mut OwnedWriteHalf, tag: u8, payload: &[u8]) -> std::io::Result<()> {
    let size = u32::try_from(payload.len()).map_err(std::io::Error::other)?;
    let head = [&[tag][..], &size.to_be_bytes()].concat();
    writing.write_all(&head).await?;
    writing.write_all(payload).await
}
