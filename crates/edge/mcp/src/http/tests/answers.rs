//! What one exchange can bring, and the class of each of its endings.

use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::server::{EVENTS, Reply, Server, answer, events, json as json_reply, status};
use super::*;

async fn check(reply: impl Fn() -> Reply + Send + Sync + 'static, class: Class, words: &str) {
    let server = Server::start(move |_| reply()).await;
    let failure = Line::to(&server).await.failure().await;
    assert_eq!(failure.class, class, "{failure}");
    assert!(failure.to_string().contains(words), "{failure}");
    assert!(!failure.to_string().contains("hidden-value"), "{failure}");
    assert_eq!(server.count("POST"), 1);
}

#[tokio::test]
async fn answers_are_found_in_json_and_in_events() {
    let result = r#"{"jsonrpc":"2.0","id":7,"result":{"ok":1}}"#;
    let in_text = r#"{"jsonrpc":"2.0","id":"7","result":{"ok":1}}"#;
    let noise = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"p":1}}"#;
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#;
    let mixed = format!(
        ": hi\n\nevent: ping\ndata: now\n\ndata: {noise}\n\nevent: message\ndata: {question}\n\ndata: {result}\n\n"
    );
    let unfinished = format!("data: {result}");
    let batch = format!("[{noise},{question},{result}]");
    let replies = [
        answer("200 OK", "application/json; charset=utf-8", result),
        answer("200 OK", "application/json", in_text),
        answer("200 OK", "text/event-stream", &mixed),
        answer("200 OK", "text/event-stream", &unfinished),
        answer("200 OK", "application/json", &batch),
    ];
    for reply in replies {
        let has_noise = reply.contains("progress");
        let server = Server::start(move |_| Reply::Bytes(reply.clone())).await;
        let mut line = Line::to(&server).await;
        assert_eq!(line.ask(7, "tools/call").await.unwrap(), json!({"ok": 1}));
        if has_noise {
            let said = [
                line.inbox.try_recv().unwrap(),
                line.inbox.try_recv().unwrap(),
            ];
            assert_eq!(said.map(|inbound| inbound.origin), [Some(7), Some(7)]);
        }
        assert!(line.inbox.try_recv().is_err());
    }
}

