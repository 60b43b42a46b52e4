//! What is typed and pressed while a turn runs.

use std::fs;
use std::time::{Duration, Instant};

use hermes_testkit::FaultProxy;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bench, said, terminal, turns};
use crate::bench::{assert_valid, eventually};

// spec: cli-tui §20.12
#[test]
fn escape_interrupts_and_keeps_what_was_said() {
    let bench = bench(json!([
        {"text": ["It begins", " and never ends"], "stall_after_chunks": 2},
        {"text": "after"},
    ]));
    let proxy = FaultProxy::start(bench.model.addr());
    let direct = bench.model.addr().to_string();
    let config = bench.home.read("config.yaml");
    let config = config.replace(&direct, &proxy.addr().to_string());
    bench.home.write("config.yaml", config);

    let mut chat = Chat::open(&bench);
    // With a title, no side model is asked for one.
    chat.say("/new Slow");
    chat.wait_for(": Slow", WAIT);
    chat.say("slow");
    chat.wait_for("It begins", WAIT);
    let pressed = Instant::now();
    chat.send("\x1b");
    eventually(Duration::from_secs(5), "the connection is closed", || {
        proxy.open() == 0
    });
    assert!(pressed.elapsed() < Duration::from_millis(500));
    let screen = chat.wait_idle("interrupted");
    assert!(screen.contains("It begins"), "{screen}");
    chat.say("again");
    chat.wait_idle("after");
    let request = turns(&bench).pop().unwrap();
    assert_valid(&request);
    assert_eq!(said(&request, "user"), ["slow", "again"]);
    let answer = &said(&request, "assistant")[0];
    assert!(answer.starts_with("It begins"), "{answer}");
}

// spec: cli-tui §20.13
#[test]
fn a_message_during_a_tool_ends_it_or_waits() {
    let slow = "echo $$ > tool.pid; sleep 300; touch finished";
    let bench = bench(json!([
        terminal(slow),
        {"when": {"user": "new task"}, "text": "the new task is done"},
        {"when": {"user": "queue it"}, "tool_calls": [
            {"name": "terminal", "arguments": {"command": "until test -e go; do sleep 0.05; done; touch done"}}]},
        {"when": {"user": "queue it"}, "text": "the first is done"},
        {"when": {"user": "later"}, "text": "the second is done"},
    ]));
    let work = bench.home.work();
    let mut chat = Chat::open(&bench);
    chat.say("old task");
    chat.wait_for("sleep 300", WAIT);
    eventually(WAIT, "the tool runs", || work.join("tool.pid").exists());
    chat.say("new task");
    let screen = chat.wait_idle("the new task is done");
    assert!(screen.contains("interrupted"), "{screen}");
    let request = turns(&bench).pop().unwrap();
    assert_valid(&request);
    assert_eq!(said(&request, "user").pop().unwrap(), "new task");
    let pid = fs::read_to_string(work.join("tool.pid")).unwrap();
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(" Z "), "{state}");
    assert!(!work.join("finished").exists());

    chat.say("/busy queue");
    chat.wait_for("queue", WAIT);
    chat.say("queue it");
    chat.wait_for("until test -e go", WAIT);
    chat.say("later");
    let screen = chat.wait_for("⋯ later", WAIT);
    assert!(screen.contains("⚕ ❯"), "the turn goes on: {screen}");
    fs::write(work.join("go"), "").unwrap();
    let screen = chat.wait_idle("the second is done");
    assert!(screen.contains("the first is done"), "{screen}");
    assert!(!screen.contains("⋯ later"), "{screen}");
    assert!(work.join("done").exists());
    let request = turns(&bench).pop().unwrap();
    assert_eq!(said(&request, "user").pop().unwrap(), "later");
}

// spec: cli-tui §20.14
#[test]
fn a_word_aside_reaches_the_running_turn() {
    let bench = bench(json!([
        terminal("until test -e go; do sleep 0.05; done; echo over"),
        {"when": {"after_tool": true}, "text": "with X in mind"},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("start");
    chat.wait_for("until test -e go", WAIT);
    chat.say("/steer focus on X");
    chat.wait_for("Steered: 'focus on X'", WAIT);
    fs::write(bench.home.work().join("go"), "").unwrap();
    chat.wait_idle("with X in mind");
    let requests = turns(&bench);
    assert_eq!(requests.len(), 2);
    let results = said(&requests[1], "tool");
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "tool");
    assert!(results[0].contains("focus on X"), "{results:?}");
    assert_eq!(said(&requests[1], "user"), ["start"]);
}
