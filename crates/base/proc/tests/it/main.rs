//! Children as the rest of Hermes sees them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod lifeline;
mod mark;
mod piped;
mod running;
mod sandbox;

use std::time::{Duration, Instant};

use hermes_proc::{Event, Exit, Running, Spawn, Stdin, Tty};

fn sh(script: &str) -> Spawn {
    Spawn {
        program: "/bin/bash".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        dir: "/".into(),
        stdin: Stdin::Null,
        tty: Tty::None,
    }
}

/// Everything a child says until it ends.
async fn all(running: &mut Running) -> (String, Exit) {
    let mut text = String::new();
    loop {
        match running.next().await {
            Event::Output(more) => text += &more,
            Event::Ended(exit) => return (text, exit),
        }
    }
}

/// Reads until the output contains `text`.
async fn until(running: &mut Running, text: &str) -> String {
    let mut heard = String::new();
    while !heard.contains(text) {
        match running.next().await {
            Event::Output(more) => heard += &more,
            Event::Ended(exit) => panic!("ended with {exit:?} after {heard:?}"),
        }
    }
    heard
}

/// Processes that aren't zombies and have `text` in their command line.
fn processes(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .replace('\0', " ")
                .contains(text)
        })
        .collect()
}

/// Waits until there is none, at most `limit`.
#[track_caller]
fn none_left(text: &str, limit: Duration) {
    let start = Instant::now();
    while !processes(text).is_empty() {
        assert!(start.elapsed() < limit, "still there: {text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
