//! Windows that change their size.

use std::thread;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bars, bench};

// spec: cli-tui §20.18
#[test]
fn every_line_is_there_once_however_the_window_changes() {
    let lines: Vec<_> = (0..200)
        .map(|at| format!("line-{at:03} of many\n\n"))
        .collect();
    let bench = bench(json!([{"text": lines, "between_ms": 6}]));
    let mut chat = Chat::open(&bench);
    chat.say("tell");
    for (at, cols) in [60, 110, 60, 110, 60, 110].into_iter().enumerate() {
        let passed = at * 25 + 10;
        chat.wait_until(|screen| newest(screen) >= passed, WAIT);
        chat.resize(40, cols);
    }
    chat.wait_idle("line-199");
    let all = chat.scrollback();
    for at in 0..200 {
        let name = format!("line-{at:03}");
        let count = all.iter().filter(|line| line.contains(&name)).count();
        assert_eq!(count, 1, "{name} in:\n{}", all.join("\n"));
    }
    assert_eq!(bars(&all.join("\n")), 1, "{}", all.join("\n"));
    let top = all
        .iter()
        .filter(|line| line.contains("╭─ ⚕ Hermes ─"))
        .count();
    assert_eq!(top, 1, "{}", all.join("\n"));
}

/// The number of the last line on the screen.
fn newest(screen: &str) -> usize {
    let numbers = screen.split("line-").skip(1);
    let numbers = numbers.filter_map(|rest| rest.get(..3)?.parse().ok());
    numbers.max().unwrap_or(0)
}

#[test]
fn a_storm_of_sizes_leaves_one_picture() {
    let bench = bench(json!([{"text": "A first answer."}, {"text": "A second answer."}]));
    let mut chat = Chat::open(&bench);
    chat.say("one");
    chat.wait_idle("A first answer.");
    chat.type_in("a draft");
    for at in 0..100u16 {
        chat.resize(10 + at % 30, 20 + (at * 7) % 100);
        thread::sleep(Duration::from_millis(3));
    }
    chat.resize(40, 110);
    let once = |screen: &str| {
        let count = |text: &str| screen.matches(text).count();
        bars(screen) == 1 && count("A first answer.") == 1 && count("❯ a draft") == 1
    };
    chat.wait_until(once, WAIT);
    let all = chat.scrollback().join("\n");
    assert!(once(&all), "{all}");
    chat.enter();
    chat.wait_idle("A second answer.");
}

#[test]
fn a_window_of_one_line_survives() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut chat = Chat::open(&bench);
    for (rows, cols) in [(1, 1), (1, 110), (40, 1), (2, 3)] {
        chat.resize(rows, cols);
        // Until the size counts: the spec of the screen says 75 ms.
        thread::sleep(Duration::from_millis(100));
    }
    chat.resize(40, 110);
    chat.wait_until(|screen| bars(screen) == 1, WAIT);
    chat.say("hello");
    chat.wait_idle("An answer.");
}
