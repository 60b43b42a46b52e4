//! A chat that is killed without warning: what was said is kept, nothing it started goes on.

use std::collections::BTreeSet;
use std::fs;

use hermes_testkit::{Exit, Signal};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bench, said, screen, terminal, turns};
use crate::bench::{Bench, assert_valid, eventually};
use crate::signals::is_alive;

/// Everything that descends from a process, whatever group or session it is in.
fn descendants(of: u32) -> BTreeSet<String> {
    let parents: Vec<(String, String)> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().into_string().ok()?;
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
            Some((pid, parent.trim().to_owned()))
        })
        .collect();
    let mut all = BTreeSet::from([of.to_string()]);
    loop {
        let below = parents.iter().filter(|(_, parent)| all.contains(parent));
        let below: Vec<String> = below.map(|(pid, _)| pid.clone()).collect();
        let before = all.len();
        all.extend(below);
        if all.len() == before {
            return all;
        }
    }
}

/// Kills the chat, and sees all end that came of it.
#[track_caller]
fn kill(mut chat: Chat) {
    let all = descendants(chat.id());
    chat.signal(Signal::SIGKILL);
    assert_eq!(chat.wait_exit(WAIT), Exit::Signal(9));
    for pid in all {
        eventually(WAIT, "nothing of it is left", || !is_alive(&pid));
    }
}

/// Goes on with the latest conversation; gives what the model is sent.
#[track_caller]
fn go_on(bench: &Bench) -> serde_json::Value {
    let mut chat = Chat::ready(screen(&bench.home, &["-c"]).pty(40, 110));
    chat.say("again");
    chat.wait_idle("after that");
    // Up leads to what was typed before the end, too.
    chat.send("\x1b[A");
    chat.wait_for("❯ again", WAIT);
    chat.send("\x1b[A");
    chat.wait_for("❯ first words", WAIT);
    let request = turns(bench).pop().unwrap();
    assert_valid(&request);
    request
}

#[test]
fn in_the_middle_of_an_answer() {
    let bench = bench(json!([
        {"text": ["It begins", " and never ends"], "stall_after_chunks": 2},
        {"text": "after that"},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("first words");
    chat.wait_for("It begins", WAIT);
    chat.type_in("a draft");
    kill(chat);
    let request = go_on(&bench);
    assert_eq!(said(&request, "user").concat(), "first words\n\nagain");
}

#[test]
fn in_the_middle_of_a_tool() {
    let bench = bench(json!([
        terminal("echo $$ > tool.pid; sleep 301 | sleep 300; touch finished"),
        {"text": "after that"},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("first words");
    let started = bench.home.work().join("tool.pid");
    eventually(WAIT, "the tool runs", || started.exists());
    chat.wait_for("sleep 300", WAIT);
    kill(chat);
    assert!(!bench.home.work().join("finished").exists());
    let request = go_on(&bench);
    assert_eq!(said(&request, "user"), ["first words", "again"]);
    assert_eq!(said(&request, "tool").len(), 1);
}
