//! The conversation line by line, on a terminal.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::Bench;
use crate::command;

const WAIT: Duration = Duration::from_secs(20);

fn bench() -> Bench {
    Bench::new(json!([
        {"when": {"tools": false}, "text": "A title", "repeat": true},
        {"when": {"user": "slow"}, "text": ["It begins", " and never ends"], "stall_after_chunks": 2},
        {"when": {"user": "other"}, "text": "Something else.", "repeat": true},
    ]))
}

#[test]
fn who_types_while_a_turn_runs_is_told_once_what_becomes_of_it() {
    let bench = bench();
    let mut chat = command(&bench.home, &[]).pty(40, 110);
    chat.wait_for("/help for commands", WAIT);
    chat.send("slow\r");
    chat.wait_for("It begins", WAIT);
    chat.send("other\r");
    chat.wait_for(
        "What you type while a turn runs ends that turn and is next.",
        WAIT,
    );
    chat.wait_for("Something else.", WAIT);
    let config = bench.home.read("config.yaml");
    assert!(config.contains("busy_input_prompt: true"), "{config}");
    drop(chat);
    let mut again = command(&bench.home, &[]).pty(40, 110);
    again.wait_for("/help for commands", WAIT);
    again.send("other\r");
    let screen = again.wait_for("Something else.", WAIT);
    assert!(!screen.contains("What you type while"), "{screen}");
}

#[test]
fn clear_empties_the_screen() {
    let bench = bench();
    let mut chat = command(&bench.home, &[]).pty(40, 110);
    chat.wait_for("/help for commands", WAIT);
    chat.send("other\r");
    // What is typed before the turn is over has to wait.
    let is_over =
        |screen: &str| screen.contains("Something else.") && screen.trim_end().ends_with("\n>");
    chat.wait_until(is_over, WAIT);
    chat.send("/clear now\r");
    let screen = chat.wait_until(
        |screen| screen.contains("new session") && !screen.contains("Something else."),
        WAIT,
    );
    assert_eq!(screen.matches("/help for commands").count(), 0, "{screen}");
}
