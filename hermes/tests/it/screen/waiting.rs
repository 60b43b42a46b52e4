//! A chat that waits: for its owner, or for its session.

use std::thread;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bench, is_idle, said, screen, turns};

/// Half of what the scenario asks for: what repaints at all, repaints within seconds.
const IDLE: Duration = Duration::from_secs(5);

// spec: cli-tui §20.19
#[test]
fn nothing_is_written_while_nothing_happens() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut chat = Chat::open(&bench);
    chat.say("hello");
    chat.wait_idle("An answer.");
    // The last frame of the turn, and the title that comes after it.
    thread::sleep(Duration::from_millis(500));
    let before = chat.bytes_written();
    thread::sleep(IDLE);
    assert_eq!(chat.bytes_written(), before, "{}", chat.screen());
}

#[test]
fn what_is_typed_before_the_first_frame_is_not_lost() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut pty = screen(&bench.home, &[]).pty(40, 110);
    pty.send("early words");
    pty.wait_until(
        |screen| screen.contains("❯ early words") && is_idle(screen),
        WAIT,
    );
    let mut chat = Chat::ready(pty);
    chat.enter();
    chat.wait_idle("An answer.");
    assert_eq!(said(&turns(&bench)[0], "user"), ["early words"]);
}

#[test]
fn what_is_sent_before_the_session_is_open_waits_for_it() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut pty = screen(&bench.home, &[]).pty(40, 110);
    pty.wait_until(is_idle, WAIT);
    pty.send("\x1b[200~early\x1b[201~\r");
    pty.wait_for("An answer.", WAIT);
    assert_eq!(said(&turns(&bench)[0], "user"), ["early"]);
}
