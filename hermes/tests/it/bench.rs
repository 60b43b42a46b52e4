//! A home, and a model that says what the test wants.

use std::time::{Duration, Instant};

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::{Output, TempHome};
use serde_json::Value;

use crate::hermes;

/// A home whose model is the scripted one.
pub struct Bench {
    pub home: TempHome,
    pub model: ScriptedModel,
}

impl Bench {
    pub fn new(steps: Value) -> Self {
        Self::with(steps, "custom", "/v1", "fake-model")
    }

    pub fn with(steps: Value, provider: &str, path: &str, model_name: &str) -> Self {
        let model = ScriptedModel::start(Script::from_value(steps).unwrap()).unwrap();
        let home = TempHome::new();
        home.write(
            "config.yaml",
            format!(
                "model:\n  default: {model_name}\n  provider: {provider}\n  base_url: {}{path}\n  api_key: sk-test-1234567\n  context_length: 131072\n",
                model.url()
            ),
        );
        Self { home, model }
    }

    pub fn run(&self, args: &[&str]) -> Output {
        hermes(&self.home, args)
    }

    pub fn requests(&self) -> Vec<Value> {
        self.model
            .calls()
            .into_iter()
            .map(|call| call.body)
            .collect()
    }

    pub fn session(&self) -> Value {
        let text = self.run(&["sessions", "export", "-"]);
        serde_json::from_str(text.ok().lines().next().expect("a session was stored")).unwrap()
    }
}

/// Waits until `holds`, looking again and again; panics with `what` after `limit`.
#[track_caller]
pub fn eventually(limit: Duration, what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "not in {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Panics unless every tool call of a chat request is followed by exactly its results.
#[track_caller]
pub fn assert_valid(request: &Value) {
    let mut owed: Vec<&Value> = Vec::new();
    for message in request["messages"].as_array().unwrap() {
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = &message["tool_call_id"];
                let place = owed.iter().position(|call| *call == id);
                owed.remove(place.unwrap_or_else(|| panic!("nobody asked: {message}")));
            }
            _ => {
                assert!(owed.is_empty(), "no result for {owed:?}: {request}");
                let calls = message["tool_calls"].as_array();
                owed.extend(calls.into_iter().flatten().map(|call| &call["id"]));
            }
        }
    }
    assert!(owed.is_empty(), "no result for {owed:?}: {request}");
}