#[tokio::test]
async fn errors_belong_to_the_exchange_they_come_in() {
    let error = |id: &str, text: &str| {
        format!(r#"{{"jsonrpc":"2.0"{id},"error":{{"code":-32602,"message":"{text}"}}}}"#)
    };
    for id in ["", r#","id":null"#, r#","id":7"#, r#","id":99"#] {
        let lost = error(id, "Invalid or expired session");
        let refused = error(id, "no such tool");
        let (in_events, in_json) = (format!("data: {lost}\n\n"), lost.clone());
        check(
            move || json_reply(&in_json),
            Class::SessionLost,
            "expired session",
        )
        .await;
        check(
            move || events(&in_events),
            Class::SessionLost,
            "expired session",
        )
        .await;
        check(move || json_reply(&refused), Class::App, "no such tool").await;
        let body = error(id, "Bad Request: No valid session ID provided");
        check(
            move || Reply::Bytes(answer("400 Bad Request", "application/json", &body)),
            Class::SessionLost,
            "HTTP 400",
        )
        .await;
    }
    check(
        || events("data: {\"error\":\"Session not found\"}\n\n"),
        Class::SessionLost,
        "not found",
    )
    .await;
}

#[tokio::test]
async fn what_is_no_answer_is_said_so() {
    let foreign = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;
    check(
        move || json_reply(foreign),
        Class::Protocol,
        "another request",
    )
    .await;
    check(
        || json_reply(r#"{"jsonrpc":"2.0","result":{}}"#),
        Class::Protocol,
        "another request",
    )
    .await;
    check(
        move || events(&format!("data: {foreign}\n\n")),
        Class::Protocol,
        "another request",
    )
    .await;
    check(
        || json_reply("{\"jsonrpc\": oops"),
        Class::Protocol,
        "not JSON",
    )
    .await;
    check(|| json_reply(""), Class::Protocol, "without an answer").await;
    check(|| json_reply("{}"), Class::Protocol, "without an answer").await;
    check(|| events("data: oops\n\n"), Class::Protocol, "not JSON").await;
    check(
        || events(": nothing\n\n"),
        Class::Protocol,
        "without an answer",
    )
    .await;
    for quiet in ["202 Accepted", "204 No Content"] {
        check(move || status(quiet), Class::Protocol, "without an answer").await;
    }
    let page = || Reply::Bytes(answer("200 OK", "text/html", "<html>Please log in</html>"));
    check(
        page,
        Class::Protocol,
        "text/html, not JSON: <html>Please log in",
    )
    .await;
}

#[tokio::test]
async fn statuses_have_their_classes() {
    let with = |status: &'static str, header: &'static str| {
        move || {
            Reply::Bytes(format!(
                "HTTP/1.1 {status}\r\n{header}\r\nContent-Length: 0\r\n\r\n"
            ))
        }
    };
    let wait = Some(Duration::from_secs(2));
    check(
        with("429 Slow", "Retry-After: 2"),
        Class::Throttled(wait),
        "HTTP 429",
    )
    .await;
    check(
        with("503 Busy", "Retry-After: 2"),
        Class::Throttled(wait),
        "HTTP 503",
    )
    .await;
    check(with("502 Bad", "X: y"), Class::Gateway, "HTTP 502").await;
    check(with("500 Oops", "X: y"), Class::App, "HTTP 500").await;
    check(with("401 Who", "X: y"), Class::Auth, "HTTP 401").await;
    // No session was named, so none can be lost.
    check(with("404 Nowhere", "X: y"), Class::App, "HTTP 404").await;
}

#[tokio::test]
async fn refused_credentials_are_told_with_the_challenge() {
    let server = Server::start(|_| {
        let head = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"x\"";
        Reply::Bytes(format!("{head}\r\nContent-Length: 0\r\n\r\n"))
    })
    .await;
    let dial = build(&config(&server.url("/mcp")), Arc::new(OneToken)).unwrap();
    let failure = Line::dial(&dial).await.unwrap().failure().await;
    assert_eq!(failure.class, Class::Auth);
    let refused = failure.refused.unwrap();
    assert_eq!(refused.challenge.as_deref(), Some("Bearer realm=\"x\""));
    assert_eq!(refused.token, Some(Secret::new("token-1")));
    assert_eq!(server.seen()[0].header("authorization"), "Bearer token-1");
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_is_a_cut() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\"";
    check(|| Reply::Reset(String::new()), Class::Cut, "Connection").await;
    check(|| Reply::Last(String::new()), Class::Cut, "Connection").await;
    check(
        move || Reply::Reset(head.to_owned()),
        Class::Cut,
        "Connection",
    )
    .await;
    check(
        move || Reply::Last(head.to_owned()),
        Class::Cut,
        "Connection",
    )
    .await;
    let half = format!("{EVENTS}data: {{\"jsonrpc\":\"2.0\",\"id\":7,\"res");
    check(
        move || Reply::Last(half.clone()),
        Class::Cut,
        "middle of an event",
    )
    .await;
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n";
    check(
        move || Reply::Last(chunked.to_owned()),
        Class::Cut,
        "Connection",
    )
    .await;
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let check = async |url: String, kind: &str| {
        let dial = build(
            &config(&url),
            Arc::new(NoTokens {
                headers: Vec::new(),
            }),
        )
        .unwrap();
        let failure = Line::dial(&dial).await.unwrap().failure().await;
        assert_eq!(
            (failure.class, &*failure.kind),
            (Class::NotSent, kind),
            "{}",
            failure.message
        );
    };
    check(
        format!("http://127.0.0.1:{port}/?key=hidden-value"),
        "Connection refused",
    )
    .await;
    let plain = Server::start(|_| status("200 OK")).await;
    check(plain.url("/").replace("http:", "https:"), "TLS error").await;
}

#[tokio::test]
async fn an_idle_connection_that_died_is_not_used_again() {
    let (told, mut closed) = mpsc::channel(1);
    let server = Server::start(move |_| {
        let told = told.clone();
        Reply::Custom(Box::new(move |mut stream| {
            Box::pin(async move {
                // Nothing in the head says that the connection ends here.
                let text = answer("200 OK", "application/json", r#"{"id":7,"result":1}"#);
                stream.write_all(text.as_bytes()).await.unwrap();
                drop(stream);
                told.send(()).await.unwrap();
            })
        }))
    })
    .await;
    let line = Line::to(&server).await;
    for _ in 0..20 {
        assert_eq!(line.ask(7, "tools/call").await.unwrap(), 1);
        within(closed.recv()).await.unwrap();
        // The end of the connection is there; the runtime has to look once.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(server.count("POST"), 20);
}

#[tokio::test]
async fn a_trickle_is_not_silence_but_silence_ends() {
    let server = Server::start(|_| {
        Reply::Custom(Box::new(|mut stream| {
            Box::pin(async move {
                let text = answer("200 OK", "application/json", r#"{"id":7,"result":1}"#);
                for byte in text.bytes() {
                    stream.write_all(&[byte]).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            })
        }))
    })
    .await;
    assert_eq!(
        Line::to(&server).await.ask(7, "tools/call").await.unwrap(),
        1
    );

    let silent = Server::start(|_| {
        Reply::Custom(Box::new(|mut stream| {
            Box::pin(async move {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
                stream.write_all(head.as_bytes()).await.unwrap();
                std::future::pending::<()>().await;
            })
        }))
    })
    .await;
    let mut config = config(&silent.url("/"));
    config.timeout = Duration::from_millis(50);
    config.max_timeout = Duration::from_millis(50);
    let mut timing = timing();
    timing.body_silence = Duration::from_millis(50);
    let auth = Arc::new(NoTokens {
        headers: Vec::new(),
    });
    let dial = HttpDial::new(&config, http(&mut config.clone()), timing, auth).unwrap();
    let failure = Line::dial(&dial).await.unwrap().failure().await;
    assert_eq!(
        (failure.class, &*failure.kind),
        (Class::Cut, "Connection silent")
    );
}

#[tokio::test]
async fn giving_up_closes_the_exchange() {
    let (told, mut hung_up) = mpsc::channel(1);
    let server = Server::start(move |_| {
        let told = told.clone();
        Reply::Custom(Box::new(move |mut stream| {
            Box::pin(async move {
                use tokio::io::AsyncReadExt;
                told.send("asked").await.unwrap();
                let _ = stream.read(&mut [0; 1]).await;
                told.send("gone").await.unwrap();
            })
        }))
    })
    .await;
    let line = Line::to(&server).await;
    tokio::select! {
        _ = line.ask(7, "tools/call") => panic!("nobody answered"),
        asked = hung_up.recv() => assert_eq!(asked, Some("asked")),
    }
    assert_eq!(within(hung_up.recv()).await, Some("gone"));
}
