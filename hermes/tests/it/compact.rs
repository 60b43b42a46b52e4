//! A conversation that no longer fits, as its owner sees it.

use std::time::Duration;

use serde_json::json;

use crate::bench::{Bench, assert_valid};
use crate::seed::{self, Seed};
use crate::{command, fails};

const SESSION: &str = "20260101_000000_abcdef";

/// A home with a conversation of 80 messages, about 700 tokens each: long, but not too long by itself.
fn long(steps: serde_json::Value) -> Bench {
    let bench = Bench::new(steps);
    let long = "word ".repeat(550);
    let texts: Vec<String> = (0..80).map(|n| format!("message {n}: {long}")).collect();
    let messages: Vec<&str> = texts.iter().map(String::as_str).collect();
    let seed = Seed {
        id: SESSION,
        title: Some("long talk"),
        messages: &messages,
        ..Seed::default()
    };
    seed::sessions(&bench.home, &[seed]);
    bench
}

fn too_long() -> serde_json::Value {
    let message = "This model's maximum context length is 70000 tokens. Please reduce the length of the messages.";
    json!({"when": {"tools": true}, "status": 400, "body": {"error": {"message": message}}})
}

// spec: agent-loop §26.11
#[test]
fn a_context_error_compacts_the_conversation_and_the_retry_succeeds() {
    let steps =
        || json!([too_long(), {"when": {"tools": false}, "text": "the notes"}, {"text": "fine"}]);
    let bench = long(steps());
    let output = bench.run(&["chat", "--resume", SESSION, "-q", "and now?"]);
    let told = output.ok();
    assert!(
        told.contains("compacting the conversation: 81 messages"),
        "{told}"
    );
    assert!(
        told.contains("compacted: 81 →") && told.contains("fine"),
        "{told}"
    );
    let requests = bench.requests();
    assert_eq!(requests.len(), 3, "asked, summed up, asked again");
    assert_valid(&requests[2]);
    let messages = requests[2]["messages"].as_array().unwrap();
    assert!(messages.len() < 40, "{}", messages.len());
    assert!(
        requests[2]
            .to_string()
            .contains("[CONTEXT COMPACTION — REFERENCE ONLY]")
    );
    assert_eq!(messages.last().unwrap()["content"], "and now?");
    // What the error said about the window is known from now on.
    let learned = bench.home.read("context_length_cache.yaml");
    assert!(
        learned.contains("fake-model@http://") && learned.contains(": 70000"),
        "{learned}"
    );

    let quiet = long(steps());
    let output = quiet.run(&["--resume", "long talk", "-z", "and now?"]);
    assert_eq!(output.ok(), "fine\n");
    assert!(
        output.stderr.contains("compacting") && output.stderr.contains("compacted: 81"),
        "{}",
        output.stderr
    );

    // The conversation goes on where it was left, by whatever name.
    for name in [SESSION, "long talk", "long talk #2"] {
        let steps = json!([too_long(), {"when": {"tools": false}, "text": "the notes"}, {"text": "fine"}, {"text": "still here"}]);
        let bench = long(steps);
        bench.run(&["--resume", SESSION, "-z", "and now?"]).ok();
        assert_eq!(
            bench.run(&["--resume", name, "-z", "more"]).ok(),
            "still here\n"
        );
        let last = bench.requests().pop().unwrap();
        assert!(last["messages"].as_array().unwrap().len() < 42, "{name}");
    }
}

#[test]
fn what_cannot_be_made_shorter_says_what_to_do() {
    let mut steps = vec![json!({"when": {"tools": false}, "text": "the notes", "repeat": true})];
    let mut always = too_long();
    always["repeat"] = true.into();
    steps.push(always);
    let bench = long(json!(steps));
    let told = fails(&bench.home, &["--resume", SESSION, "-z", "and now?"], 1);
    assert!(
        told.contains("/new") && told.contains("/compress"),
        "{told}"
    );
    assert!(bench.requests().len() <= 9);
}

#[test]
fn a_side_model_that_is_too_small_is_refused_at_the_start() {
    let bench = Bench::new(json!([{"text": "never"}]));
    bench
        .run(&["config", "set", "auxiliary.compression.model", "tiny"])
        .ok();
    bench
        .run(&[
            "config",
            "set",
            "auxiliary.compression.context_length",
            "32000",
        ])
        .ok();
    let told = fails(&bench.home, &["-z", "hi"], 1);
    assert!(told.contains("64,000") && told.contains("tiny"), "{told}");
    bench
        .run(&["config", "set", "compression.enabled", "false"])
        .ok();
    assert_eq!(bench.run(&["-z", "hi"]).ok(), "never\n");
}

#[test]
fn compress_and_undo_on_a_terminal() {
    let bench = long(
        json!([{"when": {"tools": false}, "text": "the notes", "repeat": true}, {"text": "fine", "repeat": true}]),
    );
    let wait = Duration::from_secs(15);
    let mut pty = command(&bench.home, &["--resume", SESSION]).pty(40, 160);
    pty.wait_for("/help for commands", wait);
    pty.send("/compress --preview\r");
    pty.wait_for("nothing was changed", wait);
    pty.send("/compress\r");
    pty.wait_for("compacted: 80 →", wait);
    pty.wait_for("brings the old messages back", wait);
    pty.send("/context\r");
    pty.wait_for("compacted from 65,536 on", wait);
    pty.send("/compress --undo\r");
    pty.wait_for("everything is there again", wait);
    pty.send("hello\r");
    pty.wait_for("fine", wait);
    let last = bench.requests().pop().unwrap();
    assert_eq!(last["messages"].as_array().unwrap().len(), 82);
}
