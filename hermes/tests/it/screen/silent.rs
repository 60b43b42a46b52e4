//! A model server that says nothing, or dies while it speaks.

use std::time::{Duration, Instant};

use hermes_testkit::{Exit, Fault, FaultProxy};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::leaving::is_restored;
use super::{Chat, WAIT, bench, is_idle, said, turns};
use crate::bench::{Bench, assert_valid, eventually};

/// Longer than a key may take, with room for a busy machine.
const SOON: Duration = Duration::from_millis(600);

fn behind_a_proxy(steps: Value) -> (Bench, FaultProxy) {
    let bench = bench(steps);
    let proxy = FaultProxy::start(bench.model.addr());
    let config = bench.home.read("config.yaml");
    let direct = bench.model.addr().to_string();
    let config = config.replace(&direct, &proxy.addr().to_string());
    bench.home.write("config.yaml", config);
    (bench, proxy)
}

#[test]
fn a_server_that_never_answers_holds_nobody() {
    for key in ["\x1b", "\u{3}"] {
        let (bench, proxy) = behind_a_proxy(json!([{"text": "An answer.", "repeat": true}]));
        let mut chat = Chat::open(&bench);
        proxy.set(Fault::Stall);
        chat.say("hello");
        eventually(WAIT, "it is asked", || proxy.open() > 0);
        chat.wait_for("⚕ ❯", WAIT);
        let pressed = Instant::now();
        chat.send(key);
        chat.wait_until(is_idle, WAIT);
        let took = pressed.elapsed();
        assert!(took < SOON, "{took:?}");
        // It works again, and so does the chat.
        proxy.set(Fault::Pass);
        chat.say("again");
        chat.wait_idle("An answer.");
        assert_valid(&turns(&bench).pop().unwrap());
    }
}

#[test]
fn one_can_leave_while_nobody_answers() {
    let (bench, proxy) = behind_a_proxy(json!([{"text": "An answer.", "repeat": true}]));
    let mut chat = Chat::open(&bench);
    proxy.set(Fault::Stall);
    chat.say("hello");
    eventually(WAIT, "it is asked", || proxy.open() > 0);
    chat.send("\u{3}");
    chat.wait_until(is_idle, WAIT);
    chat.send("\u{3}");
    chat.wait_for("press Ctrl+C again to leave", WAIT);
    let pressed = Instant::now();
    chat.send("\u{3}");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    assert!(
        pressed.elapsed() < Duration::from_secs(3),
        "{:?}",
        pressed.elapsed()
    );
    is_restored(&chat);
}

#[test]
fn a_server_that_dies_while_it_speaks() {
    let long: Vec<String> = (0..200).map(|at| format!("word-{at} ")).collect();
    let (bench, proxy) = behind_a_proxy(json!([
        {"text": long, "between_ms": 20},
        {"text": "An answer.", "repeat": true},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("hello");
    chat.wait_for("word-3", WAIT);
    proxy.set(Fault::Reset);
    chat.wait_until(
        |screen| !screen.contains("word-199") && screen.contains("word-3"),
        WAIT,
    );
    proxy.set(Fault::Pass);
    chat.wait_until(is_idle, WAIT);
    chat.say("again");
    chat.wait_idle("An answer.");
    let request = turns(&bench).pop().unwrap();
    assert_valid(&request);
    assert!(said(&request, "user").concat().contains("hello"));
}
