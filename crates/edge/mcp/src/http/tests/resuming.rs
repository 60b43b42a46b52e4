//! Streams that are cut and taken up again.

use std::sync::atomic::{AtomicUsize, Ordering};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::server::{EVENTS, Reply, Seen, Server, events, status};
use super::*;

const RESULT: &str = "id: 9\ndata: {\"id\":7,\"result\":1}\n\n";

fn is_get(seen: &Seen) -> bool {
    seen.method == "GET"
}

#[tokio::test]
async fn a_cut_stream_is_resumed_where_it_was_cut() {
    let note = r#"{"method":"notifications/progress","params":{}}"#;
    let first = format!("{EVENTS}id: 1\nretry: 10\ndata: {note}\n\nid: 2\ndata: {{\"id\":7,\"res");
    let server = Server::start(move |seen| match is_get(seen) {
        false => Reply::Last(first.clone()),
        true => events(RESULT),
    })
    .await;
    let mut line = Line::to(&server).await;
    line.link.agreed(&legacy("2025-11-25"));
    assert_eq!(line.ask(7, "tools/call").await.unwrap(), json!(1));
    assert_eq!(line.inbox.try_recv().unwrap().origin, Some(7));
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].header("last-event-id"), "1");
    assert_eq!(seen[1].header("accept"), "text/event-stream");
    assert_eq!(seen[1].header("mcp-protocol-version"), "2025-11-25");
}

#[tokio::test]
async fn a_server_that_wants_to_be_polled_is_polled() {
    let polls = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        let poll = polls.fetch_add(1, Ordering::Relaxed);
        match poll < 6 {
            // Only an id and a time to wait, then the stream is closed, properly.
            true => events(&format!("id: {poll}\nretry: 5\ndata:\n\n")),
            false => {
                assert_eq!(seen.header("last-event-id"), "5");
                events(RESULT)
            }
        }
    })
    .await;
    let line = Line::to(&server).await;
    assert_eq!(line.ask(7, "tools/call").await.unwrap(), json!(1));
    assert_eq!(server.count("GET"), 6);
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_was_cut() {
    let begun = || Reply::Last(format!("{EVENTS}id: 1\nretry: 1\ndata:\n\n: more"));
    let check = async |class: Class, gets: usize, reply: fn() -> Reply| {
        let server = Server::start(move |seen| match is_get(seen) {
            false => begun(),
            true => reply(),
        })
        .await;
        let line = Line::to(&server).await;
        let failure = line.failure().await;
        assert_eq!(
            (failure.class, server.count("GET")),
            (class, gets),
            "{}",
            failure.message
        );
        assert_eq!(server.count("POST"), 1);
    };
    // The request was sent: that the session is gone now does not mean that nothing was done.
    check(Class::Cut, 1, || status("404 Not Found")).await;
    check(Class::Cut, 1, || status("405 Method Not Allowed")).await;
    check(Class::Cut, 3, || status("503 Busy")).await;
    check(Class::Cut, 3, || Reply::Reset(String::new())).await;
    // Streams that end properly but bring nothing are not waited for either.
    check(Class::Protocol, 3, || Reply::Last(EVENTS.to_owned())).await;
}

#[tokio::test]
async fn without_ids_or_in_the_modern_era_nothing_is_resumed() {
    let check = async |text: &'static str, protocol: Protocol| {
        let server = Server::start(move |_| Reply::Last(format!("{EVENTS}{text}"))).await;
        let line = Line::to(&server).await;
        line.link.agreed(&protocol);
        assert_eq!(line.class().await, Class::Cut);
        assert_eq!(server.seen().len(), 1);
    };
    check("data: {\"id\"", legacy("2025-11-25")).await;
    check("id: 1\ndata:\n\ndata: {\"id\"", modern()).await;
}
