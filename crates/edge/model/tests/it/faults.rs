//! What goes wrong, in chat completions.

use hermes_testkit::Fault;
use hermes_types::{Finish, ModelErrorKind as Kind, Scope};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use crate::support::{Talk, client, collect, hi, proxy, quick, route, with_tools};

/// A status is final: one request, and an error that says what and where.
async fn check_final(step: Value, kind: Kind, parts: &[&str]) {
    let talk = Talk::chat(json!([step]));
    let outcome = talk.hi().await;
    outcome.check_error(kind, parts);
    outcome.check_error(kind, &["custom", "mock-1", &talk.server.url()]);
    assert_eq!(talk.server.calls().len(), 1, "{step}");
}

#[tokio::test]
async fn errors_that_trying_again_will_not_change() {
    check_final(
        json!({"status": 401}),
        Kind::Auth,
        &["401", "hermes config set model.api_key"],
    )
    .await;
    check_final(json!({"status": 402}), Kind::Billing, &["402", "credit"]).await;
    check_final(json!({"status": 403}), Kind::Auth, &["403"]).await;
    check_final(
        json!({"status": 404}),
        Kind::ModelNotFound,
        &["404", "hermes model"],
    )
    .await;
    check_final(json!({"status": 413}), Kind::PayloadTooLarge, &["413"]).await;
    check_final(
        json!({"status": 400, "body": {"error": {"message": "maximum context length is 70000 tokens"}}}),
        Kind::ContextOverflow { limit: Some(70_000) },
        &["70000"],
    )
    .await;
    check_final(
        json!({"status": 400, "body": {"error": {"message": "Only 'text' content type is supported."}}}),
        Kind::ImagesRejected,
        &[],
    )
    .await;
    check_final(
        json!({"status": 403, "body": {"error": {"message": "bad key sk-test-1234567"}}}),
        Kind::Auth,
        &["bad key ***"],
    )
    .await;
    check_final(
        json!({"status": 307, "headers": {"location": "https://elsewhere.test/v1"}, "body": ""}),
        Kind::Format,
        &["redirected to https://elsewhere.test"],
    )
    .await;
}

