//! Silence, cancelling, and deadlines.

use std::time::{Duration, Instant};

use futures::StreamExt;
use hermes_testkit::FaultProxy;
use hermes_types::{Finish, ModelClient, ModelErrorKind as Kind, ModelEvent, Scope};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{Talk, client, collect, hi, proxy, quick, route};

const SHORT: Duration = Duration::from_millis(150);

fn impatient() -> hermes_model::Timing {
    hermes_model::Timing {
        stale: Some(SHORT),
        ..quick()
    }
}

#[tokio::test]
async fn silence_is_noticed() {
    let script = json!([
        {"text": "never", "stall_after_chunks": 1},
        {"text": "never", "delay_ms": 60_000},
        {"text": "Hello world", "chunk": 6, "stall_after_chunks": 3},
    ]);
    let mut timing = impatient();
    timing.read = Some(SHORT);
    let talk = Talk::new(script, |server| route(&server.url()), timing);
    let outcome = talk.hi().await;
    assert_eq!(outcome.reply().finish, Finish::Dropped);
    assert_eq!(outcome.content(), "Hello world");
    assert_eq!(outcome.retries().len(), 2);
    assert!(outcome.retries()[0].reason.contains("nothing came for"));
}

#[tokio::test]
async fn comments_keep_a_connection_but_are_no_answer() {
    let talk = Talk::new(
        json!([{"raw_sse": [": a\n\n", ": b\n\n", ": c\n\n", ": d\n\n", ": e\n\n", ": f\n\n", ": g\n\n", ": h\n\n"],
            "between_ms": 40, "repeat": true}]),
        |server| route(&server.url()),
        impatient(),
    );
    talk.hi()
        .await
        .check_error(Kind::Timeout, &["nothing came for"]);
}

#[tokio::test]
async fn a_slow_stream_is_not_silence() {
    let talk = Talk::new(
        json!([{"text": "abcdefgh", "chunk": 1, "between_ms": 40}]),
        |server| route(&server.url()),
        impatient(),
    );
    assert_eq!(talk.hi().await.content(), "abcdefgh");
}

#[tokio::test]
async fn a_deadline_ends_it() {
    let talk = Talk::chat(json!([{"text": "never", "stall_after_chunks": 1}]));
    let scope = Scope::new("test".into()).within(SHORT);
    let outcome = collect(&talk.client, hi(), scope).await;
    outcome.check_error(Kind::Timeout, &["in time"]);
    assert_eq!(outcome.retries().len(), 0);
}

#[tokio::test]
async fn cancelling_closes_the_connection_at_once() {
    let talk = Talk::chat(json!([{"text": "Hello world", "chunk": 6, "stall_after_chunks": 3}]));
    let proxy = proxy(&talk);
    let client = client(route(&format!("http://{}", proxy.addr())), quick());
    let scope = Scope::new("test".into());
    let mut stream = client.stream(hi(), scope.clone());
    let first = stream.next().await.unwrap().unwrap();
    assert!(matches!(first, ModelEvent::Text(_)));

    let began = Instant::now();
    scope.cancel.cancel();
    let end = loop {
        match stream.next().await.unwrap() {
            Ok(ModelEvent::Text(_)) => {}
            other => break other,
        }
    };
    assert_eq!(end.unwrap_err().kind, Kind::Cancelled);
    wait_closed(&proxy, began).await;
    assert_eq!(talk.server.calls().len(), 1);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection_too() {
    let talk = Talk::chat(json!([{"text": "Hello", "stall_after_chunks": 2}]));
    let proxy = proxy(&talk);
    let client = client(route(&format!("http://{}", proxy.addr())), quick());
    let mut stream = client.stream(hi(), Scope::new("test".into()));
    stream.next().await.unwrap().unwrap();
    let began = Instant::now();
    drop(stream);
    wait_closed(&proxy, began).await;
}

#[tokio::test]
async fn a_pause_before_a_retry_can_be_cancelled() {
    let talk = Talk::chat(json!([{"status": 429, "headers": {"retry-after": "60"}}]));
    let scope = Scope::new("test".into());
    let mut stream = talk.client.stream(hi(), scope.clone());
    assert!(matches!(
        stream.next().await,
        Some(Ok(ModelEvent::Retrying(_)))
    ));
    scope.cancel.cancel();
    let end = stream.next().await.unwrap();
    assert_eq!(end.unwrap_err().kind, Kind::Cancelled);
}

#[tokio::test]
async fn cancelled_before_it_began_sends_nothing() {
    let talk = Talk::chat(json!([]));
    let scope = Scope::new("test".into());
    scope.cancel.cancel();
    let outcome = collect(&talk.client, hi(), scope).await;
    outcome.check_error(Kind::Cancelled, &[]);
    assert_eq!(talk.server.calls().len(), 0);
}

async fn wait_closed(proxy: &FaultProxy, began: Instant) {
    while proxy.open() > 0 {
        assert!(began.elapsed() < Duration::from_millis(300), "still open");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
