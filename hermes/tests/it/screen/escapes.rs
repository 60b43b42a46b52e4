//! Bytes for the terminal that others wrote: none of them may reach it.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Chat, bars, bench, terminal};

/// A title, the clipboard, an empty screen, the cursor elsewhere, a colour, a question; the last ones without an escape character.
const BAD: &str = "\x1b]0;EVIL\x07\x1b]52;c;RVZJTA==\x07\x1b[2J\x1b[5;5H\x1b[41m\x1b[6n\x1bP+q\x1b\\\u{9b}2J\u{9d}0;EVIL\u{9c}\x0b\x08\x7f\x0c";

/// Sequences of the terminal that a program wrote, without numbers that vary.
fn sequences(output: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in output.match_indices('\x1b') {
        let rest = &output[at + 1..];
        let end = match rest.strip_prefix('[') {
            Some(body) => {
                2 + body
                    .find(|c: char| ('\x40'..='\x7e').contains(&c))
                    .unwrap_or(0)
            }
            None => 1,
        };
        found.insert(rest[..end].to_owned());
    }
    found
}

/// Whether we write such a thing ourselves when nobody changes the size of the window.
fn is_ours(sequence: &str) -> bool {
    let modes = [
        "[?2026h", "[?2026l", "[?2004h", "[?1004h", "[?25h", "[?25l", "[?7h", "[?7l",
    ];
    let moved = |last: char| {
        let number = sequence
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(last));
        number.is_some_and(|number| number.parse::<u16>().is_ok())
    };
    let style = sequence.starts_with('[') && sequence.ends_with('m');
    modes.contains(&sequence)
        || ["[K", "[J"].contains(&sequence)
        || style
        || ['A', 'B', 'C'].into_iter().any(moved)
}

/// Takes out titles that begin as ours do, to their end.
fn without_titles(output: &str) -> String {
    let mut parts = output.split("\x1b]0;hermes — ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find('\x07').expect("a title ends");
        rest.push_str(&part[end + 1..]);
    }
    rest
}

#[track_caller]
fn is_clean(chat: &Chat) {
    let output = String::from_utf8(chat.output()).unwrap();
    // The title of the window is ours; what was there before is saved first.
    let output = output.replace("\x1b[22;0t", "");
    // So is the question what it stands on.
    let output = output.replacen("\x1b]11;?\x1b\\", "", 1);
    let output = without_titles(&output);
    let foreign: Vec<_> = sequences(&output)
        .into_iter()
        .filter(|it| !is_ours(it))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    let control = |c: char| c.is_control() && !['\x1b', '\r', '\n', '\x07'].contains(&c);
    assert!(!output.contains(control), "{:?}", output.find(control));
    // Colours are ours, but nothing here is on red.
    assert!(!output.contains("\x1b[41m"));
}

#[test]
fn an_answer_with_escape_sequences_is_harmless() {
    let deltas: Vec<String> = BAD.chars().map(String::from).collect();
    let code = format!(
        "```sh\n{BAD}\n```\n\n| a{BAD} | b |\n|---|---|\n| {BAD} | 2 |\n\n[link{BAD}](http://x.example/{BAD})"
    );
    let bench = bench(json!([
        {"reasoning": format!("Thought {BAD}"), "text": format!("Before {BAD} after")},
        {"text": deltas},
        {"text": code},
        {"text": "The end."},
    ]));
    let config = bench.home.read("config.yaml");
    bench.home.write(
        "config.yaml",
        format!("{config}display:\n  show_reasoning: true\n"),
    );
    let mut chat = Chat::open(&bench);
    for (words, answer) in [
        ("one", "after"),
        ("two", "╰"),
        ("three", "link"),
        ("four", "The end."),
    ] {
        chat.say(words);
        chat.wait_idle(answer);
    }
    assert_eq!(bars(&chat.screen()), 1, "{}", chat.screen());
    is_clean(&chat);
}

#[test]
fn a_tool_with_escape_sequences_is_harmless() {
    let printed = r"printf '\033]0;EVIL\007\033]52;c;RVZJTA==\007\033[2J\033[5;5H\033[41mred\r\n\302\2332J tail\n'; sleep 0.3; exit 3";
    let bench = bench(json!([
        terminal(printed),
        terminal(&format!("true '{BAD}'")),
        {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": format!("one {BAD}\ntwo\n")}}]},
        {"tool_calls": [{"name": "read_file", "arguments": {"path": format!("no{BAD}thing.txt")}}]},
        {"tool_calls": [{"name": format!("no_such{BAD}"), "arguments": {"query": BAD}}]},
        {"text": "The end."},
    ]));
    let config = bench.home.read("config.yaml");
    bench.home.write(
        "config.yaml",
        format!("{config}display:\n  tool_progress: verbose\n"),
    );
    let mut chat = Chat::ready(super::screen(&bench.home, &["--yolo"]).pty(40, 110));
    chat.say("go");
    let screen = chat.wait_idle("The end.");
    assert_eq!(bars(&screen), 1, "{screen}");
    is_clean(&chat);
}

#[test]
fn an_error_of_the_server_with_escape_sequences_is_harmless() {
    let bench = bench(json!([
        {"status": 400, "body": {"error": {"message": format!("bad {BAD} words"), "type": "invalid_request_error"}}},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("go");
    chat.wait_idle("words");
    is_clean(&chat);
}

#[test]
fn a_question_about_a_command_with_escape_sequences_is_harmless() {
    let bench = bench(json!([
        terminal(&format!("rm -rf victim {BAD}\n# {BAD}")),
        {"text": "The end."},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("go");
    chat.wait_for("Deny", super::WAIT);
    chat.send("\x1b");
    std::thread::sleep(std::time::Duration::from_millis(320));
    chat.send("\x1b");
    chat.wait_idle("The end.");
    is_clean(&chat);
}

#[test]
fn a_complaint_with_escape_sequences_is_harmless() {
    let body =
        json!({"error": {"message": format!("bad {BAD} words"), "type": "invalid_request_error"}});
    let bench = bench(json!([{"status": 400, "body": body}]));
    for args in [["-z", "go"], ["-c", BAD]] {
        let complaint = crate::fails(&bench.home, &args, 1);
        let odd = complaint.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(odd, None, "{complaint:?}");
    }
}
