//! How the model speaks: chosen by the owner, not part of the conversation.

use std::time::Duration;

use hermes_testkit::Pty;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::command;

const WAIT: Duration = Duration::from_secs(15);

fn bench() -> Bench {
    Bench::new(json!([
        {"when": {"tools": false}, "repeat": true, "text": "A title"},
        {"when": {"user": "one"}, "text": "first answer"},
        {"when": {"user": "two"}, "text": "second answer"},
        {"repeat": true, "text": "another answer"},
    ]))
}

/// The system message of the last request of the conversation.
fn system(bench: &Bench) -> String {
    let requests = bench.requests();
    let last: &Value = requests
        .iter()
        .rfind(|body| body["tools"].is_array())
        .unwrap();
    last["messages"][0]["content"].as_str().unwrap().to_owned()
}

fn chat(bench: &Bench) -> Pty {
    let chat = command(&bench.home, &[]).pty(40, 100);
    chat.wait_for("/help for commands", WAIT);
    chat
}

// spec: agent-loop §26.25, learning §13.24
#[test]
fn a_personality_follows_the_system_prompt_and_is_not_stored_with_it() {
    let bench = bench();
    let mut chat = chat(&bench);
    chat.send("/personality pirate\r");
    chat.wait_for("personality: pirate", WAIT);
    let settings = bench.home.read("config.yaml");
    assert!(settings.contains("system_prompt:"), "{settings}");
    chat.send("one\r");
    chat.wait_for("first answer", WAIT);
    let stored = bench.session()["system_prompt"]
        .as_str()
        .unwrap()
        .to_owned();
    let sent = system(&bench);
    let overlay = sent.strip_prefix(&format!("{stored}\n\n")).unwrap();
    assert!(
        overlay.starts_with("Arr!") && overlay.lines().count() == 1,
        "{overlay}"
    );

    chat.send("/personality none\r");
    chat.wait_for("personality: none", WAIT);
    chat.send("two\r");
    chat.wait_for("second answer", WAIT);
    assert_eq!(system(&bench), stored);
    assert!(!bench.home.read("config.yaml").contains("Arr!"));
}

#[test]
fn personalities_of_ones_own_last() {
    let bench = bench();
    let config = bench.home.read("config.yaml");
    let own = "agent:\n  personalities:\n    Butler: {system_prompt: You are a butler., tone: dry}\n    pirate: No sea here.\n";
    bench.home.write("config.yaml", config + own);
    let mut first = chat(&bench);
    first.send("/personality\r");
    first.wait_for("butler       You are a butler.", WAIT);
    first.send("/personality butler\r");
    first.wait_for("personality: butler", WAIT);
    drop(first);
    bench.run(&["-z", "hello"]).ok();
    assert!(system(&bench).ends_with("\n\nYou are a butler.\nTone: dry"));
    // For one run only, and before every choice.
    let fixed = command(&bench.home, &["-z", "hello"]);
    fixed
        .env("HERMES_EPHEMERAL_SYSTEM_PROMPT", "Be brief.")
        .run()
        .ok();
    assert!(system(&bench).ends_with("\n\nBe brief."));
    let sessions = bench.run(&["sessions", "export", "-"]);
    assert!(!sessions.ok().contains("Be brief.") && !sessions.ok().contains("butler"));
}
