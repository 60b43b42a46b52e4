//! Pastes: marked ones, those of terminals that don't mark them, and very large ones.

use std::fs;
use std::thread;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bench, said, terminal, turns};

const SEVEN: &str =
    "def f(x):\n    if x:\n        return 1\n    else:\n        return 2\n\nprint(f(3))";

// spec: cli-tui §20.15
#[test]
fn a_long_paste_is_one_piece_and_is_sent_whole() {
    let bench = bench(json!([{"text": "explained"}]));
    let mut chat = Chat::open(&bench);
    chat.type_in("explain:");
    chat.paste(&SEVEN.replace('\n', "\r"));
    let screen = chat.wait_for("[Pasted text #1: 7 lines → ", WAIT);
    assert!(screen.contains("❯ explain:"), "{screen}");
    assert!(!screen.contains("return 1"), "{screen}");
    chat.send("\r");
    chat.wait_idle("explained");
    let sent = said(&turns(&bench)[0], "user").pop().unwrap();
    assert!(
        sent.starts_with("explain:") && sent.contains(SEVEN),
        "{sent}"
    );
    let files: Vec<_> = fs::read_dir(bench.home.hermes().join("pastes"))
        .unwrap()
        .collect();
    assert_eq!(files.len(), 1);
    let file = files[0].as_ref().unwrap().path();
    assert_eq!(fs::read_to_string(file).unwrap(), SEVEN);
}

// spec: cli-tui §20.16
#[test]
fn lines_that_come_too_fast_are_one_message() {
    let bench = bench(json!([
        terminal("until test -e go; do sleep 0.05; done"),
        {"when": {"user": "def f"}, "text": "one message"},
        {"text": "the tool is done"},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("start");
    chat.wait_for("until test -e go", WAIT);
    for character in SEVEN.replace('\n', "\r").chars() {
        chat.send(&character.to_string());
        thread::sleep(Duration::from_millis(1));
    }
    chat.wait_until(
        |screen| screen.contains("print(f(3))") || screen.contains("[Pasted text"),
        WAIT,
    );
    chat.enter();
    chat.wait_idle("one message");
    let request = turns(&bench).pop().unwrap();
    assert_eq!(said(&request, "user"), ["start", SEVEN]);
}

#[test]
fn five_megabytes_are_one_piece_that_can_be_deleted() {
    let bench = bench(json!([{"text": "here"}]));
    let mut chat = Chat::open(&bench);
    let line = "All work and no play makes Jack a dull boy, says this line of text.\r";
    let lines = 5_000_000 / line.len();
    chat.paste(&line.repeat(lines));
    let token = format!("[Pasted text #1: {lines} lines → ");
    chat.wait_until(|screen| screen.replace("\n", "").contains(&token), WAIT);
    chat.send("\x7f");
    chat.wait_until(|screen| !screen.contains("[Pasted text"), WAIT);
    chat.say("hello");
    chat.wait_idle("here");
    assert_eq!(said(&turns(&bench)[0], "user"), ["hello"]);
}
