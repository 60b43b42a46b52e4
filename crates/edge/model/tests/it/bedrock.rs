//! The whole client with Amazon's dialects, signatures and binary streams.

use hermes_model::{Key, KeyPair, Mode, Overrides, Route};
use hermes_scripted::ScriptedModel;
use hermes_types::{Effort, Finish, Message, ModelErrorKind as Kind, ModelRequest, Usage};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Owner, Talk, collect, hi, quick, route, with_tools};

const NOVA: &str = "amazon.nova-pro-v1:0";
const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn talk(script: Value) -> Talk {
    let there = |server: &ScriptedModel| at(server, Mode::BedrockConverse, NOVA);
    Talk::new(script, there, quick())
}

fn claude(script: Value) -> Talk {
    let there = |server: &ScriptedModel| at(server, Mode::BedrockAnthropic, CLAUDE);
    Talk::new(script, there, quick())
}

fn at(server: &ScriptedModel, mode: Mode, model: &str) -> Route {
    let pair = KeyPair::new("AKIDEXAMPLE", "secret-of-the-example", "eu-west-1");
    Route {
        mode,
        model: model.to_owned(),
        base_url: server.url().parse().unwrap(),
        key: Key::pair(pair.with_session_token("lent")),
        ..route(&server.url())
    }
}

#[tokio::test]
async fn a_plain_answer_to_a_signed_request() {
    let usage = json!({"input": 10, "output": 5, "cache_read": 3, "cache_write": 2});
    let talk = talk(json!([
        {"text": ["Hello ", "world"], "usage": usage, "bytes_per_write": 5}]));
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
    let reply = outcome.reply();
    assert_eq!((reply.usage, reply.finish), (usage, Finish::Stop));
    let call = &talk.server.calls()[0];
    assert_eq!(call.path, "/model/amazon.nova-pro-v1%3A0/converse-stream");
    let signature = &call.headers["authorization"];
    assert!(
        signature.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
            && signature.contains("/eu-west-1/bedrock/aws4_request, SignedHeaders="),
        "{signature}"
    );
    assert_eq!(call.headers["x-amz-security-token"], "lent");
    assert!(!format!("{call:?}").contains("secret-of"));
}

