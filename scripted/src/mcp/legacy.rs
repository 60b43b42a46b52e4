//! HTTP+SSE of 2024-11-05: a stream at `/sse`, requests to `/messages`, answers on the stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::fault::{Fault, Realm};
use super::http::{Conn, End, Request, Response, Served};
use super::oauth;
use super::pipe::{Pipe, Work};
use super::rpc::{Incoming, Rpc};
use super::session::{Open, Owner, Wire, line};
use super::spoil;
use super::state::Shared;
use super::streamable::{meet, speak};

/// Calls that may wait for the stream to take them.
const BACKLOG: usize = 256;

/// The stream. Its end is the session's.
pub(crate) async fn stream(shared: &Arc<Shared>, conn: &mut Conn, request: &Request) -> Served {
    if let Some(refusal) = oauth::refusal(shared, request) {
        return Ok(conn.send(&refusal).await?);
    }
    let (outbox, inbox) = line();
    let (calls, work) = mpsc::channel(BACKLOG);
    let session = shared.with(|inner| {
        inner.counters.sessions_created += 1;
        inner.sessions.create(0, Some(Wire { calls }))
    });
    let _open = Open::new(shared, outbox.clone(), Owner::Session);
    let pipe = Pipe {
        shared: shared.clone(),
        outbox,
        env: Arc::new(BTreeMap::new()),
        scope: session.clone(),
    };
    let served = async {
        conn.start_events(None).await?;
        let endpoint = format!("event: endpoint\ndata: /messages?session_id={session}\n\n");
        conn.chunk_bytes(Bytes::from(endpoint)).await?;
        tokio::select! {
            served = speak(conn, inbox) => served,
            () = pipe.run(work) => Err(End::Closed),
        }
    };
    let served = served.await;
    shared.with(|inner| inner.sessions.delete(&session));
    served
}

/// A message to the session of a stream.
pub(crate) async fn message(shared: &Arc<Shared>, conn: &mut Conn, request: &Request) -> Served {
    if let Some(refusal) = oauth::refusal(shared, request) {
        return Ok(conn.send(&refusal).await?);
    }
    let session = request.query("session_id").unwrap_or_default();
    let response = match Incoming::read(&request.body) {
        None => Response::empty(400),
        Some(Incoming::Answer { id, body }) => {
            shared.with(|inner| inner.answered(&id, body));
            Response::empty(202)
        }
        Some(Incoming::Call(rpc)) => match accept(shared, &session, rpc) {
            Some(response) => response,
            None => return Err(End::Silent),
        },
    };
    Ok(conn.send(&response).await?)
}

/// What the POST itself is answered; `None` for silence.
fn accept(shared: &Arc<Shared>, session: &str, rpc: Rpc) -> Option<Response> {
    shared.with(|inner| {
        inner.count_call(&rpc);
        if !meet(inner, session, rpc.is_operation()) {
            return Some(spoil::lost(inner.lost, &rpc));
        }
        if rpc.id.is_none() {
            if rpc.method == "notifications/cancelled" {
                inner.cancel(session, &rpc.params["requestId"]);
            }
            return Some(Response::empty(202));
        }
        let fault = inner.hit(&rpc, Realm::Sse);
        let response = match &fault {
            // The answer never comes; the POST itself is taken.
            Some(Fault::InitializeSilent) => return Some(Response::empty(202)),
            Some(Fault::Gateway(status)) => spoil::gateway(*status),
            Some(fault) => match spoil::instead(fault, &rpc, &shared.elsewhere) {
                Some(response) => return Some(response),
                None => Response::empty(202),
            },
            None => Response::empty(202),
        };
        let wire = inner.sessions.get(session)?.wire.clone()?;
        // A client with so many calls waiting is past help.
        let work = Work::new(inner, session, rpc, fault);
        wire.calls.try_send(work).ok()?;
        Some(response)
    })
}
