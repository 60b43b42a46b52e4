//! What the owner allowed, and how long it holds.

use std::time::Duration;

use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::Bench;
use crate::command;

const WAIT: Duration = Duration::from_secs(20);

#[test]
fn what_was_allowed_for_a_session_is_not_allowed_in_the_next() {
    let push = json!([{"name": "terminal", "arguments": {"command": "git push --force"}}]);
    let turn = |word: &str| {
        [
            json!({"when": {"user": word, "after_tool": true}, "text": format!("{word} is done")}),
            json!({"when": {"user": word}, "tool_calls": push}),
        ]
    };
    let title = json!({"when": {"tools": false}, "repeat": true, "text": "A title"});
    let turns = ["one", "two", "three"].into_iter().flat_map(turn);
    let bench = Bench::new([title].into_iter().chain(turns).collect());
    let mut chat = command(&bench.home, &[]).pty(60, 100);
    chat.wait_for("/help for commands", WAIT);
    let questions = |screen: &str| screen.matches("[2] this session").count();
    // What is typed before the turn is over would interrupt it.
    let is_over =
        |screen: &str, said: &str| screen.contains(said) && screen.trim_end().ends_with("\n>");

    chat.send("one\r");
    chat.wait_until(|screen| questions(screen) == 1, WAIT);
    chat.send("2\r");
    chat.wait_until(|screen| is_over(screen, "one is done"), WAIT);
    chat.send("two\r");
    let screen = chat.wait_until(|screen| is_over(screen, "two is done"), WAIT);
    assert_eq!(questions(&screen), 1, "{screen}");

    chat.send("/new now\r");
    chat.wait_for("new session", WAIT);
    chat.send("three\r");
    chat.wait_until(|screen| questions(screen) == 2, WAIT);
    chat.send("4\r");
    chat.wait_until(|screen| is_over(screen, "three is done"), WAIT);
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
}
