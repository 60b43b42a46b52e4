//! The whole client in Gemini's own dialect.

use std::time::Duration;

use hermes_model::Mode;
use hermes_types::{Effort, Finish, Message, ModelErrorKind as Kind, ModelRequest, Usage};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{KEY, Talk, hi, with_tools};

fn talk(script: Value) -> Talk {
    Talk::in_mode(Mode::Gemini, "gemini-3-flash", script)
}

#[tokio::test]
async fn a_plain_answer() {
    let usage = json!({"input": 10, "output": 5, "cache_read": 3, "reasoning": 1});
    let talk = talk(json!([{"text": ["Hello ", "world"], "usage": usage}]));
    let outcome = talk.hi().await;
    assert_eq!(
        (outcome.shown(), outcome.content()),
        ("Hello world".into(), "Hello world".into())
    );
    let usage = Usage {
        input: 10,
        output: 5,
        cache_read: 3,
        cache_write: 0,
        reasoning: 1,
    };
    let reply = outcome.reply();
    assert_eq!((reply.usage, reply.finish), (usage, Finish::Stop));
    let call = &talk.server.calls()[0];
    assert_eq!(
        call.path,
        "/v1/models/gemini-3-flash:streamGenerateContent?alt=sse"
    );
    assert_eq!(call.headers["x-goog-api-key"], KEY);
    assert_eq!(call.headers.get("authorization"), None);
    assert_eq!(
        call.body,
        json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "systemInstruction": {"parts": [{"text": "You are Hermes."}]}})
    );
}

#[tokio::test]
async fn a_tool_round_with_a_signature() {
    let talk = talk(json!([
        {"reasoning": "hm", "text": "Let me.", "tool_calls": [
            {"name": "terminal", "arguments": {"command": "ls"}}, {"name": "terminal"}]},
        {"text": "done"},
    ]));
    let first = talk.ask(with_tools(hi())).await;
    assert_eq!(
        first.calls(),
        [("terminal", r#"{"command":"ls"}"#), ("terminal", "{}")]
    );
    assert_eq!(first.reply().finish, Finish::ToolCalls);
    let said = first.reply().message.clone();
    assert_eq!(said.reasoning.as_deref(), Some("hm"));
    let ids: Vec<_> = said.tool_calls.iter().map(|call| call.id.clone()).collect();
    assert!(ids[0].starts_with("call_") && ids[0] != ids[1], "{ids:?}");

    let messages = vec![
        Message::user("hi"),
        said,
        Message::tool(&ids[0], "terminal", "a b"),
        Message::tool(&ids[1], "terminal", "{\"exit_code\": 0}"),
    ];
    let request = ModelRequest {
        messages,
        effort: Effort::XHigh,
        temperature: Some(0.5),
        ..hi()
    };
    assert_eq!(talk.ask(with_tools(request)).await.content(), "done");
    let body = &talk.bodies()[1];
    let call = |args: Value| json!({"name": "terminal", "args": args});
    let result =
        |response: Value| json!({"functionResponse": {"name": "terminal", "response": response}});
    assert_eq!(
        body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"text": "Let me."},
                {"functionCall": call(json!({"command": "ls"})), "thoughtSignature": "c2lnbmF0dXJlLTE="},
                {"functionCall": call(json!({}))}]},
            {"role": "user", "parts": [
                result(json!({"output": "a b"})), result(json!({"exit_code": 0}))]},
        ])
    );
    assert_eq!(
        body["generationConfig"],
        json!({"temperature": 0.5,
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"}})
    );
}

#[tokio::test]
async fn endings() {
    for (finish, expected) in [
        ("length", Finish::Length),
        ("content_filter", Finish::ContentFilter),
        ("RECITATION", Finish::ContentFilter),
        ("OTHER", Finish::Stop),
    ] {
        let talk = talk(json!([{"text": "a", "finish": finish}]));
        assert_eq!(talk.hi().await.reply().finish, expected, "{finish}");
    }
}

#[tokio::test]
async fn faults() {
    for step in [
        json!({"status": 503}),
        json!({"text": "never", "cut_after_chunks": 0}),
        json!({"tool_calls": [{"name": "f"}], "end_after_chunks": 1}),
        json!({"raw_sse": [{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]}),
        json!({"raw_sse": ["data: nonsense\n\n"]}),
    ] {
        let talk = talk(json!([step, {"text": "Hi"}]));
        let outcome = talk.hi().await;
        assert_eq!(
            (outcome.content(), outcome.retries().len()),
            ("Hi".to_owned(), 1),
            "{step}"
        );
    }
    let wrong_key = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": "API key not valid. Please pass a valid API key."}});
    let talk = talk(json!([{"status": 400, "body": wrong_key}]));
    talk.hi()
        .await
        .check_error(Kind::Auth, &["API key not valid"]);
}

#[tokio::test]
async fn a_used_up_free_tier_is_explained_at_once() {
    let quota = |id: &str| {
        json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota. * Quota exceeded for metric: \
            generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}]}})
    };
    let daily = quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
    let refused = talk(json!([{"status": 429, "body": daily}]));
    let outcome = refused.hi().await;
    outcome.check_error(Kind::Billing, &["free tier", "https://aistudio.google.com"]);
    assert_eq!(outcome.retries().len(), 0);

    // A minute's allowance comes back, and the server says when.
    let per_minute = quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
    let busy = talk(json!([{"status": 429, "body": per_minute}, {"text": "ok"}]));
    let outcome = busy.hi().await;
    assert_eq!(outcome.content(), "ok");
    assert_eq!(outcome.retries()[0].wait, Duration::from_millis(10));
}

#[tokio::test]
async fn a_whole_reply() {
    let talk = talk(json!([
        {"status": 400, "body": {"error": {"message": "stream is not supported"}}},
        {"reasoning": "hm", "text": "whole"},
    ]));
    let outcome = talk.hi().await;
    assert_eq!(outcome.content(), "whole");
    assert_eq!(outcome.reply().message.reasoning.as_deref(), Some("hm"));
    assert_eq!(
        talk.server.calls()[1].path,
        "/v1/models/gemini-3-flash:generateContent"
    );
}
