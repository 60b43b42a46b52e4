//! Messages that are too large, and those that are just large.

use tokio::io::AsyncWriteExt;

use super::server::{EVENTS, Reply, Server, answer, json as json_reply};
use super::*;

/// Sends `head` and then data until the client has had enough; says how much it took.
fn endless(head: String, told: mpsc::Sender<usize>) -> Reply {
    Reply::Custom(Box::new(move |mut stream| {
        Box::pin(async move {
            let piece = [b'x'; 64 << 10];
            let mut sent = 0;
            stream.write_all(head.as_bytes()).await.unwrap();
            while stream.write_all(&piece).await.is_ok() {
                sent += piece.len();
            }
            told.send(sent).await.unwrap();
        })
    }))
}

#[tokio::test]
async fn what_is_too_large_is_not_read() {
    let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let heads = [
        format!("{json}Content-Length: 209715200\r\n\r\n"),
        format!("{json}Connection: close\r\n\r\n\""),
        format!("{EVENTS}data: \""),
        format!("{EVENTS}data: 1\ndata: \""),
    ];
    for head in heads {
        let (told, mut taken) = mpsc::channel(1);
        let server = Server::start(move |_| endless(head.clone(), told.clone())).await;
        let line = Line::with(&server, |config| config.max_response_bytes = 1 << 20).await;
        let failure = line.failure().await;
        assert_eq!(failure.class, Class::Protocol);
        assert!(failure.message.contains("too large"), "{failure}");
        // Beyond the limit there is only what lay in the buffers of the sockets.
        assert!(within(taken.recv()).await.unwrap() < 16 << 20);
    }
}

#[tokio::test]
async fn an_error_page_is_read_only_at_its_beginning() {
    let (told, mut taken) = mpsc::channel(1);
    let head = "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\n\r\n";
    let server = Server::start(move |_| endless(head.to_owned(), told.clone())).await;
    assert_eq!(Line::to(&server).await.class().await, Class::App);
    assert!(within(taken.recv()).await.unwrap() < 16 << 20);
}

#[tokio::test]
async fn an_error_page_that_never_ends_is_not_waited_for() {
    let server = Server::start(|_| {
        Reply::Custom(Box::new(|mut stream| {
            Box::pin(async move {
                let text = "HTTP/1.1 503 Busy\r\nContent-Length: 50\r\n\r\nSession expired";
                stream.write_all(text.as_bytes()).await.unwrap();
                std::future::pending::<()>().await;
            })
        }))
    })
    .await;
    assert_eq!(Line::to(&server).await.class().await, Class::SessionLost);
}

#[tokio::test]
async fn large_answers_below_the_limit_come_through() {
    let text = "é".repeat(2 << 20);
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{text}"}}"#);
    let in_events = answer(
        "200 OK",
        "text/event-stream",
        &format!("id: 1\ndata: {body}\n\n"),
    );
    for events in [false, true] {
        let (body, in_events) = (body.clone(), in_events.clone());
        let server = Server::start(move |_| match events {
            true => Reply::Bytes(in_events.clone()),
            false => json_reply(&body),
        })
        .await;
        let result = Line::to(&server).await.ask(7, "tools/call").await.unwrap();
        assert!(result.as_str() == Some(&text));
    }
}
