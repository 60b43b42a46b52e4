//! Questions about dangerous commands.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Chat, WAIT, bench, said, terminal, turns};
use crate::bench::Bench;

/// Keys that were on their way when a question appeared answer nothing for this long.
const GUARD: Duration = Duration::from_millis(320);

/// A model that wants to delete a directory in which there is something.
fn dangerous() -> Bench {
    let bench = bench(json!([terminal("rm -rf victim"), {"text": "as you wish"}]));
    fs::create_dir(bench.home.work().join("victim")).unwrap();
    fs::write(bench.home.work().join("victim/file"), "precious").unwrap();
    bench
}

fn victim(bench: &Bench) -> bool {
    bench.home.work().join("victim/file").exists()
}

// spec: cli-tui §20.17
#[test]
fn the_fourth_choice_denies() {
    let bench = dangerous();
    let mut chat = Chat::open(&bench);
    chat.say("clean up");
    let screen = chat.wait_for("4 Deny", WAIT);
    for choice in [
        "Dangerous Command (",
        "rm -rf victim",
        "1 Allow once",
        "2 Allow for this session",
        "3 Add to permanent allowlist",
    ] {
        assert!(screen.contains(choice), "{choice}: {screen}");
    }
    thread::sleep(GUARD);
    chat.send("4");
    let screen = chat.wait_idle("as you wish");
    assert!(
        screen.contains("⚠ Approval: rm -rf victim → denied"),
        "{screen}"
    );
    assert!(victim(&bench));
    let result = said(&turns(&bench)[1], "tool")
        .pop()
        .unwrap()
        .to_lowercase();
    assert!(
        result.contains("denied") || result.contains("deny"),
        "{result}"
    );
}

#[test]
fn no_answer_denies_in_time() {
    let bench = dangerous();
    let config = bench.home.read("config.yaml");
    bench
        .home
        .write("config.yaml", format!("{config}approvals:\n  timeout: 1\n"));
    let mut chat = Chat::open(&bench);
    chat.say("clean up");
    chat.wait_for("Dangerous Command (1s)", WAIT);
    let screen = chat.wait_idle("as you wish");
    assert!(screen.contains("⚠ Approval: rm -rf victim → "), "{screen}");
    assert!(!screen.contains("4 Deny"), "{screen}");
    assert!(victim(&bench));
}

#[test]
fn keys_typed_ahead_approve_nothing_and_the_draft_stays() {
    let bench = dangerous();
    let mut chat = Chat::open(&bench);
    chat.say("clean up");
    chat.wait_for("4 Deny", WAIT);
    chat.send("1\r");
    thread::sleep(GUARD);
    let screen = chat.screen();
    assert!(screen.contains("4 Deny") && victim(&bench), "{screen}");
    chat.send("1");
    chat.wait_idle("as you wish");
    assert!(!victim(&bench));
}

#[test]
fn the_time_stands_still_while_somebody_moves() {
    let bench = dangerous();
    let config = bench.home.read("config.yaml");
    bench
        .home
        .write("config.yaml", format!("{config}approvals:\n  timeout: 2\n"));
    let mut chat = Chat::open(&bench);
    chat.say("clean up");
    chat.wait_for("Dangerous Command (", WAIT);
    chat.send("\x1b[B");
    chat.wait_for("s, paused)", WAIT);
    // Longer than the question would have waited.
    thread::sleep(Duration::from_millis(2500));
    let screen = chat.screen();
    assert!(screen.contains("4 Deny"), "{screen}");
    chat.send("1");
    chat.wait_idle("as you wish");
    assert!(!victim(&bench));
}
