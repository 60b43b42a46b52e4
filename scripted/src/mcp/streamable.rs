//! Streamable HTTP at `/mcp`: sessions for those who `initialize`, none for those who don't.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::call::Caller;
use super::fault::{Fault, Form, Realm, Wrong};
use super::http::{Conn, End, Request, Response, Served};
use super::oauth;
use super::offer;
use super::options::{Era, Options};
use super::rpc::{
    Incoming, META_CAPABILITIES, META_SUBSCRIPTION, META_VERSION, MODERN, Rpc, stray_error,
};
use super::session::{Open, Out, Owner, line};
use super::spoil;
use super::state::{Inner, Shared};
use super::text::Text;

const SESSION: &str = "mcp-session-id";

pub(crate) async fn serve(shared: &Arc<Shared>, conn: &mut Conn, request: &Request) -> Served {
    if let Some(refusal) = oauth::refusal(shared, request) {
        return Ok(conn.send(&refusal).await?);
    }
    let session = request.header(SESSION);
    match request.method.as_str() {
        "POST" => post(shared, conn, request).await,
        "GET" => get(shared, conn, request).await,
        "DELETE" => {
            let deleted = session.is_some_and(|id| {
                shared.with(|inner| {
                    let deleted = inner.sessions.delete(id);
                    inner.counters.sessions_deleted += u64::from(deleted);
                    deleted
                })
            });
            Ok(conn
                .send(&Response::empty(if deleted { 200 } else { 404 }))
                .await?)
        }
        _ => {
            let allowed = Response::empty(405).with("allow", "GET, POST, DELETE");
            Ok(conn.send(&allowed).await?)
        }
    }
}

async fn post(shared: &Arc<Shared>, conn: &mut Conn, request: &Request) -> Served {
    let rpc = match Incoming::read(&request.body) {
        None => {
            let error = stray_error(-32700, "Parse error");
            return Ok(conn.send(&Response::json(400, &error)).await?);
        }
        Some(Incoming::Answer { id, body }) => {
            shared.with(|inner| inner.answered(&id, body));
            return Ok(conn.send(&Response::empty(202)).await?);
        }
        Some(Incoming::Call(rpc)) => rpc,
    };
    let options = shared.with(|inner| {
        inner.count_call(&rpc);
        inner.options.clone()
    });
    let modern = rpc.is_modern() || request.header("mcp-protocol-version") == Some(MODERN);
    let refusal = if modern && options.era != Era::Legacy {
        modern_refusal(&options, request, &rpc)
    } else if rpc.method == "initialize" && options.era != Era::Modern {
        return initialize(shared, conn, &rpc, &options).await;
    } else {
        legacy_refusal(shared, &options, request, &rpc)
    };
    if let Some(refusal) = refusal {
        return Ok(conn.send(&refusal).await?);
    }
    let scope = request.header(SESSION).unwrap_or_default();
    let Some(id) = &rpc.id else {
        if rpc.method == "notifications/cancelled" {
            shared.with(|inner| inner.cancel(scope, &rpc.params["requestId"]));
        }
        return Ok(conn.send(&Response::empty(202)).await?);
    };
    if rpc.method == "subscriptions/listen" && modern {
        return listen(shared, conn, &rpc, id).await;
    }
    call(shared, conn, &rpc, scope).await
}

async fn initialize(shared: &Arc<Shared>, conn: &mut Conn, rpc: &Rpc, options: &Options) -> Served {
    if shared.with(|inner| inner.hit(rpc, Realm::Http)).is_some() {
        return Err(End::Silent);
    }
    let session = shared.with(|inner| {
        inner.counters.sessions_created += 1;
        inner.turn += 1;
        let instance = inner.turn % 2;
        inner.sessions.create(instance, None)
    });
    let asked = rpc.params["protocolVersion"].as_str().unwrap_or_default();
    let answer = rpc.ok(&offer::initialize(options, asked));
    let response = Response::json(200, &answer).with(SESSION, session);
    Ok(conn.send(&response).await?)
}

/// What is wrong with a request of the stateless protocol.
fn modern_refusal(options: &Options, request: &Request, rpc: &Rpc) -> Option<Response> {
    rpc.id.as_ref()?;
    let (version, capabilities) = (rpc.meta(META_VERSION), rpc.meta(META_CAPABILITIES));
    let (Some(version), Some(_)) = (version, capabilities) else {
        let message = "params._meta lacks the version or the capabilities";
        return Some(Response::json(400, &rpc.error(-32602, message)));
    };
    let header = |name, value: Option<&str>| value.is_some() && request.header(name) != value;
    if header("mcp-protocol-version", version.as_str())
        || header("mcp-method", Some(&rpc.method))
        || header("mcp-name", rpc.name())
    {
        let message = "the headers don't say what the body says";
        return Some(Response::json(400, &rpc.error(-32020, message)));
    }
    if version != MODERN {
        return Some(unsupported(options, rpc, version));
    }
    None
}

