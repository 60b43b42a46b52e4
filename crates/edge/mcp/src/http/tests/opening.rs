//! Bad configuration, the look before the first connection, and redirects.

use pretty_assertions::assert_eq;

use super::server::{Reply, Seen, Server, answer, json as json_reply, status};
use super::*;
use crate::config::{ClientCert, Verify};

fn plain() -> Arc<dyn Authorizer> {
    Arc::new(NoTokens {
        headers: Vec::new(),
    })
}

#[test]
fn what_can_never_work_is_refused_by_name() {
    let check = |change: fn(&mut HttpEndpoint), words: &str| {
        let mut config = config("https://example.invalid/mcp");
        change(http(&mut config));
        let Err(failure) = build(&config, plain()) else {
            panic!("{words} was accepted");
        };
        assert_eq!(failure.class, Class::Setup);
        assert!(failure.message.contains("'box'"), "{failure}");
        assert!(failure.message.contains(words), "{failure}");
        assert!(!failure.message.contains("hidden"), "{failure}");
    };
    check(|it| it.url = "not a url, hidden".to_owned(), "not a URL");
    check(|it| it.url = "ftp://host/".to_owned(), "ftp");
    check(|it| it.url = "http://".to_owned(), "not a URL");
    check(
        |it| it.tls.verify = Verify::Bundle("/nowhere/ca.pem".into()),
        "/nowhere/ca.pem",
    );
    check(
        |it| {
            it.tls.client_cert = Some(ClientCert {
                cert: "/nowhere/me.pem".into(),
                key: None,
            });
        },
        "/nowhere/me.pem",
    );
    check(
        |it| drop(it.headers.insert("a b".to_owned(), Secret::new("x"))),
        "\"a b\"",
    );
    check(
        |it| {
            drop(
                it.headers
                    .insert("X-Bad".to_owned(), Secret::new("hidden\n")),
            )
        },
        "X-Bad",
    );
}

/// Dials with the look, and says what the server saw.
async fn look(
    script: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (Option<Failure>, Vec<String>) {
    let server = Server::start(script).await;
    let dial = dial(&server, |config| http(config).skip_preflight = false);
    let first = within(Line::dial(&dial)).await.err();
    let seen = server
        .seen()
        .iter()
        .map(|seen| seen.method.clone())
        .collect();
    if first.is_none() {
        // Only the first connection looks.
        let before = server.seen().len();
        within(Line::dial(&dial)).await.unwrap();
        assert_eq!(server.seen().len(), before);
    }
    (first, seen)
}

fn page() -> Reply {
    Reply::Bytes(answer("200 OK", "text/html", ""))
}

#[tokio::test]
async fn a_web_page_is_found_out() {
    let (failure, seen) = look(|_| page()).await;
    let failure = failure.unwrap();
    assert_eq!(failure.class, Class::Setup);
    for words in ["'box'", "/mcp", "text/html", "127.0.0.1"] {
        assert!(failure.message.contains(words), "{failure}");
    }
    assert_eq!(seen, ["HEAD", "POST"]);
    let (failure, seen) = look(|seen| match &*seen.method {
        "HEAD" => status("405 Not Allowed"),
        "POST" => Reply::Bytes(answer("405 Not Allowed", "text/html", "<h1>405</h1>")),
        _ => page(),
    })
    .await;
    assert_eq!(failure.unwrap().class, Class::Setup);
    assert_eq!(seen, ["HEAD", "GET", "POST"]);
}

#[tokio::test]
async fn any_doubt_counts_for_the_server() {
    let check = async |methods: &[&str], script: fn(&Seen) -> Reply| {
        let (failure, seen) = look(script).await;
        assert_eq!(failure, None);
        assert_eq!(seen, methods);
    };
    check(&["HEAD"], |_| status("404 Not Found")).await;
    check(&["HEAD"], |_| status("401 Unauthorized")).await;
    check(&["HEAD"], |_| json_reply("")).await;
    check(&["HEAD"], |_| status("200 OK")).await;
    check(&["HEAD", "POST"], |seen| match &*seen.method {
        "POST" => json_reply(r#"{"id":0,"result":{}}"#),
        _ => page(),
    })
    .await;
    check(&["HEAD", "POST"], |seen| match &*seen.method {
        "POST" => status("500 Oops"),
        _ => page(),
    })
    .await;
    // A session that was only opened for the look is closed again.
    check(&["HEAD", "POST", "DELETE"], |seen| match &*seen.method {
        "POST" => {
            let body = r#"{"id":0,"result":{}}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s";
            Reply::Bytes(format!(
                "{head}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ))
        }
        _ => page(),
    })
    .await;
}

#[tokio::test]
async fn who_has_a_token_needs_no_look() {
    let server = Server::start(|_| page()).await;
    let mut config = config(&server.url("/mcp"));
    http(&mut config).skip_preflight = false;
    let dial = build(&config, Arc::new(OneToken)).unwrap();
    within(Line::dial(&dial)).await.unwrap();
    assert_eq!(server.seen().len(), 0);
}

fn redirect(status: &str, to: &str) -> Reply {
    Reply::Bytes(format!(
        "HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
    ))
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed() {
    for code in ["307 Temporary", "308 Permanent"] {
        let server = Server::start(move |seen| match &*seen.path {
            "/mcp" => redirect(code, "/mcp/"),
            _ => json_reply(r#"{"id":7,"result":1}"#),
        })
        .await;
        let line = Line::to(&server).await;
        assert_eq!(line.ask(7, "tools/call").await.unwrap(), 1);
        let last = server.seen().pop().unwrap();
        assert_eq!(
            (&*last.path, last.rpc(), last.header("x-key")),
            ("/mcp/", "tools/call", "hidden-value")
        );
    }
}

#[tokio::test]
async fn other_redirects_are_not() {
    let elsewhere = Server::start(|_| json_reply(r#"{"id":7,"result":1}"#)).await;
    let target = elsewhere.url("/stolen?token=hidden-value");
    let origin = elsewhere.url("");
    for code in [
        "301 Moved",
        "302 Found",
        "303 Other",
        "307 Temporary",
        "308 Permanent",
    ] {
        let target = target.clone();
        let server = Server::start(move |_| redirect(code, &target)).await;
        let failure = Line::to(&server).await.failure().await;
        assert_eq!(failure.class, Class::App);
        assert!(failure.message.contains(&origin), "{failure}");
        assert!(failure.message.contains("no credentials"), "{failure}");
        assert!(!failure.message.contains("hidden"), "{failure}");
    }
    assert_eq!(elsewhere.seen().len(), 0);
    let circle = Server::start(|_| redirect("307 Again", "/mcp")).await;
    assert_eq!(Line::to(&circle).await.class().await, Class::App);
    assert_eq!(circle.seen().len(), 4);
    let lost = Server::start(|_| redirect("302 Found", "/other")).await;
    assert_eq!(Line::to(&lost).await.class().await, Class::App);
    assert_eq!(lost.seen().len(), 1);
}
