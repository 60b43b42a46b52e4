//! The older transport with its one long stream.

use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::broadcast;

use super::server::{EVENTS, Reply, Seen, Server, answer, open_events, status};
use super::*;
use crate::config::HttpFlavour;
use crate::link::SideProbe;

/// A server that answers on the stream what its script says; `END` ends the stream.
async fn server(script: fn(&Seen) -> (Reply, Option<String>)) -> Server {
    let (sender, _) = broadcast::channel::<String>(16);
    Server::start(move |seen| {
        if seen.method == "GET" {
            let mut said = sender.subscribe();
            return Reply::Custom(Box::new(move |mut stream| {
                Box::pin(async move {
                    let hello = format!("{EVENTS}event: endpoint\ndata: /messages?s=1\n\n");
                    stream.write_all(hello.as_bytes()).await.unwrap();
                    while let Ok(text) = said.recv().await
                        && text != "END"
                    {
                        stream
                            .write_all(format!("data: {text}\n\n").as_bytes())
                            .await
                            .unwrap();
                    }
                })
            }));
        }
        let (reply, said) = script(seen);
        if let Some(said) = said {
            sender.send(said).unwrap();
        }
        reply
    })
    .await
}

fn accepted(said: Value) -> (Reply, Option<String>) {
    (status("202 Accepted"), Some(said.to_string()))
}

async fn line(server: &Server) -> Line {
    Line::with(server, |config| http(config).flavour = HttpFlavour::Sse).await
}

#[tokio::test]
async fn answers_come_on_the_stream() {
    let server = server(|seen| match seen.rpc() {
        "tools/call" => accepted(json!({"id": seen.body["id"], "result": 1})),
        "ping" => accepted(json!({"id": "other", "method": "roots/list"})),
        "lost" => accepted(json!({"error": {"code": -32000, "message": "Session expired"}})),
        _ => accepted(json!({"id": null, "error": {"code": -1, "message": "no"}})),
    })
    .await;
    let mut line = line(&server).await;
    let (one, two) = futures::join!(line.ask(7, "tools/call"), line.ask(8, "tools/call"));
    assert_eq!((one.unwrap(), two.unwrap()), (json!(1), json!(1)));
    assert_eq!(within(line.link.side_probe()).await, SideProbe::Alive);
    assert_eq!(within(line.inbox.recv()).await.unwrap().origin, None);
    // An error without an id can only mean the one request that waits.
    assert_eq!(
        line.ask(9, "prompts/list").await.unwrap_err().class,
        Class::App
    );
    let failure = line.ask(10, "server/discover").await.unwrap_err();
    assert_eq!((failure.class, failure.code), (Class::App, Some(-32601)));
    let seen = server.seen();
    assert!(seen.iter().all(|seen| seen.rpc() != "server/discover"));
    assert!(
        seen.iter()
            .all(|seen| seen.header("x-key") == "hidden-value")
    );
    let posts = seen.iter().filter(|seen| seen.method == "POST");
    assert!(
        posts
            .map(|seen| &*seen.path)
            .all(|path| path == "/messages?s=1")
    );
    assert_eq!(
        line.ask(11, "lost").await.unwrap_err().class,
        Class::SessionLost
    );
    assert_eq!(within(line.link.closed()).await.class, Class::SessionLost);
}

#[tokio::test]
async fn the_end_of_the_stream_ends_everything() {
    let server = server(|_| (status("202 Accepted"), Some("END".to_owned()))).await;
    let line = line(&server).await;
    assert_eq!(line.class().await, Class::Cut);
    assert_eq!(within(line.link.closed()).await.class, Class::Cut);
    let posts = server.count("POST");
    assert_eq!(line.class().await, Class::NotSent);
    assert_eq!(server.count("POST"), posts);
}

#[tokio::test]
async fn a_refused_post_is_the_answer() {
    let lost = server(|_| (status("404 Not Found"), None)).await;
    assert_eq!(line(&lost).await.class().await, Class::SessionLost);
    assert_eq!(
        within(line(&lost).await.link.side_probe()).await,
        SideProbe::SessionLost
    );
    let said_so = server(|_| {
        let body = r#"{"error":{"code":-32000,"message":"No valid session ID provided"}}"#;
        (
            Reply::Bytes(answer("200 OK", "application/json", body)),
            None,
        )
    })
    .await;
    assert_eq!(line(&said_so).await.class().await, Class::SessionLost);
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    let server = Server::start(|_| {
        open_events("event: endpoint\ndata: http://elsewhere.invalid/messages\n\n")
    })
    .await;
    let dial = dial(&server, |config| http(config).flavour = HttpFlavour::Sse);
    let failure = within(Line::dial(&dial)).await.err().unwrap();
    assert_eq!(failure.class, Class::Protocol);
    assert!(
        failure.message.contains("http://elsewhere.invalid"),
        "{failure}"
    );
}

#[tokio::test]
async fn the_newer_transport_falls_back_to_the_older() {
    let server = server(|seen| match &*seen.path {
        "/mcp" => (status("405 Method Not Allowed"), None),
        _ => accepted(json!({"id": seen.body["id"], "result": 1})),
    })
    .await;
    let newer = dial(&server, |_| {});
    let refused = Line::dial(&newer).await.unwrap().failure().await;
    assert_eq!(refused.status, Some(405));
    let older = newer.fallback().unwrap();
    let line = within(Line::dial(&*older)).await.unwrap();
    assert_eq!(line.ask(7, "tools/call").await.unwrap(), 1);
    assert!(older.fallback().is_none());
    within(line.link.close()).await;
    assert_eq!(line.class().await, Class::NotSent);
}

#[tokio::test]
async fn a_url_without_such_a_stream_is_said_so() {
    let server = Server::start(|_| Reply::Bytes(answer("200 OK", "text/html", "<html>"))).await;
    let dial = dial(&server, |config| http(config).flavour = HttpFlavour::Sse);
    let failure = within(Line::dial(&dial)).await.err().unwrap();
    assert_eq!(failure.class, Class::Protocol);
    assert!(failure.message.contains("text/html"), "{failure}");
}
