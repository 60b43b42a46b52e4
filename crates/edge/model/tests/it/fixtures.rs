//! The dialects as data: every file in `fixtures/` is a case.
//!
//! `<dialect>/requests/*.json` holds settings, a request, and what must go over the wire for them.
//! `<dialect>/replies/*.sse` is a recorded stream, `*.json` a whole reply; beside it lies what it means.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_model::dialect::{self, Decoder, Delta, Ending};
use hermes_model::{Mode, Overrides};
use hermes_net::sse;
use hermes_types::{Effort, Message, ModelRequest, ToolDef};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::Owner;

const DIALECTS: [(&str, Mode); 2] = [
    ("chat", Mode::ChatCompletions),
    ("anthropic", Mode::AnthropicMessages),
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
            assert_eq!(models.route().mode, mode, "{}", path.display());
            let wire = dialect::encode(models.route(), &request(&case["request"]));
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
                Some("sse") => decode(mode, &text),
                _ => dialect::decode_whole(mode, &text).unwrap(),
            };
            let expected = read_json(&path.with_extension("expected.json"));
            let actual = json!({"deltas": deltas_json(&deltas), "ending": ending_json(&ending)});
            assert_eq!(actual, expected, "{}:\n{actual:#}", path.display());
        }
    }
}

fn decode(mode: Mode, text: &str) -> (Vec<Delta>, Ending) {
    let mut stream = sse::Decoder::new(1 << 20);
    let mut events = stream.push(text.as_bytes()).unwrap();
    events.extend(stream.finish().unwrap());
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
    json!({
        "calls": ending.calls,
        "finish": ending.finish.map(|finish| format!("{finish:?}")),
        "usage": ending.usage,
        "reasoning_details": ending.reasoning_details,
    })
}
