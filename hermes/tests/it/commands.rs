//! Commands in the chat by lines that ask, run or attach something; another model for good.

use std::time::Duration;

use hermes_testkit::{Exit, Pty};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::Bench;
use crate::command;

const WAIT: Duration = Duration::from_secs(20);

fn bench() -> Bench {
    Bench::new(json!([
        {"when": {"tools": false}, "repeat": true, "text": "A title"},
        {"when": {"user": "again"}, "text": "once more"},
        {"repeat": true, "text": "so it is"},
    ]))
}

fn add_settings(bench: &Bench, more: &str) {
    let settings = bench.home.read("config.yaml") + more;
    bench.home.write("config.yaml", settings);
}

fn begun(bench: &Bench) -> Pty {
    let chat = command(&bench.home, &["--cli"]).pty(40, 100);
    chat.wait_for("/help for commands", WAIT);
    chat
}

/// Types a line and waits for what comes of it.
fn said(chat: &mut Pty, line: &str, then: &str) -> String {
    chat.send(&format!("{line}\r"));
    let is_over = |screen: &str| screen.contains(then) && screen.trim_end().ends_with("\n>");
    chat.wait_until(is_over, WAIT)
}

#[test]
fn a_conversation_is_not_given_up_by_mistake() {
    let bench = bench();
    let mut chat = begun(&bench);
    said(&mut chat, "hello", "so it is");
    chat.send("/new\r");
    chat.wait_for("[always] yes, and never ask again", WAIT);
    said(&mut chat, "n", "everything stays as it is");
    chat.send("/undo\r");
    chat.wait_for("Take back", WAIT);
    said(&mut chat, "always", "took back 2 messages, from: hello");
    said(&mut chat, "again", "once more");
    // Never again means never.
    said(&mut chat, "/new", "new session");
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    let settings = bench.home.read("config.yaml");
    assert!(
        settings.contains("destructive_slash_confirm: false"),
        "{settings}"
    );
}

#[test]
fn the_owners_own_commands_and_files_on_a_line() {
    let bench = bench();
    add_settings(
        &bench,
        "quick_commands:\n  where: {type: exec, command: 'echo here: $PWD'}\n  \
         who: {type: alias, target: /profile}\n",
    );
    let notes = bench
        .home
        .write(bench.home.work().join("notes.txt"), "words");
    let mut chat = begun(&bench);
    let work = bench.home.work().display().to_string();
    said(&mut chat, "/where", &format!("here: {work}"));
    said(&mut chat, "/who", "profile  default");
    assert!(bench.requests().is_empty());
    said(
        &mut chat,
        &format!("{} sum it up", notes.display()),
        "so it is",
    );
    let request = bench.requests().remove(0).to_string();
    assert!(request.contains("[The user attached a file: "), "{request}");
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
}

#[test]
fn another_model_for_good() {
    let bench = bench();
    let mut chat = begun(&bench);
    said(
        &mut chat,
        "/model other-model --provider custom --global",
        "model: other-model",
    );
    said(
        &mut chat,
        "/model --everywhere x",
        "there is no option --everywhere",
    );
    said(&mut chat, "hello", "so it is");
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    assert_eq!(bench.requests()[0]["model"], "other-model");
    let settings = bench.home.read("config.yaml");
    assert!(settings.contains("default: other-model"), "{settings}");
}
