//! The whole client in the dialect of Responses.

use hermes_model::{Mode, Overrides, Quirks, Route, dialect};
use hermes_types::{
    Effort, Finish, Message, ModelErrorKind as Kind, ModelRequest, Models, Purpose, Speed, Usage,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{KEY, Owner, Talk, hi, quick, route, with_tools};

fn talk(script: Value) -> Talk {
    Talk::in_mode(Mode::CodexResponses, "gpt-5.4", script)
}

#[tokio::test]
async fn a_plain_answer() {
    let usage =
        json!({"input": 10, "output": 5, "cache_read": 3, "cache_write": 2, "reasoning": 1});
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
        cache_write: 2,
        reasoning: 1,
    };
    let reply = outcome.reply();
    assert_eq!((reply.usage, reply.finish), (usage, Finish::Stop));
    let call = &talk.server.calls()[0];
    assert_eq!(call.path, "/v1/responses");
    assert_eq!(call.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(call.body["prompt_cache_key"], "test");
    assert_eq!(
        (&call.body["store"], &call.body["stream"]),
        (&json!(false), &json!(true))
    );
}

#[tokio::test]
async fn a_tool_round_with_sealed_thinking() {
    let talk = talk(json!([
        {"reasoning": "hm", "text": "Let me.", "chunk": 3,
            "tool_calls": [{"name": "terminal", "arguments": {"command": "ls"}}]},
        {"text": "done"},
    ]));
    let first = talk.ask(with_tools(hi())).await;
    assert_eq!(first.calls(), [("terminal", r#"{"command":"ls"}"#)]);
    assert_eq!(first.reply().finish, Finish::ToolCalls);
    let said = first.reply().message.clone();
    assert_eq!(said.reasoning.as_deref(), Some("hm"));
    let call = &said.tool_calls[0];
    assert_eq!(
        (&*call.id, &call.extra["response_item_id"]),
        ("call_1_1", &json!("fc_1_2"))
    );

    let result = Message::tool(&call.id, "terminal", "a b");
    let messages = vec![Message::user("hi"), said, result];
    let effort = Effort::XHigh;
    let request = ModelRequest {
        messages,
        effort,
        ..hi()
    };
    assert_eq!(talk.ask(with_tools(request)).await.content(), "done");
    let body = &talk.bodies()[1];
    let text = |text: &str, kind: &str| json!([{"type": kind, "text": text}]);
    assert_eq!(
        body["input"],
        json!([
            {"role": "user", "content": "hi"},
            {"type": "reasoning", "encrypted_content": "sealed-rs_1_0",
                "summary": text("hm", "summary_text")},
            {"type": "message", "role": "assistant", "status": "completed", "id": "msg_1_1",
                "content": text("Let me.", "output_text")},
            {"type": "function_call", "call_id": "call_1_1", "name": "terminal",
                "arguments": r#"{"command":"ls"}"#},
            {"type": "function_call_output", "output": "a b", "call_id": "call_1_1"},
        ])
    );
    assert_eq!(
        body["reasoning"],
        json!({"effort": "xhigh", "summary": "auto"})
    );
    assert_eq!(body["tools"][0]["name"], "terminal");
}

#[test]
fn what_a_request_says_of_its_speed_goes_before_the_settings() {
    let tier = |set: &str, mode: &str, speed| {
        let settings = json!({
            "model": {"default": "gpt-5.4", "provider": "custom", "api_mode": mode,
                "base_url": "https://example.test/v1", "api_key": "sk-test-1234567"},
            "agent": {"service_tier": set},
        });
        let owner = Owner::new(&settings.to_string(), &[]);
        let models = owner.models(&Overrides::default()).unwrap();
        let request = ModelRequest { speed, ..hi() };
        let wire = dialect::encode(&models.route(), &request, &"s".into());
        let can = models.client(&Purpose::Main).unwrap().can_hurry();
        (can, wire.body["service_tier"].as_str().map(str::to_owned))
    };
    let fast = || (true, Some("priority".to_owned()));
    let responses = "codex_responses";
    assert_eq!(tier("", responses, Speed::AsSet), (true, None));
    assert_eq!(tier("", responses, Speed::Fast), fast());
    assert_eq!(tier("fast", responses, Speed::AsSet), fast());
    assert_eq!(tier("priority", responses, Speed::Normal), (true, None));
    assert_eq!(tier("normal", responses, Speed::AsSet), (true, None));
    // Nobody else is told.
    for mode in ["chat_completions", "anthropic_messages"] {
        assert_eq!(tier("fast", mode, Speed::Fast), (false, None), "{mode}");
    }
}

#[tokio::test]
async fn endings() {
    for (step, expected) in [
        (json!({"text": "a", "finish": "length"}), Finish::Length),
        (
            json!({"text": "a", "finish": "content_filter"}),
            Finish::ContentFilter,
        ),
        (
            json!({"text": "a", "finish": "incomplete"}),
            Finish::Incomplete,
        ),
        (json!({"reasoning": "only this"}), Finish::Incomplete),
        (json!({"empty": true}), Finish::Stop),
    ] {
        let talk = talk(json!([step]));
        assert_eq!(talk.hi().await.reply().finish, expected, "{step}");
    }
}

#[tokio::test]
async fn what_a_model_refuses_is_left_out() {
    let refused = |message: &str| json!({"status": 400, "body": {"error": {"message": message}}});
    let talk = talk(json!([
        {"reasoning": "hm", "text": "first"},
        {"status": 400, "body": {"error": {"code": "invalid_encrypted_content",
            "message": "The encrypted content for item rs_1 could not be verified."}}},
        refused("Encrypted content is not supported with this model."),
        {"text": "second"},
        {"text": "third"},
    ]));
    let said = talk.hi().await.reply().message.clone();
    let messages = vec![Message::user("hi"), said, Message::user("on")];
    let request = || ModelRequest {
        messages: messages.clone(),
        ..hi()
    };
    let outcome = talk.ask(request()).await;
    assert_eq!(
        (outcome.content(), outcome.retries().len()),
        ("second".to_owned(), 0)
    );
    talk.ask(request()).await;
    let had: Vec<_> = talk.bodies()[1..]
        .iter()
        .map(|body| {
            (
                body.to_string().contains("sealed"),
                body.get("include").is_some(),
            )
        })
        .collect();
    assert_eq!(
        had,
        [(true, true), (false, true), (false, false), (true, false)]
    );
}

#[tokio::test]
async fn a_temperature_is_left_out_where_it_is_refused() {
    let complaint = "Unsupported parameter: 'temperature' is not supported with this model.";
    let script = json!([
        {"status": 400, "body": {"error": {"message": complaint}}},
        {"text": "ok"},
    ]);
    let talk = Talk::in_mode(Mode::CodexResponses, "some-model", script);
    let request = ModelRequest {
        temperature: Some(0.3),
        ..hi()
    };
    assert_eq!(talk.ask(request).await.content(), "ok");
    let sent: Vec<_> = talk
        .bodies()
        .iter()
        .map(|body| body["temperature"].clone())
        .collect();
    assert_eq!(sent, [json!(0.3), json!(null)]);
}

#[tokio::test]
async fn faults() {
    let broken = [
        json!({"status": 503}),
        json!({"text": "never", "cut_after_chunks": 2}),
        json!({"text": "never", "end_after_chunks": 3}),
        json!({"raw_sse": [{"type": "response.failed", "response": {"status": "failed",
            "error": {"code": "server_error", "message": "An error occurred"}}}]}),
        json!({"raw_sse": [{"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}]}),
        json!({"raw_sse": ["data: nonsense\n\n"]}),
        json!({"tool_calls": [{"name": "f", "arguments": {"a": "b"}}], "cut_after_chunks": 4}),
    ];
    for step in broken {
        let talk = talk(json!([step, {"text": "Hi"}]));
        let outcome = talk.hi().await;
        assert_eq!(
            (outcome.content(), outcome.retries().len()),
            ("Hi".to_owned(), 1),
            "{step}"
        );
    }
    let talk = talk(json!([{"status": 401, "repeat": true}]));
    talk.hi().await.check_error(Kind::Auth, &["401"]);
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_asked_for_all_at_once() {
    let talk = talk(json!([
        {"status": 400, "body": {"error": {"message": "stream is not supported"}}},
        {"reasoning": "hm", "text": "whole", "tool_calls": [{"name": "terminal"}]},
    ]));
    let outcome = talk.ask(with_tools(hi())).await;
    assert_eq!(
        (outcome.content(), outcome.calls()),
        ("whole".to_owned(), vec![("terminal", "{}")])
    );
    assert_eq!(outcome.reply().message.reasoning.as_deref(), Some("hm"));
    assert!(outcome.reply().message.codex_reasoning_items.is_some());
}

#[tokio::test]
async fn headers_that_name_the_session() {
    let there = |server: &hermes_scripted::ScriptedModel| Route {
        mode: Mode::CodexResponses,
        quirks: Quirks {
            session_headers: vec!["x-grok-conv-id".to_owned()],
            ..Quirks::default()
        },
        ..route(&server.url())
    };
    let talk = Talk::new(json!([{"text": "ok"}]), there, quick());
    talk.hi().await;
    assert_eq!(talk.server.calls()[0].headers["x-grok-conv-id"], "test");
}
