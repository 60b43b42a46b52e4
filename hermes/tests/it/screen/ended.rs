//! Signals while something is asked that is no part of a chat: the terminal comes back, the exit code says why.

use hermes_testkit::{Exit, Pty, Signal};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::leaving::is_restored;
use super::{Chat, WAIT, bench, screen};
use crate::bench::Bench;

const SIGNALS: [(Signal, i32); 3] = [
    (Signal::SIGINT, 130),
    (Signal::SIGTERM, 143),
    (Signal::SIGHUP, 129),
];

/// A home with something to choose from in every list.
fn furnished() -> Bench {
    let bench = bench(json!([{"text": "An answer.", "repeat": true}]));
    bench.run(&["-z", "about apples"]).ok();
    let config = bench.home.read("config.yaml");
    let servers = "mcp_servers:\n  one: {command: 'true'}\n  two: {command: 'true'}\n";
    bench
        .home
        .write("config.yaml", format!("{config}{servers}"));
    bench
}

#[track_caller]
fn ends(mut pty: Pty, (signal, code): (Signal, i32)) {
    assert!(!pty.is_ordinary(), "{}", pty.screen());
    pty.signal(signal);
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(code), "{}", pty.screen());
    is_restored(&pty);
    assert!(!pty.drawn().alternate_screen(), "{}", pty.screen());
}

#[test]
fn a_list_that_covers_the_screen() {
    let bench = furnished();
    let before = bench.home.read("config.yaml");
    for (args, title) in [
        (&["sessions", "browse"][..], "about apples"),
        (&["tools"], "Configure cli ("),
        (&["setup"], "Who should answer?"),
        (&["model"], "Who should answer?"),
        (&["mcp", "configure"], "Which server?"),
    ] {
        for signal in SIGNALS {
            let pty = screen(&bench.home, args).pty(24, 80);
            pty.wait_for(title, WAIT);
            assert!(pty.drawn().alternate_screen(), "{args:?}");
            ends(pty, signal);
        }
    }
    assert_eq!(bench.home.read("config.yaml"), before);
}

/// The chat that follows a list puts more in order than the terminal.
#[test]
fn a_chat_that_was_chosen_from_a_list() {
    let bench = furnished();
    for signal in &SIGNALS[1..] {
        let mut pty = screen(&bench.home, &["sessions", "browse"]).pty(24, 80);
        pty.wait_for("about apples", WAIT);
        pty.send("\r");
        let chat = Chat::ready(pty);
        ends(chat.0, *signal);
    }
}

#[test]
fn a_line_that_nobody_sees() {
    let bench = furnished();
    for (signal, code) in SIGNALS {
        let mut pty = screen(&bench.home, &["auth", "add", "openrouter"]).pty(24, 80);
        pty.wait_for("(not shown)", WAIT);
        assert!(!pty.is_ordinary());
        match signal {
            // As somebody does who has thought better of it.
            Signal::SIGINT => pty.send("\u{3}"),
            _ => pty.signal(signal),
        }
        assert_eq!(pty.wait_exit(WAIT), Exit::Code(code), "{}", pty.screen());
        assert!(pty.is_ordinary(), "{}", pty.screen());

        // The same where nothing can be drawn.
        let setup = screen(&bench.home, &["setup", "terminal"]).env("TERM", "dumb");
        let mut pty = setup.pty(40, 80);
        pty.wait_for("Should commands be confined?", WAIT);
        pty.send("\r");
        pty.wait_for("Where do commands begin?", WAIT);
        pty.send("\r");
        pty.wait_for("Password for sudo", WAIT);
        crate::bench::eventually(WAIT, "keys are not shown", || !pty.is_ordinary());
        pty.signal(signal);
        assert_eq!(pty.wait_exit(WAIT), Exit::Code(code), "{}", pty.screen());
        assert!(pty.is_ordinary(), "{}", pty.screen());
    }
}
