//! `hermes demo`

use std::time::Duration;

use hermes_testkit::{Exit, TempHome};

use crate::{command, hermes};

#[test]
fn the_demonstration_needs_nothing_and_leaves_nothing() {
    let home = TempHome::new();
    let output = hermes(&home, &["demo"]);
    for part in [
        "scripted",
        "read_file greet.sh",
        "HTTP 429",
        "terminal denied",
        "echo \"Hello, $name!\"",
        "old-logs: still there",
    ] {
        assert!(output.ok().contains(part), "{part} in\n{output}");
    }
    assert!(!home.exists(""), "the owner's home is not touched");
}

#[test]
fn a_person_decides_in_the_demonstration() {
    let home = TempHome::new();
    let mut pty = command(&home, &["demo"]).pty(40, 60);
    pty.wait_for("[4] deny", Duration::from_secs(20));
    pty.send("1\r");
    pty.wait_for("old-logs: gone", Duration::from_secs(20));
    assert_eq!(pty.wait_exit(Duration::from_secs(10)), Exit::Code(0));
}
