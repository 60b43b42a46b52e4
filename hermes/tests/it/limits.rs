//! Spending limits, as somebody who pays sees them.

use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;

/// A model with a list price: each of these replies costs a quarter of a dollar.
fn bench(steps: Value, limits: &str) -> Bench {
    let bench = Bench::with(steps, "openai", "/v1", "gpt-4o");
    let config = bench.home.read("config.yaml");
    bench.home.write(
        "config.yaml",
        format!("{config}limits: {{max_cost_usd: {limits}}}\n"),
    );
    bench
}

fn quarter(text: &str) -> Value {
    json!({"text": text, "usage": {"input": 100_000, "output": 0}})
}

fn quarter_calling(text: &str) -> Value {
    let calls = json!([{"name": "todo", "arguments": {}}]);
    json!({"text": text, "tool_calls": calls, "usage": {"input": 100_000, "output": 0}})
}

#[test]
fn a_turn_over_its_limit_fails_and_keeps_what_it_has() {
    let steps = json!([
        quarter_calling("Looking."),
        quarter_calling("Still looking."),
        quarter("never")
    ]);
    let bench = bench(steps, "{turn: 0.4}");
    let output = bench.run(&["-z", "go"]);
    assert_eq!((&output.exit, output.stdout.as_str()), (&Exit::Code(1), ""));
    let said = "The spending limit for this turn is reached: $0.5000 of $0.4000.";
    assert!(output.stderr.contains(said), "{output}");
    assert!(
        output.stderr.contains("limits.max_cost_usd.turn"),
        "{output}"
    );
    assert_eq!(bench.requests().len(), 2);
    let session = bench.session();
    assert_eq!(session["estimated_cost_usd"], 0.5);
    let messages = session["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool"]);
    assert_eq!(messages[3]["content"], "Still looking.");
}

#[test]
fn a_bare_number_is_for_the_session_and_holds_when_it_is_taken_up_again() {
    let bench = bench(json!([quarter("one"), quarter("two")]), "0.2");
    assert_eq!(bench.run(&["-z", "hi"]).ok(), "one\n");
    let output = bench.run(&["-c", "-z", "more"]);
    assert_eq!(output.exit, Exit::Code(1));
    assert!(
        output
            .stderr
            .contains("this session is reached: $0.2500 of $0.2000"),
        "{output}"
    );
    assert_eq!(bench.requests().len(), 1);
    assert_eq!(bench.run(&["-z", "another one"]).ok(), "two\n");
}

#[test]
fn a_days_limit_is_for_all_runs() {
    let bench = bench(
        json!([quarter("one"), quarter("two"), quarter("never")]),
        "{day: 0.5}",
    );
    assert_eq!(bench.run(&["-z", "a"]).ok(), "one\n");
    assert_eq!(bench.run(&["-z", "b"]).ok(), "two\n");
    let output = bench.run(&["chat", "-q", "c"]);
    assert_eq!(output.exit, Exit::Code(1));
    assert!(
        output
            .stderr
            .contains("today is reached: $0.5000 of $0.5000"),
        "{output}"
    );
    assert_eq!(bench.requests().len(), 2);
}

#[test]
fn a_limit_that_is_none_warns_and_stops_nothing() {
    let bench = bench(json!([quarter("one")]), "-1");
    let output = bench.run(&["-z", "a"]);
    assert_eq!(output.ok(), "one\n");
    let warned = output.stderr.matches("limits.max_cost_usd.session").count();
    assert_eq!(warned, 1, "{output}");
}

#[test]
fn what_it_cost_is_seen_in_the_insights() {
    let bench = bench(json!([quarter("one"), quarter("two")]), "0");
    bench.run(&["-z", "a"]).ok();
    bench.run(&["-z", "b"]).ok();
    let output = bench.run(&["insights", "--cost", "--json"]);
    let seen: Value = serde_json::from_str(output.ok()).unwrap();
    let money = &seen["money"];
    assert_eq!(
        (&money["usd"], &money["conversations_usd"]),
        (&json!(0.5), &json!(0.5))
    );
    assert_eq!(money["models"][0]["name"], "gpt-4o");
    assert_eq!(
        money["providers"][0],
        json!({"name": "openai", "title": null, "usd": 0.5, "requests": 2, "unpriced": 0})
    );
    assert_eq!(money["days"].as_array().unwrap().len(), 1);
    assert_eq!(money["sessions"].as_array().unwrap().len(), 2);
}