fn unsupported(options: &Options, rpc: &Rpc, asked: &Value) -> Response {
    let mut error = rpc.error(-32022, "Unsupported protocol version");
    error["error"]["data"] = json!({"supported": offer::versions(options), "requested": asked});
    Response::json(400, &error)
}

/// What is wrong with a request that belongs to a session.
fn legacy_refusal(
    shared: &Shared,
    options: &Options,
    request: &Request,
    rpc: &Rpc,
) -> Option<Response> {
    if options.era == Era::Modern {
        return Some(unsupported(options, rpc, &rpc.params["protocolVersion"]));
    }
    let Some(id) = request.header(SESSION) else {
        let error = stray_error(-32600, "Bad Request: Missing session ID");
        return Some(Response::json(400, &error));
    };
    shared
        .with(|inner| (!meet(inner, id, rpc.is_operation())).then(|| spoil::lost(inner.lost, rpc)))
}

/// Whether the session is there, for this request.
pub(crate) fn meet(inner: &mut Inner, id: &str, operation: bool) -> bool {
    let known = find(inner, id, operation);
    inner.counters.sessions_missed += u64::from(!known);
    known
}

fn find(inner: &mut Inner, id: &str, operation: bool) -> bool {
    let idle = inner.options.session_idle();
    let Some(session) = inner.sessions.get(id) else {
        return false;
    };
    if idle.is_some_and(|idle| session.used.elapsed() > idle) {
        inner.sessions.delete(id);
        return false;
    }
    session.used = Instant::now();
    let instance = session.instance;
    if !operation {
        return true;
    }
    let lost = inner
        .take(|fault| fault.is_session_loss() || matches!(fault, Fault::FreshSessionsLost))
        .is_some();
    if lost {
        inner.sessions.forget(id);
        return false;
    }
    if inner.take(|fault| *fault == Fault::TwoInstances).is_some() {
        inner.turn += 1;
        return inner.turn % 2 == instance;
    }
    true
}

async fn call(shared: &Arc<Shared>, conn: &mut Conn, rpc: &Rpc, scope: &str) -> Served {
    let fault = shared.with(|inner| inner.hit(rpc, Realm::Http));
    match &fault {
        Some(Fault::InitializeSilent) => return Err(End::Silent),
        Some(fault) => {
            if let Some(response) = spoil::instead(fault, rpc, &shared.elsewhere) {
                return Ok(conn.send(&response).await?);
            }
        }
        None => {}
    }
    let mut streaming = false;
    let answer = made(shared, conn, rpc, scope, fault.as_ref(), &mut streaming).await?;
    shared.with(|inner| {
        if let Some(session) = inner.sessions.get(scope) {
            session.used = Instant::now();
        }
    });
    let text = spoil::spoiled(fault.as_ref(), rpc, answer);
    let stream = streaming || shared.with(|inner| inner.options.stream_answers);
    match &fault {
        Some(fault) if !streaming => deliver(shared, conn, fault, text, stream).await,
        _ if stream => {
            if !streaming {
                conn.start_events(None).await?;
            }
            conn.chunk(&text.event()).await?;
            Ok(conn.end_chunks().await?)
        }
        _ => Ok(conn.send(&Response::new(200, JSON, text)).await?),
    }
}

const JSON: &str = "application/json";

/// The answer, with what belongs to it sent before.
async fn made(
    shared: &Arc<Shared>,
    conn: &mut Conn,
    rpc: &Rpc,
    scope: &str,
    fault: Option<&Fault>,
    streaming: &mut bool,
) -> Result<Value, End> {
    if let Some(answer) = fault.and_then(|fault| spoil::other_answer(fault, rpc)) {
        return Ok(answer);
    }
    let (messages, mut inbox) = mpsc::channel(64);
    let caller = Caller {
        shared: shared.clone(),
        messages,
        env: Arc::new(BTreeMap::new()),
    };
    let id = rpc.id.clone().unwrap_or_default();
    let mut cancelled = shared.with(|inner| inner.cancellable(scope, &id));
    let work = async {
        if fault == Some(&Fault::Held) {
            std::future::pending::<()>().await;
        }
        caller.answer(rpc).await
    };
    tokio::pin!(work);
    let answer = loop {
        let message = tokio::select! {
            biased;
            Some(message) = inbox.recv() => message,
            answer = &mut work => break answer,
            Ok(()) = &mut cancelled => break rpc.error(0, "Request cancelled"),
            () = conn.closed() => {
                shared.with(|inner| inner.counters.abandoned += 1);
                return Err(End::Closed);
            }
        };
        say(conn, &message, streaming).await?;
    };
    // What the call said with its last breath.
    while let Ok(message) = inbox.try_recv() {
        say(conn, &message, streaming).await?;
    }
    Ok(answer)
}