#[tokio::test]
async fn a_tool_round() {
    let talk = talk(json!([
        {"reasoning": "hm", "text": "Let me.", "chunk": 3,
            "tool_calls": [{"name": "terminal", "arguments": {"command": "ls"}, "id": "t:1"}]},
        {"text": "done"},
    ]));
    let first = talk.ask(with_tools(hi())).await;
    assert_eq!(first.calls(), [("terminal", r#"{"command":"ls"}"#)]);
    assert_eq!(first.reply().finish, Finish::ToolCalls);
    let said = first.reply().message.clone();
    assert_eq!(said.reasoning.as_deref(), Some("hm"));
    let result = Message::tool("t:1", "terminal", "a b");
    let messages = vec![Message::user("hi"), said, result];
    let request = ModelRequest { messages, ..hi() };
    assert_eq!(
        talk.ask(with_tools(request.clone())).await.content(),
        "done"
    );
    assert_eq!(
        talk.bodies()[1]["messages"],
        json!([
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [{"text": "Let me."},
                {"toolUse": {"toolUseId": "t_1", "name": "terminal", "input": {"command": "ls"}}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "t_1", "content": [{"text": "a b"}]}}]},
        ])
    );
}

#[tokio::test]
async fn faults() {
    let exception = json!({"text": "never", "stream_error": "Too many requests"});
    for step in [
        json!({"status": 429}),
        json!({"status": 503}),
        json!({"text": "never", "cut_after_bytes": 50}),
        json!({"text": "never", "end_after_chunks": 1}),
        json!({"raw_sse": ["this is not a stream of messages"]}),
        json!({"tool_calls": [{"name": "f"}], "stream_error": "broken"}),
    ] {
        for talk in [talk, claude] {
            let talk = talk(json!([step, {"text": "Hi"}]));
            let outcome = talk.hi().await;
            assert_eq!(
                (outcome.content(), outcome.retries().len()),
                ("Hi".to_owned(), 1),
                "{step}"
            );
        }
    }
    for talk in [talk, claude] {
        let kept = talk(json!([exception]));
        assert_eq!(kept.hi().await.reply().finish, Finish::Dropped);
        let refused =
            talk(json!([{"status": 403, "body": {"message": "The security token is invalid"}}]));
        refused
            .hi()
            .await
            .check_error(Kind::Auth, &["403", "security token"]);
    }
}

#[tokio::test]
async fn endings_and_a_whole_reply() {
    for (finish, expected) in [
        ("length", Finish::Length),
        ("content_filter", Finish::ContentFilter),
        ("guardrail_intervened", Finish::ContentFilter),
        ("stop_sequence", Finish::Stop),
    ] {
        let talk = talk(json!([{"text": "a", "finish": finish}]));
        assert_eq!(talk.hi().await.reply().finish, expected, "{finish}");
    }
    let refusal = json!({"status": 400, "body": {"message": "streaming is not supported"}});
    for (talk, path) in [(talk as fn(Value) -> Talk, "converse"), (claude, "invoke")] {
        let talk = talk(json!([refusal, {"reasoning": "hm", "text": "whole"}]));
        let outcome = talk.hi().await;
        assert_eq!(outcome.content(), "whole");
        assert_eq!(outcome.reply().message.reasoning.as_deref(), Some("hm"));
        assert!(talk.server.calls()[1].path.ends_with(path));
    }
}

#[tokio::test]
async fn claude_speaks_as_at_home() {
    let talk = claude(json!([
        {"reasoning": "hm", "text": "Let me.", "chunk": 3, "usage": {"input": 7, "output": 3, "cache_read": 5},
            "tool_calls": [{"name": "terminal", "arguments": {"command": "ls"}, "id": "t1"}]},
        {"text": "done"},
    ]));
    let first = talk.ask(with_tools(hi())).await;
    assert_eq!(first.calls(), [("terminal", r#"{"command":"ls"}"#)]);
    let usage = first.reply().usage;
    assert_eq!((usage.input, usage.output, usage.cache_read), (7, 3, 5));
    let said = first.reply().message.clone();
    let messages = vec![
        Message::user("hi"),
        said,
        Message::tool("t1", "terminal", "a b"),
    ];
    let effort = Effort::Low;
    let request = ModelRequest {
        messages,
        effort,
        ..hi()
    };
    assert_eq!(talk.ask(with_tools(request)).await.content(), "done");
    let call = &talk.server.calls()[1];
    let path = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream";
    assert_eq!(call.path, path);
    assert_eq!(call.body["anthropic_version"], "bedrock-2023-05-31");
    assert_eq!(call.body["thinking"]["budget_tokens"], 4000);
    assert_eq!(
        call.body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "hm", "signature": "signature-1"})
    );
    assert_eq!(call.body.get("model"), None);
}

#[tokio::test]
async fn settings_and_variables_lead_there() {
    let server = Talk::chat(json!([{"text": "one"}, {"text": "two"}]));
    let settings = |model: &str| {
        let url = server.server.url();
        json!({"model": {"default": model, "provider": "custom", "base_url": url,
            "api_mode": "bedrock_converse"}})
        .to_string()
    };
    let pair = [
        ("AWS_ACCESS_KEY_ID", "AKID1"),
        ("AWS_SECRET_ACCESS_KEY", "secret1"),
    ];
    let ask = async |owner: Owner| {
        let models = owner.models(&Overrides::default()).unwrap();
        let client = crate::support::client(models.route().clone(), quick());
        let outcome = collect(&client, hi(), hermes_types::Scope::new("s".into())).await;
        (models.route().clone(), outcome.content())
    };
    let (route, said) = ask(Owner::new(&settings(NOVA), &pair)).await;
    assert_eq!(
        (route.mode, said),
        (Mode::BedrockConverse, "one".to_owned())
    );
    assert_eq!(route.context.tokens, 300_000);
    let bearer = [("AWS_BEARER_TOKEN_BEDROCK", "bedrock-token")];
    let (route, said) = ask(Owner::new(&settings(CLAUDE), &bearer)).await;
    assert_eq!(
        (route.mode, said),
        (Mode::BedrockAnthropic, "two".to_owned())
    );
    let keys: Vec<_> = server
        .server
        .calls()
        .iter()
        .map(|call| {
            call.headers["authorization"]
                .split('/')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        keys,
        ["AWS4-HMAC-SHA256 Credential=AKID1", "Bearer bedrock-token"]
    );

    let home = tempfile::tempdir().unwrap();
    let nobody = Owner::new(&settings(NOVA), &[("HOME", home.path().to_str().unwrap())]);
    let error = nobody.models(&Overrides::default()).unwrap_err();
    assert!(error.message.contains("AWS_ACCESS_KEY_ID"), "{error}");
}
