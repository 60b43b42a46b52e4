//! A tool that prints more than anybody reads.

use std::fs;

use serde_json::json;

use super::{Chat, bars, bench, terminal};

/// Far below what it prints, far above what a chat needs in a build without optimisation.
const MOST_KB: u64 = 120_000;

#[test]
fn a_hundred_megabytes_change_nothing() {
    let bench = bench(json!([
        terminal("yes 'much ado about nothing' | head -c 100000000; echo; echo the end"),
        {"text": "An answer."},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("flood");
    let screen = chat.wait_idle("An answer.");
    assert_eq!(bars(&screen), 1, "{screen}");
    let all = chat.scrollback();
    assert_eq!(bars(&all.join("\n")), 1);
    assert!(all.len() < 100, "the output is no part of the transcript");
    let status = fs::read_to_string(format!("/proc/{}/status", chat.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.unwrap().trim().trim_end_matches(" kB");
    assert!(peak.parse::<u64>().unwrap() < MOST_KB, "{peak} kB");
}