/// A message on the stream of a call, which begins with the first.
async fn say(conn: &mut Conn, message: &Value, streaming: &mut bool) -> Served {
    if !*streaming {
        conn.start_events(None).await?;
        *streaming = true;
    }
    Ok(conn.chunk(&Text::json(message).event()).await?)
}

/// Sends an answer the way a fault says.
async fn deliver(
    shared: &Shared,
    conn: &mut Conn,
    fault: &Fault,
    text: Text,
    stream: bool,
) -> Served {
    let json = Response::new(200, JSON, text.clone());
    match fault {
        Fault::ResetBefore => return Err(End::Reset),
        Fault::ResetWithin => {
            conn.send_half(&json).await?;
            return Err(End::Reset);
        }
        Fault::Gateway(status) => conn.send(&spoil::gateway(*status)).await?,
        Fault::SlowLoris(pause) => conn.trickle(&json, *pause).await?,
        Fault::CutResumable(retry) => {
            let event = shared.with(|inner| {
                let event = inner.fresh("event");
                inner.stash(event.clone(), text.clone());
                event
            });
            return cut(conn, &text.event(), Some((event, *retry))).await;
        }
        Fault::Cut => return cut(conn, &text.event(), None).await,
        Fault::WrongAnswer(Wrong::Accepted) => conn.send(&Response::empty(202)).await?,
        _ if stream || matches!(fault, Fault::TooLarge(_, Form::Sse)) => {
            conn.start_events(None).await?;
            conn.chunk(&text.event()).await?;
            conn.end_chunks().await?;
        }
        _ => conn.send(&json).await?,
    }
    Ok(())
}

/// Half of an event, and the connection closed without the end of the stream.
async fn cut(conn: &mut Conn, event: &Text, resume: Option<(String, Duration)>) -> Served {
    conn.start_events(None).await?;
    if let Some((id, retry)) = resume {
        let priming = format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis());
        conn.chunk_bytes(Bytes::from(priming)).await?;
    }
    conn.chunk_bytes(event.half()).await?;
    Err(End::Closed)
}

/// The stream of a session, or the rest of one that was cut.
async fn get(shared: &Arc<Shared>, conn: &mut Conn, request: &Request) -> Served {
    let options = shared.with(|inner| inner.options.clone());
    let offered = options.get_stream && options.era != Era::Modern;
    let wants = request
        .header("accept")
        .is_some_and(|accept| accept.contains("text/event-stream"));
    let Some(id) = request.header(SESSION).filter(|_| offered && wants) else {
        return Ok(conn.send(&Response::empty(405)).await?);
    };
    if !shared.with(|inner| meet(inner, id, false)) {
        return Ok(conn.send(&Response::empty(404)).await?);
    }
    let resumed = request.header("last-event-id");
    let rest = resumed.and_then(|event| {
        shared.with(|inner| {
            inner.counters.resumed += 1;
            inner.unstash(event)
        })
    });
    conn.start_events(Some(id)).await?;
    if let Some(rest) = rest {
        conn.chunk(&rest.event()).await?;
        return Ok(conn.end_chunks().await?);
    }
    let (outbox, inbox) = line();
    let _open = Open::new(shared, outbox, Owner::Session);
    speak(conn, inbox).await
}

/// The stream of a subscription.
async fn listen(shared: &Arc<Shared>, conn: &mut Conn, rpc: &Rpc, id: &Value) -> Served {
    conn.start_events(None).await?;
    conn.chunk(&Text::json(&acknowledged(rpc, id)).event())
        .await?;
    let (outbox, inbox) = line();
    let _open = Open::new(shared, outbox, Owner::Subscription(id.clone()));
    speak(conn, inbox).await
}

/// The first message of a subscription: everything asked for is granted.
pub(crate) fn acknowledged(rpc: &Rpc, id: &Value) -> Value {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {
            "notifications": rpc.params["notifications"],
            "_meta": {META_SUBSCRIPTION: id},
        },
    })
}

/// Sends what a line carries until the client has enough.
pub(crate) async fn speak(conn: &mut Conn, mut inbox: mpsc::Receiver<Out>) -> Served {
    loop {
        let out = tokio::select! {
            out = inbox.recv() => out,
            () = conn.closed() => return Err(End::Closed),
        };
        match out {
            Some(Out::Say(text)) => conn.chunk(&text.event()).await?,
            Some(Out::Trickle(text, pause)) => {
                for byte in text.event().pieces().flatten() {
                    tokio::time::sleep(pause).await;
                    conn.chunk_bytes(Bytes::copy_from_slice(&[byte])).await?;
                }
            }
            Some(Out::Half(text)) => conn.chunk_bytes(text.event().half()).await?,
            Some(Out::Reset) => return Err(End::Reset),
            // Children aren't told anything on a stream.
            Some(Out::Order(_)) => {}
            Some(Out::Close) | None => return Err(End::Closed),
        }
    }
}
