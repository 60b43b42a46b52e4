//! What a model says, in chat completions.

use hermes_types::{Finish, Message, ModelEvent, ModelRequest, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{KEY, Talk, hi, with_tools};

#[tokio::test]
async fn a_plain_answer() {
    let talk = Talk::chat(json!([
        {"text": ["Hello ", "world"], "usage": {"input": 100, "output": 5}}
    ]));
    let outcome = talk.hi().await;
    assert_eq!(outcome.shown(), "Hello world");
    assert_eq!(outcome.content(), "Hello world");
    let reply = outcome.reply();
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!((reply.usage.input, reply.usage.output), (100, 5));
    assert_eq!(reply.message.reasoning, None);

    let call = &talk.server.calls()[0];
    assert_eq!(call.path, "/v1/chat/completions");
    assert_eq!(call.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(call.headers["user-agent"], "HermesAgent/test");
    assert_eq!(
        call.body,
        json!({"model": "mock-1", "stream": true, "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "You are Hermes."},
            {"role": "user", "content": "hi"},
        ]})
    );
}

#[tokio::test]
async fn thinking_is_kept_apart() {
    let check = |script: serde_json::Value, shown: &'static str, thought: Option<&'static str>| async move {
        let outcome = Talk::chat(json!([script])).hi().await;
        assert_eq!(outcome.shown(), shown, "{script}");
        assert_eq!(outcome.content(), shown, "{script}");
        assert_eq!(
            outcome.reply().message.reasoning.as_deref(),
            thought,
            "{script}"
        );
        assert_eq!(
            outcome.reply().message.reasoning_content.as_deref(),
            thought,
            "{script}"
        );
    };
    check(
        json!({"text": ["<thi", "nk>secret</th", "ink>", "Hi"]}),
        "Hi",
        Some("secret"),
    )
    .await;
    check(
        json!({"text": "Use the <think> tag."}),
        "Use the <think> tag.",
        None,
    )
    .await;
    check(
        json!({"reasoning": ["a", "b"], "text": "Hi"}),
        "Hi",
        Some("ab"),
    )
    .await;
    check(json!({"text": "<think>only</think>"}), "", Some("only")).await;
    check(json!({"text": "<think>", "chunk": 1}), "", None).await;
}

#[tokio::test]
async fn tool_calls_are_put_together() {
    let check = |calls: serde_json::Value, expected: Vec<(&'static str, &'static str)>| async move {
        let talk = Talk::chat(json!([{"text": "Let me see.", "tool_calls": calls, "chunk": 3}]));
        let outcome = talk.hi().await;
        assert_eq!(outcome.calls(), expected, "{calls}");
        assert_eq!(outcome.reply().finish, Finish::ToolCalls);
        assert_eq!(outcome.content(), "Let me see.");
        let announced = outcome.events.iter().filter_map(|event| match event {
            ModelEvent::ToolCall(name) => Some(name.as_str()),
            _ => None,
        });
        let names: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
        assert_eq!(announced.collect::<Vec<_>>(), names, "{calls}");
    };
    let (f, g) = (("f", r#"{"a":"x"}"#), ("g", r#"{"b":"y"}"#));
    let args = (json!({"a": "x"}), json!({"b": "y"}));
    check(
        json!([{"name": "f", "arguments": args.0}, {"name": "g", "arguments": args.1}]),
        vec![f, g],
    )
    .await;
    check(
        json!([{"name": "f", "arguments": args.0, "index": 0},
            {"name": "g", "arguments": args.1, "index": 0}]),
        vec![f, g],
    )
    .await;
    check(
        json!([{"name": "f", "arguments": args.0, "resend_name": true}]),
        vec![f],
    )
    .await;
    check(
        json!([{"name": "f", "arguments": args.0, "whole": true}]),
        vec![f],
    )
    .await;
    check(
        json!([{"name": "f", "arguments": "{\"a\": oops"}]),
        vec![("f", "{\"a\": oops")],
    )
    .await;
}

#[tokio::test]
async fn a_call_without_an_id_gets_one_made_from_itself() {
    let step = json!({"tool_calls": [{"name": "f", "arguments": "{}", "no_id": true}]});
    let talk = Talk::chat(json!([step, step]));
    let first = talk.hi().await;
    let call = &first.reply().message.tool_calls[0];
    assert_eq!(call.id, "call_b73104963ffd");
    assert_eq!(call.extra["call_id"], "call_b73104963ffd");
    assert_eq!(call.extra["response_item_id"], "fc_b73104963ffd");
    assert_eq!(talk.hi().await.reply().message, first.reply().message);
}

#[tokio::test]
async fn what_is_ours_stays_here() {
    let talk = Talk::chat(json!([
        {"reasoning": "hm", "tool_calls": [{"name": "terminal", "id": "c1", "arguments": "{\"b\": 1, \"a\": {\"d\": 2, \"c\": 3}}"}]},
        {"text": "done"},
    ]));
    let mut messages = vec![Message::user("go")];
    let first = talk.hi().await;
    let mut said = first.reply().message.clone();
    said.extra
        .insert("_thinking_prefill".to_owned(), json!(true));
    said.codex_reasoning_items = Some(json!([1]));
    messages.extend([said, Message::tool("c1", "terminal", "hi-there")]);
    talk.ask(with_tools(ModelRequest { messages, ..hi() }))
        .await;
    assert_eq!(
        talk.bodies()[1]["messages"],
        json!([
            {"role": "system", "content": "You are Hermes."},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
                "function": {"name": "terminal", "arguments": r#"{"a":{"c":3,"d":2},"b":1}"#}}]},
            {"role": "tool", "content": "hi-there", "name": "terminal", "tool_call_id": "c1"},
        ])
    );
    let tool = &talk.bodies()[1]["tools"][0];
    assert_eq!(tool["type"], "function");
    assert_eq!(tool["function"]["name"], "terminal");
}

#[tokio::test]
async fn endings() {
    let check = |step: serde_json::Value, finish: Finish, content: &'static str| async move {
        let outcome = Talk::chat(json!([step])).hi().await;
        assert_eq!(
            (outcome.reply().finish, &*outcome.content()),
            (finish, content),
            "{step}"
        );
    };
    check(
        json!({"text": "AAA", "finish": "length"}),
        Finish::Length,
        "AAA",
    )
    .await;
    check(
        json!({"text": "no", "finish": "content_filter"}),
        Finish::ContentFilter,
        "no",
    )
    .await;
    check(json!({"text": "yes", "finish": "eos"}), Finish::Stop, "yes").await;
    check(json!({"empty": true}), Finish::Stop, "").await;
    // Without a finish reason, `[DONE]` is enough; without `[DONE]`, a finish reason.
    let said = json!({"choices": [{"delta": {"content": "a"}}]});
    let over = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    check(
        json!({"raw_sse": [said, "data: [DONE]\n\n"]}),
        Finish::Stop,
        "a",
    )
    .await;
    check(json!({"raw_sse": [said, over]}), Finish::Stop, "a").await;
}

#[tokio::test]
async fn usage_may_come_without_choices() {
    let talk = Talk::chat(json!([{"text": "a", "usage":
        {"input": 10, "output": 2, "cache_read": 70, "cache_write": 20, "reasoning": 1}}]));
    let expected = Usage {
        input: 10,
        output: 2,
        cache_read: 70,
        cache_write: 20,
        reasoning: 1,
    };
    assert_eq!(talk.hi().await.reply().usage, expected);
}

#[tokio::test]
async fn odd_content_becomes_text() {
    let talk = Talk::chat(json!([
        {"raw_sse": [{"choices": [{"delta": {"content": {"text": "a"}}}]},
            {"choices": [{"delta": {"content": [{"type": "text", "text": "b"}]}}]}, "data: [DONE]\n\n"]},
        {"status": 200, "body": {"choices": [{"message": {"content": {"odd": 1}}, "finish_reason": "stop"}]}},
    ]));
    assert_eq!(talk.hi().await.content(), "ab");
    assert_eq!(talk.hi().await.content(), "{\"odd\":1}");
}

#[tokio::test]
async fn bytes_may_come_in_any_portion() {
    let text = "Grüße, 世界! <think>hm</think> ok";
    for bytes_per_write in [1, 2, 7] {
        let talk =
            Talk::chat(json!([{"text": text, "chunk": 2, "bytes_per_write": bytes_per_write}]));
        assert_eq!(talk.hi().await.content(), "Grüße, 世界!  ok");
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_asked_for_whole_replies() {
    let talk = Talk::chat(json!([
        {"status": 400, "body": {"error": {"message": "Streaming is not supported here"}}},
        {"text": "whole", "tool_calls": [{"name": "f"}], "reasoning": "hm"},
        {"text": "again"},
    ]));
    let outcome = talk.hi().await;
    assert_eq!(
        (outcome.content().as_str(), outcome.calls()),
        ("whole", vec![("f", "{}")])
    );
    assert_eq!(outcome.reply().message.reasoning.as_deref(), Some("hm"));
    assert_eq!(outcome.retries().len(), 0);
    assert_eq!(talk.hi().await.content(), "again");
    let streamed: Vec<_> = talk
        .bodies()
        .iter()
        .map(|body| body.get("stream").is_some())
        .collect();
    assert_eq!(streamed, [true, false, false]);
}
