//! Commands that change the conversation or how it is answered, as somebody gives them.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bench, said, turns};

#[test]
fn several_questions_are_taken_back_and_can_be_said_again() {
    let bench = bench(json!([{"text": "One."}, {"text": "Two."}, {"text": "Three."}]));
    let mut chat = Chat::open(&bench);
    chat.say("first words");
    chat.wait_idle("One.");
    chat.say("second words");
    chat.wait_idle("Two.");
    chat.say("/undo 2 now");
    chat.wait_for("took back 4 messages, from: first words", WAIT);
    // It stands in the input, to be sent as it is.
    let waits = |screen: &str| {
        screen
            .lines()
            .rev()
            .any(|line| line.trim_end() == "❯ first words")
    };
    chat.wait_until(waits, WAIT);
    chat.enter();
    chat.wait_idle("Three.");
    let last = turns(&bench).pop().unwrap();
    assert_eq!(said(&last, "user"), ["first words"]);
}

#[test]
fn answers_come_sooner_on_request() {
    let bench = bench(json!([{"text": "Soon."}, {"text": "Later."}]));
    let config = bench.home.read("config.yaml");
    bench.home.write(
        "config.yaml",
        format!("{config}  api_mode: codex_responses\n"),
    );
    let mut chat = Chat::open(&bench);
    chat.say("/fast on");
    chat.wait_for("speed: fast", WAIT);
    chat.say("hello");
    chat.wait_idle("Soon.");
    chat.say("/fast off");
    chat.wait_for("speed: normal", WAIT);
    chat.say("again");
    chat.wait_idle("Later.");
    let tiers: Vec<_> = turns(&bench)
        .iter()
        .map(|request| request["service_tier"].clone())
        .collect();
    assert_eq!(tiers, [json!("priority"), json!(null)]);
    let config = bench.home.read("config.yaml");
    assert!(config.contains("service_tier: normal"), "{config}");
}
