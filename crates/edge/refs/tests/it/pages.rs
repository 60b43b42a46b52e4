//! Pages, from a server of our own.

use std::time::Duration;

use hermes_net::guarded::{Guarded, Private, Rules};
use hermes_net::{Options, Reach};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::bench::Bench;

/// Answers every request with this.
async fn serve(answer: Vec<u8>) -> (u16, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            // A client that has read enough goes away.
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, tasks)
}

fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn client(private: Private) -> Guarded {
    let options = Options::new("HermesAgent/test", Duration::from_secs(10), Reach::Loopback);
    let rules = Rules {
        private,
        ..Rules::default()
    };
    Guarded::new(options, rules)
}

#[tokio::test]
async fn a_page_is_attached_as_text() {
    let bench = Bench::new();
    let page = "<html><title>Tea</title><script>x()</script><p>Boil &amp; pour.</p></html>";
    let (port, _tasks) = serve(answer("200 OK", "text/html; charset=utf-8", page)).await;
    let references = bench.references().fetching(client(Private::Allowed));
    let text = format!("how? (@url:http://127.0.0.1:{port}/tea)");
    let sent = references.expand(&text, &bench.project(), 10_000).await;
    assert!(sent.text.starts_with("how? ()\n"), "{}", sent.text);
    assert!(
        sent.text.contains("```\n# Tea\n\nBoil & pour.\n```"),
        "{}",
        sent.text
    );
}

#[tokio::test]
async fn what_cannot_be_had_is_said() {
    let bench = Bench::new();
    let (port, _tasks) = serve(answer("404 Not Found", "text/html", "no")).await;
    let url = format!("http://127.0.0.1:{port}/");
    let check = async |private, url: &str, why: &str| {
        let references = bench.references().fetching(client(private));
        let text = format!("@url:{url}");
        let sent = references.expand(&text, &bench.project(), 10_000).await;
        assert!(sent.warnings[0].contains(why), "{url}: {:?}", sent.warnings);
    };
    check(Private::Allowed, &url, "status 404").await;
    check(Private::Refused, &url, "not public").await;
    check(Private::Allowed, "http://169.254.169.254/", "metadata").await;
    check(
        Private::Allowed,
        "file:///etc/passwd",
        "only http and https",
    )
    .await;
    check(Private::Allowed, "nonsense", "not a URL").await;
}

#[tokio::test]
async fn a_page_without_end_is_cut() {
    let bench = Bench::new();
    let mut endless = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec();
    endless.extend(b"word ".repeat(1 << 20));
    let (port, _tasks) = serve(endless).await;
    let references = bench.references().fetching(client(Private::Allowed));
    let text = format!("@url:http://127.0.0.1:{port}/");
    let sent = references.expand(&text, &bench.project(), 4_000_000).await;
    assert!(sent.text.contains("[… the page goes on after 2.1 MB]"));
    assert!(sent.text.len() < 2_200_000);
}
