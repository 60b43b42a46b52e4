//! Sessions, headers, the standing stream and the goodbye.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use super::server::{EVENTS, Reply, Seen, Server, json as json_reply, open_events, status};
use super::*;
use crate::link::{InboundBody, SideProbe};

fn opened() -> Reply {
    let body = r#"{"id":0,"result":{}}"#;
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s-1";
    Reply::Bytes(format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}"))
}

/// What a friendly server with sessions does.
fn friendly(seen: &Seen) -> Reply {
    match (&*seen.method, seen.rpc()) {
        ("POST", "initialize") => opened(),
        ("POST", "tools/call") => json_reply(r#"{"id":7,"result":1}"#),
        ("POST", "ping") => json_reply(&json!({"id": seen.body["id"], "result": {}}).to_string()),
        ("POST", _) => status("202 Accepted"),
        _ => status("405 Method Not Allowed"),
    }
}

async fn until(server: &Server, method: &str, times: usize) {
    within(async {
        while server.count(method) < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn every_request_carries_what_it_must() {
    let server = Server::start(friendly).await;
    let line = Line::with(&server, |config| {
        let more = [
            ("accept", "text/html"),
            ("MCP-SESSION-ID", "mine"),
            ("last-event-id", "1"),
        ];
        http(config)
            .headers
            .extend(more.map(|(name, value)| (name.to_owned(), Secret::new(value))));
    })
    .await;
    line.shake().await;
    line.link
        .send(json!({"method": "notifications/initialized"}))
        .await
        .unwrap();
    line.ask(7, "tools/call").await.unwrap();
    until(&server, "GET", 1).await;
    within(line.link.close()).await;
    let seen = server.seen();
    let find = |rpc: &str| seen.iter().find(|seen| seen.rpc() == rpc).unwrap();
    for one in &seen {
        assert_eq!(one.header("x-key"), "hidden-value");
        assert!(one.header("user-agent").starts_with("HermesAgent/"));
        assert_eq!(one.header("mcp-name"), "");
        assert_eq!(one.header("last-event-id"), "");
    }
    let check = |one: &Seen, session: &str, version: &str| {
        assert_eq!(one.header("mcp-session-id"), session);
        assert_eq!(one.header("mcp-protocol-version"), version);
    };
    check(find("initialize"), "", "2025-11-25");
    check(find("notifications/initialized"), "s-1", "2025-06-18");
    check(find("tools/call"), "s-1", "2025-06-18");
    assert_eq!(
        find("tools/call").header("accept"),
        "application/json, text/event-stream"
    );
    let last = seen.last().unwrap();
    assert_eq!(last.method, "DELETE");
    check(last, "s-1", "2025-06-18");
}

#[tokio::test]
async fn the_modern_era_has_headers_instead_of_sessions() {
    let server = Server::start(friendly).await;
    let line = Line::with(&server, |config| {
        let version = Secret::new("2099-01-01");
        http(config)
            .headers
            .insert("mcp-Protocol-version".to_owned(), version);
    })
    .await;
    line.link.agreed(&modern());
    line.ask(7, "tools/call").await.unwrap();
    within(line.link.close()).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].header("mcp-method"), "tools/call");
    assert_eq!(seen[0].header("mcp-name"), "thing");
    assert_eq!(seen[0].header("mcp-protocol-version"), "2099-01-01");
    assert_eq!(seen[0].header("mcp-session-id"), "");
}

#[tokio::test]
async fn a_lost_session_is_seen_and_not_taken_leave_of() {
    let server = Server::start(|seen| match seen.rpc() {
        "tools/call" => status("404 Not Found"),
        _ => friendly(seen),
    })
    .await;
    let line = Line::to(&server).await;
    line.shake().await;
    assert_eq!(line.class().await, Class::SessionLost);
    within(line.link.close()).await;
    assert_eq!(server.count("DELETE"), 0);
}

#[tokio::test]
async fn a_server_without_a_standing_stream_is_fine() {
    for answer in ["405 Method Not Allowed", "404 Not Found", "400 Bad Request"] {
        let server = Server::start(move |seen| match &*seen.method {
            "GET" => status(answer),
            _ => friendly(seen),
        })
        .await;
        let line = Line::to(&server).await;
        line.shake().await;
        until(&server, "GET", 1).await;
        line.ask(7, "tools/call").await.unwrap();
        let closed = tokio::time::timeout(Duration::from_millis(300), line.link.closed()).await;
        assert!(closed.is_err(), "{answer}");
        assert_eq!(server.count("GET"), 1, "{answer}");
    }
}

#[tokio::test]
async fn the_standing_stream_speaks_and_comes_back() {
    let times = AtomicUsize::new(0);
    let note = "id: 5\ndata: {\"method\":\"notifications/tools/list_changed\"}\n\n";
    let server = Server::start(move |seen| match &*seen.method {
        "GET" if times.fetch_add(1, Ordering::Relaxed) == 0 => {
            Reply::Last(format!("{EVENTS}{note}"))
        }
        "GET" => open_events(note),
        _ => friendly(seen),
    })
    .await;
    let mut line = Line::to(&server).await;
    line.shake().await;
    for _ in 0..2 {
        let inbound = within(line.inbox.recv()).await.unwrap();
        assert_eq!(inbound.origin, None);
        assert!(matches!(inbound.body, InboundBody::Notification { .. }));
    }
    let seen = server.seen();
    let gets: Vec<_> = seen.iter().filter(|seen| seen.method == "GET").collect();
    assert_eq!(gets[0].header("last-event-id"), "");
    assert_eq!(gets[1].header("last-event-id"), "5");
    assert_eq!(gets[1].header("mcp-session-id"), "s-1");
    // Closing ends the stream, and with it the connection the server holds.
    within(line.link.close()).await;
    assert_eq!(within(line.link.closed()).await.class, Class::Cut);
}

#[tokio::test]
async fn a_call_waits_until_the_server_can_ask_back() {
    let is_open = Arc::new(AtomicBool::new(false));
    let opens = is_open.clone();
    let server = Server::start(move |seen| match (&*seen.method, seen.rpc()) {
        ("GET", _) => {
            let opens = opens.clone();
            Reply::Custom(Box::new(move |mut stream| {
                Box::pin(async move {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    opens.store(true, Ordering::Relaxed);
                    stream.write_all(EVENTS.as_bytes()).await.unwrap();
                    std::future::pending::<()>().await;
                })
            }))
        }
        (_, "tools/call") => {
            let is_open = is_open.load(Ordering::Relaxed);
            json_reply(&json!({"id": 7, "result": is_open}).to_string())
        }
        _ => friendly(seen),
    })
    .await;
    let line = Line::to(&server).await;
    line.shake().await;
    assert_eq!(line.ask(7, "tools/call").await.unwrap(), true);
}

#[tokio::test]
async fn a_call_does_not_wait_for_ever_for_the_standing_stream() {
    let server = Server::start(move |seen| match &*seen.method {
        "GET" => Reply::Custom(Box::new(|stream| {
            Box::pin(async move {
                std::future::pending::<()>().await;
                drop(stream);
            })
        })),
        _ => friendly(seen),
    })
    .await;
    let line = Line::to(&server).await;
    line.shake().await;
    let began = std::time::Instant::now();
    line.ask(7, "tools/call").await.unwrap();
    assert!(began.elapsed() >= timing().standing_wait);
}

#[tokio::test]
async fn a_session_forgotten_on_the_standing_stream_is_lost() {
    let was_open = AtomicBool::new(false);
    let server = Server::start(move |seen| match &*seen.method {
        "GET" if was_open.swap(true, Ordering::Relaxed) => status("404 Not Found"),
        "GET" => Reply::Last(EVENTS.to_owned()),
        _ => friendly(seen),
    })
    .await;
    let line = Line::to(&server).await;
    line.shake().await;
    assert_eq!(within(line.link.closed()).await.class, Class::SessionLost);
    within(line.link.close()).await;
    assert_eq!(server.count("DELETE"), 0);
}

#[tokio::test]
async fn an_accepted_request_may_be_answered_on_the_standing_stream() {
    let asked = Arc::new(Notify::new());
    let wait = asked.clone();
    let server = Server::start(move |seen| match (&*seen.method, seen.rpc()) {
        ("GET", _) => {
            let asked = wait.clone();
            Reply::Custom(Box::new(move |mut stream| {
                Box::pin(async move {
                    let hello = "data: {\"method\":\"notifications/hello\"}\n\n";
                    stream
                        .write_all(format!("{EVENTS}{hello}").as_bytes())
                        .await
                        .unwrap();
                    asked.notified().await;
                    let answer = "data: {\"id\":7,\"result\":1}\n\n";
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    std::future::pending::<()>().await;
                })
            }))
        }
        (_, "tools/call") => {
            wait.notify_one();
            status("202 Accepted")
        }
        (_, "prompts/list") => status("202 Accepted"),
        _ => friendly(seen),
    })
    .await;
    let mut line = Line::to(&server).await;
    line.shake().await;
    within(line.inbox.recv()).await.unwrap();
    assert_eq!(line.ask(7, "tools/call").await.unwrap(), 1);
    let began = std::time::Instant::now();
    let failure = line.ask(8, "prompts/list").await.unwrap_err();
    assert_eq!(failure.class, Class::Protocol);
    assert!(began.elapsed() >= timing().late_answer);
}

#[tokio::test]
async fn closing_ends_what_is_under_way() {
    let server = Server::start(|seen| match seen.rpc() {
        "tools/call" => Reply::Custom(Box::new(|_stream| Box::pin(std::future::pending()))),
        _ => friendly(seen),
    })
    .await;
    let line = Line::to(&server).await;
    let close = async {
        until(&server, "POST", 1).await;
        line.link.close().await;
    };
    let (outcome, ()) = within(futures::future::join(line.ask(7, "tools/call"), close)).await;
    assert_eq!(outcome.unwrap_err().class, Class::Cut);
}

#[tokio::test]
async fn dropping_a_link_ends_its_stream() {
    let (told, mut hung_up) = mpsc::channel(1);
    let server = Server::start(move |seen| match &*seen.method {
        "GET" => {
            let told = told.clone();
            Reply::Custom(Box::new(move |mut stream| {
                Box::pin(async move {
                    use tokio::io::AsyncReadExt;
                    stream.write_all(EVENTS.as_bytes()).await.unwrap();
                    let _ = stream.read(&mut [0; 1]).await;
                    told.send(()).await.unwrap();
                })
            }))
        }
        _ => friendly(seen),
    })
    .await;
    let line = Line::to(&server).await;
    line.shake().await;
    until(&server, "GET", 1).await;
    drop(line);
    within(hung_up.recv()).await.unwrap();
}

#[tokio::test]
async fn a_side_probe_tells_how_the_server_is() {
    let check = async |probe: SideProbe, script: fn(&Seen) -> Reply| {
        let server = Server::start(script).await;
        let line = Line::to(&server).await;
        line.shake().await;
        assert_eq!(within(line.link.side_probe()).await, probe);
        let seen = server.seen();
        let ping = seen.iter().find(|seen| seen.rpc() == "ping").unwrap();
        assert_eq!(ping.header("mcp-session-id"), "s-1");
    };
    check(SideProbe::Alive, friendly).await;
    check(SideProbe::Alive, |seen| match seen.rpc() {
        "ping" => json_reply(r#"{"id":null,"error":{"code":-32601,"message":"Method not found"}}"#),
        _ => friendly(seen),
    })
    .await;
    check(SideProbe::SessionLost, |seen| match seen.rpc() {
        "ping" => status("404 Not Found"),
        _ => friendly(seen),
    })
    .await;
    check(SideProbe::Inconclusive, |seen| match seen.rpc() {
        "ping" => status("500 Oops"),
        _ => friendly(seen),
    })
    .await;
    check(SideProbe::Unreachable, |seen| match seen.rpc() {
        "ping" => Reply::Reset(String::new()),
        _ => friendly(seen),
    })
    .await;
    let server = Server::start(friendly).await;
    let line = Line::to(&server).await;
    line.shake().await;
    drop(server);
    assert_eq!(within(line.link.side_probe()).await, SideProbe::Unreachable);
}

#[tokio::test]
async fn a_modern_side_probe_discovers() {
    let server =
        Server::start(|seen| json_reply(&json!({"id": seen.body["id"], "result": {}}).to_string()))
            .await;
    let line = Line::to(&server).await;
    line.link.agreed(&modern());
    assert_eq!(within(line.link.side_probe()).await, SideProbe::Alive);
    let seen = server.seen();
    assert_eq!(seen[0].rpc(), "server/discover");
    assert_eq!(seen[0].header("mcp-method"), "server/discover");
    let version = &seen[0].body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    assert_eq!(version, "2026-07-28");
}
