//! Ways out, and that the terminal is what it was.

use hermes_testkit::{Exit, Pty, Signal};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bars, bench, is_idle, terminal};
use crate::bench::{Bench, eventually};

#[track_caller]
pub fn is_restored(pty: &Pty) {
    assert!(pty.is_ordinary(), "{}", pty.screen());
    assert!(!pty.marks_pastes() && pty.shows_cursor());
    let output = String::from_utf8_lossy(&pty.output()).into_owned();
    for mode in ["?2004", "?1004"] {
        let last = |end: &str| output.rfind(&format!("\x1b[{mode}{end}"));
        assert!(last("l") > last("h"), "{mode}");
    }
}

#[test]
fn ctrl_c_twice_and_ctrl_d_leave() {
    let bench = bench(json!([]));
    let mut chat = Chat::open(&bench);
    chat.type_in("words");
    chat.send("\u{3}");
    chat.wait_until(|screen| !screen.contains("words"), WAIT);
    chat.send("\u{3}");
    chat.wait_for("press Ctrl+C again to leave", WAIT);
    // Too late is as if it had not been pressed.
    chat.wait_until(|screen| !screen.contains("press Ctrl+C"), WAIT);
    chat.send("\u{3}");
    chat.wait_for("press Ctrl+C again to leave", WAIT);
    chat.send("\u{3}");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    is_restored(&chat);
    assert_eq!(bars(&chat.screen()), 0, "{}", chat.screen());

    let mut chat = Chat::open(&bench);
    chat.send("\u{4}");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    is_restored(&chat);
    // Nothing was said: there is nothing to go on with.
    assert!(!chat.screen().contains("--resume"), "{}", chat.screen());
}

#[test]
fn the_end_says_how_to_go_on() {
    let bench = bench(json!([{"text": "An answer."}, {"text": "Another one."}]));
    let mut chat = Chat::open(&bench);
    chat.say("hello");
    chat.wait_idle("An answer.");
    chat.say("/quit");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    is_restored(&chat);
    let screen = chat.screen();
    assert!(screen.contains("An answer."), "{screen}");
    let line = screen
        .lines()
        .find(|line| line.contains("hermes --resume "));
    let id = line
        .unwrap()
        .split_whitespace()
        .next_back()
        .unwrap()
        .to_owned();

    let mut again = Chat::ready(super::screen(&bench.home, &["--resume", &id]).pty(40, 110));
    again.wait_for("An answer.", WAIT);
    again.say("more");
    again.wait_idle("Another one.");
}

#[test]
fn signals_give_the_terminal_back() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let bench = bench(json!([terminal("sleep 300")]));
        let mut chat = Chat::open(&bench);
        chat.say("go");
        chat.wait_for("sleep 300", WAIT);
        chat.signal(signal);
        assert_eq!(chat.wait_exit(WAIT), Exit::Code(code), "{}", chat.screen());
        is_restored(&chat);
        assert_eq!(bars(&chat.screen()), 0, "{}", chat.screen());
    }
}

/// Whether the session was open by then or not.
#[test]
fn a_signal_right_after_the_first_frame() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let bench = bench(json!([]));
        let mut pty = super::screen(&bench.home, &[]).pty(40, 110);
        pty.wait_for("❯", WAIT);
        pty.signal(signal);
        assert_eq!(pty.wait_exit(WAIT), Exit::Code(code), "{}", pty.screen());
        is_restored(&pty);
    }
}

#[test]
fn a_line_that_was_not_sent_is_in_the_history() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let bench = bench(json!([]));
        let mut chat = Chat::open(&bench);
        chat.type_in("a draft");
        chat.signal(signal);
        chat.wait_exit(WAIT);
        let mut chat = Chat::open(&bench);
        chat.send("\x1b[A");
        chat.wait_for("❯ a draft", WAIT);
    }
}

/// A shell that can stop its job and take it up again.
fn in_a_shell(bench: &Bench) -> Pty {
    let script = format!(
        "set -m; {}; echo \"stopped: $?\"; read x; fg > /dev/null; echo \"ended: $?\"",
        env!("CARGO_BIN_EXE_hermes")
    );
    let shell = bench.home.cmd("bash").args(["-c", &script]);
    shell.env("HERMES_CONTAINER", "0").pty(40, 110)
}

#[test]
fn ctrl_z_stops_and_fg_goes_on() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut chat = Chat::ready(in_a_shell(&bench));
    chat.type_in("a draft");
    chat.send("\u{1a}");
    chat.wait_for("stopped: 148", WAIT);
    assert!(chat.is_ordinary() && !chat.marks_pastes());
    chat.send("\r");
    chat.wait_until(
        |screen| screen.contains("❯ a draft") && bars(screen) == 1,
        WAIT,
    );
    eventually(WAIT, "keys are ours again", || {
        !chat.is_ordinary() && chat.marks_pastes()
    });
    chat.enter();
    chat.wait_idle("An answer.");
    chat.send("\u{4}");
    chat.wait_for("ended: 0", WAIT);
    is_restored(&chat);
}

#[test]
fn who_was_stopped_from_outside_takes_the_terminal_again() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut chat = Chat::open(&bench);
    chat.signal(Signal::SIGSTOP);
    chat.signal(Signal::SIGCONT);
    let modes = |output: Vec<u8>| {
        let output = String::from_utf8_lossy(&output).into_owned();
        output.matches("\x1b[?2004h").count()
    };
    eventually(WAIT, "its modes are set again", || {
        modes(chat.output()) == 2
    });
    chat.wait_until(|screen| bars(screen) == 1 && is_idle(screen), WAIT);
    chat.say("hello");
    chat.wait_idle("An answer.");
}
