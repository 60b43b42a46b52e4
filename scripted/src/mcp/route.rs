//! Which path is whose.

use std::sync::Arc;

use super::counters::count;
use super::http::{Conn, End, Request, Response, Served};
use super::state::{Shared, seen};
use super::{legacy, oauth, streamable};

/// Serves a connection of a client to its end.
pub(crate) async fn here(shared: &Arc<Shared>, conn: &mut Conn) -> End {
    loop {
        let Some(request) = conn.request().await else {
            return End::Closed;
        };
        note(shared, "here", &request);
        match exchange(shared, conn, &request).await {
            Ok(()) if !request.wants_close() => {}
            Ok(()) => return End::Closed,
            Err(end) => return end,
        }
    }
}

async fn exchange(shared: &Arc<Shared>, conn: &mut Conn, request: &Request) -> Served {
    match (request.method.as_str(), request.path()) {
        (_, "/mcp") => streamable::serve(shared, conn, request).await,
        ("GET", "/sse") => legacy::stream(shared, conn, request).await,
        ("POST", "/messages") => legacy::message(shared, conn, request).await,
        _ => {
            let response = oauth::respond(shared, request);
            let response = response.unwrap_or_else(|| Response::empty(404));
            Ok(conn.send(&response).await?)
        }
    }
}

/// The other origin: it takes down what it gets and has nothing.
pub(crate) async fn elsewhere(shared: &Shared, conn: &mut Conn) {
    while let Some(request) = conn.request().await {
        note(shared, "elsewhere", &request);
        shared.with(|inner| inner.counters.elsewhere += 1);
        if conn.send(&Response::empty(404)).await.is_err() {
            return;
        }
    }
}

fn note(shared: &Shared, place: &'static str, request: &Request) {
    shared.with(|inner| {
        if request.header("authorization").is_some() {
            count(&mut inner.counters.authorized, place);
        }
        inner.record(seen(place, request));
    });
}
