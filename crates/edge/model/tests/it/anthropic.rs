//! The other dialect.

use hermes_types::{Effort, Finish, Message, ModelErrorKind as Kind, ModelRequest, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{KEY, Talk, hi, with_tools};

#[tokio::test]
async fn a_plain_answer() {
    let talk = Talk::anthropic(json!([
        {"text": ["Hello ", "world"], "usage": {"input": 10, "output": 5, "cache_read": 3, "cache_write": 2}}
    ]));
    let outcome = talk.hi().await;
    assert_eq!(
        (outcome.shown(), outcome.content()),
        ("Hello world".into(), "Hello world".into())
    );
    let usage = Usage {
        input: 10,
        output: 5,
        cache_read: 3,
        cache_write: 2,
        reasoning: 0,
    };
    assert_eq!(
        (outcome.reply().usage, outcome.reply().finish),
        (usage, Finish::Stop)
    );

    let call = &talk.server.calls()[0];
    assert_eq!(call.path, "/anthropic/v1/messages");
    assert_eq!(call.headers["x-api-key"], KEY);
    assert_eq!(call.headers.get("authorization"), None);
    assert_eq!(call.headers["anthropic-version"], "2023-06-01");
    assert_eq!(call.headers["anthropic-beta"], "some-beta");
    let marker = json!({"type": "ephemeral"});
    assert_eq!(
        call.body,
        json!({"model": "claude-sonnet-4-5", "max_tokens": 64_000, "stream": true,
            "system": [{"type": "text", "text": "You are Hermes.", "cache_control": marker}],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "hi", "cache_control": marker}]}]})
    );
}

#[tokio::test]
async fn a_tool_round_with_signed_thinking() {
    let talk = Talk::anthropic(json!([
        {"reasoning": "hm", "text": "Let me.", "tool_calls": [
            {"name": "terminal", "arguments": {"command": "ls"}, "id": "toolu:1"},
            {"name": "terminal", "arguments": {}, "id": "toolu_2"}], "chunk": 3},
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

    let messages = vec![
        Message::user("hi"),
        said,
        Message::tool("toolu:1", "terminal", "a b"),
        Message::tool("toolu_2", "terminal", ""),
    ];
    let effort = Effort::High;
    talk.ask(with_tools(ModelRequest {
        messages,
        effort,
        ..hi()
    }))
    .await;
    let body = &talk.bodies()[1];
    let marker = json!({"type": "ephemeral"});
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "signature-1"},
                {"type": "text", "text": "Let me."},
                {"type": "tool_use", "id": "toolu_1", "name": "terminal", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "toolu_2", "name": "terminal", "input": {},
                    "cache_control": marker}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a b"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "(no output)",
                    "cache_control": marker}]},
        ])
    );
    assert_eq!(body["tools"][0]["cache_control"], marker);
    assert_eq!(
        body["thinking"],
        json!({"type": "enabled", "budget_tokens": 16_000})
    );
    assert_eq!(body["temperature"], json!(1));
}

#[tokio::test]
async fn refused_signatures_and_betas_are_left_out() {
    let talk = Talk::anthropic(json!([
        {"reasoning": "hm", "tool_calls": [{"name": "terminal", "id": "t1"}]},
        {"status": 400, "body": {"error": {"message": "Invalid `signature` in `thinking` block"}}},
        {"status": 400, "body": {"error": {"message": "The long context beta is not yet available"}}},
        {"text": "ok"},
        {"text": "ok again"},
    ]));
    let said = talk.hi().await.reply().message.clone();
    let messages = vec![
        Message::user("hi"),
        said,
        Message::tool("t1", "terminal", "x"),
    ];
    let request = || ModelRequest {
        messages: messages.clone(),
        ..hi()
    };
    let outcome = talk.ask(request()).await;
    assert_eq!(
        (outcome.content(), outcome.retries().len()),
        ("ok".to_owned(), 0)
    );
    talk.ask(request()).await;
    let calls = talk.server.calls();
    let had: Vec<_> = calls[1..]
        .iter()
        .map(|call| {
            let has_thinking = call.body.to_string().contains("signature-1");
            (has_thinking, call.headers.contains_key("anthropic-beta"))
        })
        .collect();
    assert_eq!(
        had,
        [(true, true), (false, true), (false, false), (true, false)]
    );
}

#[tokio::test]
async fn faults() {
    for (status, kind) in [
        (401, Kind::Auth),
        (404, Kind::Unknown),
        (413, Kind::PayloadTooLarge),
    ] {
        let talk = Talk::anthropic(json!([{"status": status, "repeat": true}]));
        talk.hi().await.check_error(kind, &[&status.to_string()]);
    }
    for step in [
        json!({"status": 529}),
        json!({"text": "never", "cut_after_chunks": 2}),
        json!({"text": "never", "end_after_chunks": 1}),
        json!({"raw_sse": ["event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n"]}),
        json!({"raw_sse": ["data: nonsense\n\n"]}),
        json!({"tool_calls": [{"name": "f", "arguments": {"a": "long enough"}}], "chunk": 2, "cut_after_chunks": 6}),
    ] {
        let talk = Talk::anthropic(json!([step, {"text": "Hi"}]));
        let outcome = talk.hi().await;
        assert_eq!(
            (outcome.content(), outcome.retries().len()),
            ("Hi".to_owned(), 1),
            "{step}"
        );
    }
    let talk = Talk::anthropic(json!([{"text": "Hello", "stream_error": "Overloaded"}]));
    let outcome = talk.hi().await;
    assert_eq!(
        (outcome.content(), outcome.reply().finish),
        ("Hello".to_owned(), Finish::Dropped)
    );
}

#[tokio::test]
async fn endings() {
    for (finish, expected) in [
        ("length", Finish::Length),
        ("content_filter", Finish::ContentFilter),
        ("stop", Finish::Stop),
        ("stop_sequence", Finish::Stop),
    ] {
        let talk = Talk::anthropic(json!([{"text": "a", "finish": finish}]));
        assert_eq!(talk.hi().await.reply().finish, expected, "{finish}");
    }
    let talk = Talk::anthropic(json!([{"empty": true}]));
    let outcome = talk.hi().await;
    assert_eq!(
        (outcome.content(), outcome.reply().finish),
        (String::new(), Finish::Stop)
    );
}
