//! Which step answers which request, and what is remembered of it.

use std::time::Duration;

use hermes_scripted::{Script, ScriptedModel};
use serde_json::{Value, json};

use crate::raw::{ask, chat, get, post, request, start};

/// The text of a whole reply to `request`.
fn reply(server: &ScriptedModel, mut body: Value) -> String {
    body["stream"] = json!(false);
    let seen = post(server, "/v1/chat/completions", &body);
    let reply = seen.json();
    let text = reply["choices"][0]["message"]["content"].as_str();
    text.unwrap_or("no text").to_owned()
}

#[test]
fn in_order_then_over() {
    let server = start(json!([{"text": "one"}, {"text": "two", "repeat": 2}]));
    assert_eq!(server.unused_steps(), 2);
    let replies = [(); 3].map(|()| reply(&server, ask("hi")));
    assert_eq!(replies, ["one", "two", "two"]);
    assert_eq!(server.unused_steps(), 0);
    for (path, number) in [("chat/completions", 4), ("responses", 5), ("messages", 6)] {
        let seen = post(&server, &format!("/v1/{path}"), &ask("hi"));
        let expected =
            format!("the script is over: none of its 2 steps is left for request {number}");
        assert_eq!(
            (seen.status, &seen.json()["error"]["message"]),
            (500, &json!(expected))
        );
    }
}

#[test]
fn otherwise_answers_when_steps_run_out() {
    let server = start(json!({"steps": [{"text": "one"}], "otherwise": {"echo": "Echo: "}}));
    let replies = ["a", "b", "c"].map(|text| reply(&server, ask(text)));
    assert_eq!(replies, ["one", "Echo: b", "Echo: c"]);
}

#[test]
fn conditions() {
    let server = start(json!({
        "steps": [
            {"when": {"user": "weather", "tools": true}, "repeat": true, "text": "user and tools"},
            {"when": {"user": "weather"}, "repeat": true, "text": "user"},
            {"when": {"message": "pirate"}, "repeat": true, "text": "message"},
            {"when": {"tool_result": "sunny"}, "repeat": true, "text": "tool_result"},
            {"when": {"after_tool": true}, "repeat": true, "text": "after_tool"},
            {"when": {"model": "big"}, "repeat": true, "text": "model"},
            {"when": {"key": "key-1", "user": "key"}, "repeat": true, "text": "key"},
            {"when": {"key": "key-2"}, "repeat": true, "text": "not reached"},
        ],
        "otherwise": {"text": "otherwise"},
    }));
    let check = |body: Value, expected: &str| assert_eq!(reply(&server, body), expected);
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let asked = |messages: Value| json!({"model": "m", "messages": messages});
    check(ask("the weather?"), "user");
    check(
        asked(json!([said("user", "weather"), said("user", "time")])),
        "otherwise",
    );
    check(
        asked(json!([said("system", "a pirate"), said("user", "hi")])),
        "message",
    );
    check(
        asked(json!([said("user", "hi"), said("tool", "so sunny")])),
        "tool_result",
    );
    check(
        asked(json!([said("user", "hi"), said("tool", "rain")])),
        "after_tool",
    );
    check(
        asked(json!([said("tool", "sunny"), said("user", "hi")])),
        "otherwise",
    );
    check(json!({"model": "big", "messages": []}), "model");
    check(json!({"model": "bigger", "messages": []}), "otherwise");
    check(ask("key"), "key");
    let tools = json!([{"type": "function"}]);
    check(
        json!({"messages": [said("user", "weather")], "tools": tools}),
        "user and tools",
    );
    check(
        json!({"messages": [said("user", "weather")], "tools": []}),
        "user",
    );
}

#[test]
fn dialects_are_read_alike_wherever_they_live() {
    let server = start(json!([{"when": {"tool_result": "42"}, "repeat": true, "echo": "Echo: "}]));
    let check = |path: &str, body: Value| {
        let seen = post(&server, path, &body);
        assert!(
            seen.body().contains("Echo: see this"),
            "{path}: {}",
            seen.body()
        );
    };
    check(
        "/api/v1/chat/completions",
        json!({"messages": [
            {"role": "user", "content": [{"type": "text", "text": "see this"}, {"type": "image_url"}]},
            {"role": "assistant", "tool_calls": []},
            {"role": "tool", "content": "is 42"},
        ]}),
    );
    check(
        "/openai/v1/responses",
        json!({"instructions": "x", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "see this"}]},
            {"type": "function_call", "arguments": "{}"},
            {"type": "function_call_output", "output": [{"type": "input_text", "text": "is 42"}]},
        ]}),
    );
    check(
        "/anthropic/v1/messages?beta=true",
        json!({"system": [{"type": "text", "text": "x"}], "messages": [
            {"role": "user", "content": "see this"},
            {"role": "assistant", "content": [{"type": "tool_use"}]},
            {"role": "user", "content": [
                {"type": "tool_result", "content": [{"type": "text", "text": "is 42"}]},
            ]},
        ]}),
    );
}

#[test]
fn requests_are_recorded() {
    let server = start(json!([{"text": "ok"}]));
    chat(&server, "hi");
    get(&server, "/v1/models?limit=5");
    request(&server, "PUT", "/elsewhere", "not JSON");
    let requests = server.requests();
    let brief: Vec<_> = requests
        .iter()
        .map(|request| (&*request.method, &*request.path, request.is_call))
        .collect();
    assert_eq!(
        brief,
        [
            ("POST", "/v1/chat/completions", true),
            ("GET", "/v1/models?limit=5", false),
            ("PUT", "/elsewhere", false),
        ]
    );
    assert_eq!(requests[0].headers["authorization"], "Bearer key-1");
    assert_eq!(requests[0].body, ask("hi"));
    assert_eq!(
        (&requests[1].body, &requests[2].body),
        (&json!(null), &json!("not JSON"))
    );
    assert!(requests.is_sorted_by_key(|request| request.at_ms));
    assert_eq!(server.calls().len(), 1);
    assert_eq!(server.wait_for_calls(1, Duration::ZERO).len(), 1);
    // The same over HTTP, which leaves no trace itself.
    let over_http = get(&server, "/_scripted/requests").json();
    assert_eq!(over_http, serde_json::to_value(&requests).unwrap());
}

#[test]
fn models() {
    let server = start(json!({"steps": [], "models": ["a", {"id": "b", "context_length": 9}]}));
    let models = get(&server, "/v1/models").json();
    assert_eq!(models["data"][0]["id"], "a");
    assert_eq!(models["data"][1]["context_length"], 9);
    let models = get(&start(json!([])), "/v1/models").json();
    assert_eq!(models["data"][0]["context_length"], 131_072);
}

#[test]
fn stray_requests_get_404() {
    let server = start(json!([]));
    for (method, path) in [
        ("GET", "/v1/chat/completions"),
        ("POST", "/v1/models"),
        ("GET", "/"),
    ] {
        let seen = request(&server, method, path, "");
        assert_eq!(seen.status, 404, "{method} {path}");
    }
}

#[test]
fn the_example_of_the_readme_is_a_script() {
    let readme = include_str!("../../README.md");
    let example = readme.split("```json\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    Script::from_json(example).unwrap();
}
