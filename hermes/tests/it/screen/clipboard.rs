//! The desktop's own clipboard, with a real X server and the real `xclip`.
//!
//! Those are ignored because not every machine has them; `cargo xtask real terminal` installs them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use hermes_testkit::Pty;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bench, is_idle, screen, turns};
use crate::bench::{Bench, eventually};

/// One pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, 0x49, 0x44, 0x41, 0x54,
    0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0, 5, 0, 1, 0xff, 0x89, 0x99, 0x3d, 0x1d, 0, 0,
    0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A desktop without a monitor. Dropping it ends it, and what is on it.
struct Desktop {
    _server: Pty,
    display: String,
}

impl Desktop {
    fn start(bench: &Bench) -> Self {
        // It chooses a number that is free, and says which. It must not begin anew when nobody is connected.
        let server =
            bench
                .home
                .cmd("Xvfb")
                .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset"]);
        let server = server.pty(24, 80);
        let number = |screen: &str| screen.lines().find_map(|line| line.parse::<u32>().ok());
        let told = server.wait_until(|screen| number(screen).is_some(), WAIT);
        Self {
            _server: server,
            display: format!(":{}", number(&told).unwrap()),
        }
    }

    /// What is in the clipboard as text.
    fn text(&self, bench: &Bench) -> String {
        let xclip = bench.home.cmd("xclip").env("DISPLAY", &self.display);
        xclip.args(["-selection", "clipboard", "-o"]).run().stdout
    }

    /// Puts an image there, as a browser does.
    fn copy_image(&self, bench: &Bench) {
        let path = bench.home.write("one.png", PNG);
        // It goes on to hold the clipboard; whoever waits for the end of its output would wait for ever.
        let script = "xclip -selection clipboard -t image/png -i \"$1\" > /dev/null 2>&1";
        let shell = bench.home.cmd("sh").env("DISPLAY", &self.display);
        shell.args(["-c", script, "sh"]).arg(path).run().ok();
    }

    fn chat(&self, bench: &Bench) -> Chat {
        let chat = screen(&bench.home, &[]).env("DISPLAY", &self.display);
        Chat::ready(chat.pty(40, 110))
    }
}

#[test]
#[ignore = "needs Xvfb and xclip: cargo xtask real terminal"]
fn an_answer_goes_to_the_clipboard_and_stays_there() {
    // More than goes through a terminal.
    let long = "你好 — a long answer. ".repeat(5000);
    let bench = bench(json!([{"text": "A short one."}, {"text": long.clone()}]));
    let desktop = Desktop::start(&bench);
    let mut chat = desktop.chat(&bench);
    chat.say("hello");
    chat.wait_idle("A short one.");
    chat.say("/copy");
    let clipboard = || desktop.text(&bench);
    eventually(WAIT, "it is in the clipboard", || {
        clipboard() == "A short one."
    });
    chat.say("more");
    chat.wait_idle("a long answer");
    chat.say("/copy");
    eventually(WAIT, "it is in the clipboard", || {
        clipboard() == long.trim_end()
    });
    let told = chat.screen();
    assert!(!told.contains("don't fit"), "{told}");
    // Also when the chat is over.
    chat.send("\u{4}");
    chat.wait_exit(WAIT);
    assert_eq!(clipboard(), long.trim_end());
}

#[test]
#[ignore = "needs Xvfb and xclip: cargo xtask real terminal"]
fn an_image_comes_from_the_clipboard() {
    let bench = bench(json!([{"text": "I see."}]));
    let desktop = Desktop::start(&bench);
    let mut chat = desktop.chat(&bench);
    chat.send("\u{16}");
    chat.wait_for("there is no image in the clipboard", WAIT);
    desktop.copy_image(&bench);
    chat.send("\u{16}");
    chat.wait_for("[📎 Image #1]", WAIT);
    chat.enter();
    chat.wait_until(|screen| screen.contains("I see.") && is_idle(screen), WAIT);
    let request = turns(&bench).pop().unwrap().to_string();
    assert!(request.contains("data:image/png;base64,"), "{request}");
}

#[test]
fn nobody_waits_for_a_clipboard_that_hangs() {
    let bench = bench(json!([]));
    let begun = bench.home.work().join("begun");
    let script = format!("#!/bin/sh\n: > '{}'\nexec sleep 600\n", begun.display());
    let program = bench.home.write("bin/wl-paste", script);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let mut chat = Chat::ready(screen(&bench.home, &[]).env("PATH", path).pty(24, 80));
    chat.send("\u{16}");
    eventually(WAIT, "somebody asks the clipboard", || begun.exists());
    chat.send("what I type");
    let shown = chat.wait_for("what I type", WAIT);
    assert!(!shown.contains("clipboard"), "{shown}");
    // It is given up on, and that is said.
    chat.wait_for("there is no image in the clipboard", WAIT);
}
