//! What covers the chat for a while: the transcript, lists, the owner's editor.

use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bars, bench, said, screen, turns};

#[test]
fn the_transcript_covers_the_chat_and_leaves_it_as_it_was() {
    let text: String = (0..100).map(|at| format!("line-{at:03}\n\n")).collect();
    let bench = bench(json!([{"text": text}, {"text": "Another one."}]));
    let mut chat = Chat::sized(&bench, 20, 80);
    chat.say("tell");
    chat.wait_idle("line-099");
    chat.type_in("a draft");
    let before = chat.screen();
    chat.send("\u{14}");
    chat.wait_until(|screen| !screen.contains("❯ a draft"), WAIT);
    // To the very beginning.
    chat.send("g");
    chat.wait_for("Hermes Agent", WAIT);
    chat.resize(24, 60);
    chat.send("q");
    chat.wait_for("❯ a draft", WAIT);
    chat.resize(20, 80);
    chat.wait_until(|screen| screen == before, WAIT);
    let all = chat.scrollback().join("\n");
    assert_eq!(
        (bars(&all), all.matches("line-050").count()),
        (1, 1),
        "{all}"
    );
    chat.enter();
    chat.wait_idle("Another one.");
}

#[test]
fn the_draft_in_the_owners_editor() {
    let bench = bench(json!([{"text": "An answer."}]));
    let editor = bench.home.write(
        "editor.sh",
        "#!/bin/sh\nprintf ' and more\\nlines' >> \"$1\"\n",
    );
    let made = bench.home.cmd("chmod").arg("+x").arg(&editor).run();
    made.ok();
    let command = screen(&bench.home, &[]).env("EDITOR", &editor);
    let mut chat = Chat::ready(command.pty(40, 110));
    chat.type_in("words");
    chat.send("\u{7}");
    chat.wait_for("❯ words and more", WAIT);
    chat.enter();
    chat.wait_idle("An answer.");
    assert_eq!(said(&turns(&bench)[0], "user"), ["words and more\nlines"]);
    assert_eq!(bars(&chat.screen()), 1);
}

#[test]
fn an_earlier_conversation_is_chosen_from_a_list() {
    let bench = bench(json!([{"text": "The first answer."}, {"text": "The second answer."}]));
    let mut chat = Chat::open(&bench);
    chat.say("remember the milk");
    chat.wait_idle("The first answer.");
    chat.say("/new now");
    chat.wait_for("new session", WAIT);
    chat.say("/resume");
    chat.wait_for("A title", WAIT);
    chat.send("\r");
    chat.wait_until(
        |screen| screen.matches("The first answer.").count() == 2,
        WAIT,
    );
    chat.say("again");
    chat.wait_idle("The second answer.");
    let request = turns(&bench).pop().unwrap();
    assert_eq!(said(&request, "user"), ["remember the milk", "again"]);
}

#[test]
fn a_session_that_does_not_open_gives_the_terminal_back() {
    let bench = bench(json!([]));
    let mut pty = screen(&bench.home, &["--resume", "nosuch"]).pty(40, 110);
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(1));
    assert!(pty.is_ordinary() && pty.shows_cursor() && !pty.marks_pastes());
    let screen = pty.screen();
    assert!(screen.contains("nosuch") && bars(&screen) == 0, "{screen}");
    assert!(bench.requests().is_empty());
}
