//! Keys with their times: which are a paste and which are typed.

use std::time::{Duration, Instant};

use hermes_testkit::TempHome;
use hermes_tui::input::{Burst, Editor, Fed, Limits, Pastes, Pressed};
use pretty_assertions::assert_eq;

use super::{home, key};

/// Feeds keys at their milliseconds; says what came out, `+` before what was only given when its time was over.
fn feed(keys: &[(u64, &str)]) -> Vec<String> {
    let start = Instant::now();
    let mut burst = Burst::default();
    let mut out = Vec::new();
    for (millis, name) in keys {
        let now = start + Duration::from_millis(*millis);
        if let Some(due) = burst.next_deadline().filter(|due| *due <= now) {
            out.extend(burst.tick(due).iter().map(|fed| format!("+{}", say(fed))));
        }
        out.extend(burst.key(key(name), now).iter().map(say));
    }
    if let Some(due) = burst.next_deadline() {
        assert_eq!(burst.tick(due - Duration::from_millis(1)), []);
        out.extend(burst.tick(due).iter().map(|fed| format!("+{}", say(fed))));
    }
    assert_eq!(burst.next_deadline(), None);
    out
}

fn say(fed: &Fed) -> String {
    match fed {
        Fed::Paste(text) => format!("paste {text:?}"),
        Fed::Key(event) => {
            let modifiers = if event.modifiers.is_empty() {
                ""
            } else {
                "modified "
            };
            format!("{modifiers}{}", event.code).to_lowercase()
        }
    }
}

#[track_caller]
fn check(keys: &[(u64, &str)], expected: &[&str]) {
    assert_eq!(feed(keys), expected, "{keys:?}");
}

#[test]
fn typing_is_held_for_a_moment() {
    check(&[(0, "a"), (100, "b")], &["+a", "+b"]);
    check(&[(0, "a"), (8, "b"), (16, "c")], &["+a", "+b", "+c"]);
    check(&[(0, "a"), (5, "b")], &["+a", "+b"]);
    check(&[(0, "a"), (100, "Enter")], &["+a", "enter"]);
    check(&[(0, "a"), (3, "Enter")], &["+a", "+enter"]);
    check(&[(0, "o"), (1, "k"), (2, "Enter")], &["+o", "+k", "+enter"]);
    check(&[(0, "a"), (3, "Left")], &["a", "left"]);
    check(&[(0, "a"), (3, "Tab"), (50, "Tab")], &["+a", "+tab", "tab"]);
    check(&[(0, "C-j")], &["modified j"]);
}

#[test]
fn three_at_once_are_a_paste() {
    check(&[(0, "a"), (7, "b"), (14, "c")], &["+paste \"abc\""]);
    check(
        &[(0, "a"), (1, "Enter"), (2, "b"), (3, "Enter"), (4, "c")],
        &["+paste \"a\\nb\\nc\""],
    );
    check(
        &[
            (0, "a"),
            (1, "b"),
            (2, "c"),
            (3, "Enter"),
            (4, "C-j"),
            (5, "d"),
        ],
        &["+paste \"abc\\nd\""],
    );
    check(
        &[(0, "a"), (1, "b"), (2, "c"), (3, "Esc")],
        &["paste \"abc\"", "esc"],
    );
}

#[test]
fn enter_soon_after_belongs_to_it() {
    let pasted = |enter: u64| feed(&[(0, "a"), (1, "b"), (2, "c"), (enter, "Enter")]);
    assert_eq!(pasted(121), ["+paste \"abc\"", "paste \"\\n\""]);
    assert_eq!(pasted(122), ["+paste \"abc\"", "enter"]);
    check(
        &[(0, "a"), (1, "b"), (2, "c"), (50, "Left"), (60, "Enter")],
        &["+paste \"abc\"", "left", "enter"],
    );
    // A paste that stutters just before the end of a line.
    check(
        &[
            (0, "a"),
            (1, "b"),
            (2, "c"),
            (20, "d"),
            (21, "Enter"),
            (40, "e"),
        ],
        &["+paste \"abc\"", "+paste \"d\\n\"", "+e"],
    );
}

#[test]
fn what_an_input_method_makes_is_never_held() {
    check(&[(0, "你"), (1, "好")], &["你", "好"]);
    check(&[(0, "你"), (100, "Enter")], &["你", "enter"]);
    check(&[(0, "a"), (1, "é"), (2, "b")], &["+paste \"aéb\""]);
    check(
        &[(0, "你"), (1, "好"), (2, "Enter"), (3, "世"), (4, "Enter")],
        &["你", "好", "+paste \"\\n世\\n\""],
    );
}

#[test]
fn terminals_that_mark_their_pastes_need_no_guessing() {
    let start = Instant::now();
    let mut burst = Burst::default();
    assert_eq!(burst.key(key("a"), start), []);
    assert_eq!(burst.bracketed(start), [Fed::Key(key("a"))]);
    for name in ["b", "c", "d", "Enter"] {
        assert_eq!(burst.key(key(name), start), [Fed::Key(key(name))]);
    }
    assert_eq!(burst.next_deadline(), None);
}

#[test]
fn seven_lines_without_marks_are_one_message() {
    let temp = TempHome::new();
    let mut pastes = Pastes::new(&home(&temp), Limits::default());
    let (mut burst, mut editor) = (Burst::default(), Editor::new());
    let mut now = Instant::now();
    let mut sent = Vec::new();
    let mut take = |fed: Vec<Fed>, editor: &mut Editor, now| {
        for fed in fed {
            match fed {
                Fed::Paste(text) => {
                    pastes.insert(&text, editor);
                }
                Fed::Key(event) if editor.key(event, now) == Pressed::Submit => {
                    sent.push(editor.take().text)
                }
                Fed::Key(_) => {}
            }
        }
    };
    for line in 1..=7 {
        for name in ["l", &line.to_string(), "Enter"] {
            now += Duration::from_millis(1);
            let fed = burst.key(key(name), now);
            take(fed, &mut editor, now);
        }
    }
    now = burst.next_deadline().unwrap();
    take(burst.tick(now), &mut editor, now);
    assert!(
        editor.shown().starts_with("[Pasted text #1: 7 lines"),
        "{}",
        editor.shown()
    );
    now += Duration::from_millis(500);
    take(burst.key(key("Enter"), now), &mut editor, now);
    assert_eq!(sent, ["l1\nl2\nl3\nl4\nl5\nl6\nl7\n"]);
}
