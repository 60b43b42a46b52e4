//! The dialects as data: every file in `fixtures/` is a case.
//!
//! `<dialect>/requests/*.json` holds settings, a request, and what must go over the wire for them; `quirks`, if
//! there are any, are put over those of the catalogue.
//! `<dialect>/replies/*.sse` is a recorded stream, `*.events` one that came in binary messages (name and payload
//! of one on each line), `*.json` a whole reply; beside it lies what it means.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_model::dialect::{self, Decoder, Delta, Ending};
use hermes_model::{Key, Mode, Overrides, Route};
use hermes_net::sse;
use hermes_types::{Effort, Message, ModelRequest, ToolDef};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::Owner;

const DIALECTS: [(&str, Mode); 6] = [
    ("chat", Mode::ChatCompletions),
    ("anthropic", Mode::AnthropicMessages),
    ("responses", Mode::CodexResponses),
    ("gemini", Mode::Gemini),
    ("bedrock/converse", Mode::BedrockConverse),
    ("bedrock/claude", Mode::BedrockAnthropic),
];

fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/fixtures")
        .join(folder);
    let entries = fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read_json(path: &Path) -> Value {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = text.replace("{version}", env!("CARGO_PKG_VERSION"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn requests() {
    for (name, mode) in DIALECTS {
        for path in files(&format!("{name}/requests")) {
            let case = read_json(&path);
            let env = case["env"].as_object().into_iter().flatten();
            let env: Vec<_> = env
                .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
                .collect();
            let owner = Owner::new(&case["settings"].to_string(), &env);
            let models = owner.models(&Overrides::default()).unwrap();
            let mut route = models.route().clone();
            assert_eq!(route.mode, mode, "{}", path.display());
            overlay(&mut route, &case);
            let wire = dialect::encode(&route, &request(&case["request"]), &"session-1".into());
            let mut headers = wire.headers;
            headers.sort();
            let headers: serde_json::Map<_, _> = headers
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect();
            let actual = json!({"url": wire.url.as_str(), "headers": headers, "body": wire.body});
            assert_eq!(actual, case["expected"], "{}:\n{actual:#}", path.display());
        }
    }
}

fn overlay(route: &mut Route, case: &Value) {
    if let Some(key) = case["key"].as_str() {
        route.key = Key::new(key);
    }
    if case["quirks"].is_object() {
        route.quirks = serde_json::from_value(case["quirks"].clone()).unwrap();
    }
    route.concessions.no_streaming = case["no_streaming"] == true;
}

fn request(case: &Value) -> ModelRequest {
    let messages: Vec<Message> = serde_json::from_value(case["messages"].clone()).unwrap();
    let tools = case["tools"].as_array().into_iter().flatten();
    let tools = tools.map(|tool| ToolDef {
        name: tool["name"].as_str().unwrap().to_owned(),
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        parameters: tool["parameters"].clone(),
    });
    ModelRequest {
        system: case["system"].as_str().unwrap_or_default().to_owned(),
        messages,
        tools: tools.collect(),
        max_output: case["max_output"].as_u64(),
        effort: Effort::from(case["effort"].as_str().unwrap_or_default()),
        temperature: case["temperature"].as_f64(),
        ..ModelRequest::default()
    }
}

#[test]
fn replies() {
    for (name, mode) in DIALECTS {
        let inputs = files(&format!("{name}/replies"));
        for path in inputs
            .iter()
            .filter(|path| !path.to_str().unwrap().contains(".expected."))
        {
            let text = fs::read_to_string(path).unwrap();
            let (deltas, ending) = match path.extension().unwrap().to_str() {
                Some("sse") => decode(mode, &sse_events(&text)),
                Some("events") => decode(mode, &named_events(&text)),
                _ => dialect::decode_whole(mode, &text).unwrap(),
            };
            let expected = read_json(&path.with_extension("expected.json"));
            let actual = json!({"deltas": deltas_json(&deltas), "ending": ending_json(&ending)});
            assert_eq!(actual, expected, "{}:\n{actual:#}", path.display());
        }
    }
}

fn sse_events(text: &str) -> Vec<sse::Event> {
    let mut stream = sse::Decoder::new(1 << 20);
    let mut events = stream.push(text.as_bytes()).unwrap();
    events.extend(stream.finish().unwrap());
    events
}

fn named_events(text: &str) -> Vec<sse::Event> {
    let event = |line: &str| {
        let (name, data) = line.split_once(' ').unwrap();
        sse::Event {
            name: name.to_owned(),
            data: data.to_owned(),
        }
    };
    text.lines().map(event).collect()
}

fn decode(mode: Mode, events: &[sse::Event]) -> (Vec<Delta>, Ending) {
    let mut decoder = Decoder::new(mode);
    let deltas = events
        .iter()
        .flat_map(|event| decoder.push(event).unwrap())
        .collect();
    (deltas, decoder.finish().unwrap())
}

fn deltas_json(deltas: &[Delta]) -> Value {
    let one = |delta: &Delta| match delta {
        Delta::Text(text) => json!({"text": text}),
        Delta::Reasoning(text) => json!({"reasoning": text}),
        Delta::Call(name) => json!({"call": name}),
    };
    deltas.iter().map(one).collect()
}

fn ending_json(ending: &Ending) -> Value {
    let mut told = json!({
        "calls": ending.calls,
        "finish": ending.finish.map(|finish| format!("{finish:?}")),
        "usage": ending.usage,
        "reasoning_details": ending.reasoning_details,
    });
    if let Some(items) = &ending.reasoning_items {
        told["reasoning_items"] = items.clone();
    }
    if let Some(items) = &ending.message_items {
        told["message_items"] = items.clone();
    }
    told
}

// Whatever a server sends, it is an error at most.
proptest! {
    #[test]
    fn no_reply_makes_a_decoder_panic(
        name in prop::sample::select(NAMES),
        data in prop_oneof![odd_json().prop_map(|value| value.to_string()), ".*"],
    ) {
        for (_, mode) in DIALECTS {
            let mut decoder = Decoder::new(mode);
            let event = sse::Event { name: name.to_owned(), data: data.clone() };
            let _ = decoder.push(&event);
            let _ = decoder.push(&event);
            let _ = decoder.finish();
            let _ = dialect::decode_whole(mode, &data);
        }
    }
}

const NAMES: &[&str] = &[
    "",
    "chunk",
    "contentBlockDelta",
    "contentBlockStart",
    "metadata",
    "response.output_item.done",
    "response.completed",
    "response.failed",
    "error",
];

/// JSON with the words servers use, in the wrong places.
fn odd_json() -> impl Strategy<Value = Value> {
    const WORDS: &[&str] = &[
        "type",
        "response",
        "item",
        "output",
        "error",
        "message",
        "candidates",
        "content",
        "parts",
        "text",
        "functionCall",
        "delta",
        "toolUse",
        "usage",
        "choices",
        "status",
        "arguments",
        "function_call",
        "reasoning",
        "response.completed",
        "content_block_start",
        "bytes",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop::sample::select(WORDS).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