/// A fault is passing: the same request again, and the answer.
async fn check_retried(step: Value, reason: &str) {
    let talk = Talk::chat(json!([step, {"text": "Hi"}]));
    let outcome = talk.hi().await;
    assert_eq!(
        (outcome.shown(), outcome.content()),
        ("Hi".to_owned(), "Hi".to_owned()),
        "{step}"
    );
    let retries = outcome.retries();
    assert_eq!(retries.len(), 1, "{step}");
    assert_eq!((retries[0].attempt, retries[0].of), (1, 3));
    assert!(retries[0].reason.contains(reason), "{}", retries[0].reason);
    let bodies = talk.bodies();
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn faults_that_pass() {
    for status in [429, 500, 502, 503, 529] {
        check_retried(json!({"status": status}), &status.to_string()).await;
    }
    check_retried(
        json!({"status": 502, "body": "<html><head><title>Bad gateway</title></head></html>"}),
        "a web page: Bad gateway",
    )
    .await;
    check_retried(
        json!({"status": 200, "body": "<html><title>Sign in</title></html>"}),
        "a web page: Sign in",
    )
    .await;
    let wrapped = json!({"error": {"message": "Provider returned error", "code": 429,
        "metadata": {"raw": "{\"error\":{\"message\":\"busy\"}}"}}});
    check_retried(
        json!({"status": 200, "body": wrapped}),
        "Provider returned error: busy",
    )
    .await;
    check_retried(
        json!({"raw_sse": [wrapped]}),
        "Provider returned error: busy",
    )
    .await;
    check_retried(
        json!({"raw_sse": ["data: {\"choices\": [{\"del\n\n"]}),
        "unreadable",
    )
    .await;
    check_retried(json!({"raw_sse": ["data: [DONE]\n\n"]}), "no choices").await;
    check_retried(
        json!({"raw_sse": [{"choices": []}, "data: [DONE]\n\n"]}),
        "no choices",
    )
    .await;
    check_retried(json!({"text": "never", "cut_after_chunks": 1}), "").await;
    check_retried(json!({"text": "never", "cut_after_bytes": 0}), "").await;
    check_retried(
        json!({"text": "never", "end_after_chunks": 1}),
        "before the reply",
    )
    .await;
    check_retried(
        json!({"reasoning": "hm", "text": "never", "cut_after_chunks": 2}),
        "",
    )
    .await;
}

#[tokio::test]
async fn lines_that_are_no_events_are_ignored() {
    let talk = Talk::chat(json!([
        {"text": ["a", "b"], "garbage": {"after_chunks": 2, "text": ": ping\n\nnoise\nfoo: bar\n\n"}}
    ]));
    assert_eq!(talk.hi().await.content(), "ab");
}

#[tokio::test]
async fn attempts_are_counted() {
    let talk = Talk::chat(json!([{"status": 500, "repeat": true}]));
    let outcome = talk.hi().await;
    outcome.check_error(Kind::Server, &["500"]);
    assert_eq!((talk.server.calls().len(), outcome.retries().len()), (3, 2));

    let mut once = quick();
    once.attempts = 1;
    let talk = Talk::new(
        json!([{"text": "x", "cut_after_chunks": 0, "repeat": true}]),
        |server| route(&server.url()),
        once,
    );
    talk.hi().await.check_error(Kind::Transport, &[]);
    assert_eq!(talk.server.calls().len(), 1);
}

#[tokio::test]
async fn a_server_may_say_not_to_retry() {
    let talk = Talk::chat(json!([{"status": 500, "headers": {"x-should-retry": "false"}}]));
    talk.hi().await.check_error(Kind::Server, &[]);
    assert_eq!(talk.server.calls().len(), 1);
}

#[tokio::test]
async fn text_that_was_seen_is_the_answer_when_the_connection_breaks() {
    for end in [
        json!({"cut_after_chunks": 3}),
        json!({"end_after_chunks": 3}),
    ] {
        let mut step = json!({"text": "Hello world", "chunk": 6});
        step.as_object_mut()
            .unwrap()
            .extend(end.as_object().unwrap().clone());
        let talk = Talk::chat(json!([step]));
        let outcome = talk.hi().await;
        assert_eq!(
            (outcome.shown(), outcome.content()),
            ("Hello world".into(), "Hello world".into())
        );
        assert_eq!(outcome.reply().finish, Finish::Dropped);
        assert_eq!(talk.server.calls().len(), 1);
    }
    let talk = Talk::chat(json!([{"text": "Hello", "stream_error": "overloaded"}]));
    assert_eq!(talk.hi().await.reply().finish, Finish::Dropped);
}

#[tokio::test]
async fn a_call_that_was_being_written_is_asked_for_again() {
    let cut = json!({"text": "Let me.", "tool_calls": [{"name": "f", "arguments": {"a": "x"}}],
        "chunk": 2, "cut_after_chunks": 8});
    let talk = Talk::chat(json!([cut, {"tool_calls": [{"name": "f", "arguments": {"a": "x"}}]}]));
    let outcome = talk.hi().await;
    assert_eq!(outcome.calls(), [("f", r#"{"a":"x"}"#)]);
    assert_eq!(outcome.retries().len(), 1);

    let talk = Talk::chat(json!([cut, cut, cut]));
    let outcome = talk.hi().await;
    assert_eq!(outcome.reply().finish, Finish::Dropped);
    assert_eq!(outcome.calls(), []);
    assert!(
        outcome
            .content()
            .starts_with("Let me.\n\n[The connection broke"),
        "{}",
        outcome.content()
    );
    assert!(outcome.content().contains("f. The call was not executed"));
}

#[tokio::test]
async fn a_schema_that_makes_no_grammar_is_sent_plainer() {
    let talk = Talk::chat(json!([
        {"status": 400, "body": {"error": {"message": "error parsing grammar: pattern"}}},
        {"text": "ok"},
        {"text": "ok again"},
    ]));
    assert_eq!(talk.ask(with_tools(hi())).await.content(), "ok");
    assert_eq!(talk.ask(with_tools(hi())).await.content(), "ok again");
    let patterns: Vec<_> = talk
        .bodies()
        .iter()
        .map(|body| {
            let command = &body["tools"][0]["function"]["parameters"]["properties"]["command"];
            command.get("pattern").is_some()
        })
        .collect();
    assert_eq!(patterns, [true, false, false]);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let talk = Talk::chat(json!([
        {"status": 429, "headers": {"retry-after": "1"}},
        {"text": "Hi"},
    ]));
    let outcome = talk.hi().await;
    assert_eq!(outcome.content(), "Hi");
    assert_eq!(outcome.retries()[0].wait, Duration::from_secs(1));
    let at: Vec<_> = talk.server.calls().iter().map(|call| call.at_ms).collect();
    assert!(at[1] - at[0] >= 1_000, "{at:?}");
}

#[tokio::test]
async fn a_retry_inherits_the_deadline() {
    let talk = Talk::chat(json!([{"status": 429, "headers": {"retry-after": "60"}}]));
    let scope = Scope::new("test".into()).within(Duration::from_secs(5));
    let began = Instant::now();
    let outcome = collect(&talk.client, hi(), scope).await;
    outcome.check_error(Kind::RateLimit, &["429"]);
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(outcome.error().retry_after, Some(Duration::from_secs(60)));
}

#[tokio::test]
async fn a_server_that_is_away_comes_back() {
    let talk = Talk::chat(json!([{"text": "Hi"}]));
    let proxy = proxy(&talk);
    let client = client(route(&format!("http://{}", proxy.addr())), quick());
    proxy.set(Fault::Refuse);
    let outcome = collect(&client, hi(), Scope::new("test".into())).await;
    outcome.check_error(Kind::Transport, &["Is the server running there?"]);
    assert_eq!(outcome.retries().len(), 2);
    proxy.set(Fault::Reset);
    let outcome = collect(&client, hi(), Scope::new("test".into())).await;
    outcome.check_error(Kind::Transport, &[]);
    proxy.set(Fault::Pass);
    let outcome = collect(&client, hi(), Scope::new("test".into())).await;
    assert_eq!(outcome.content(), "Hi");
}
