//! What the model says and does, as one sees it.

use std::fs;

use serde_json::json;

use super::{Chat, bench};

// spec: cli-tui §20.20
#[test]
fn markdown_is_drawn() {
    let text = "# A heading\n\nWith **bold** words:\n\n\
        ```python\ndef f():\n    return 42\n```\n\n\
        | key | value |\n|---|---|\n| 漢字 | two |\n| abcd | four |\n\n\
        - outer\n  - inner\n";
    let bench = bench(json!([{"text": text, "chunk": 3}]));
    let mut chat = Chat::open(&bench);
    chat.say("show me");
    let screen = chat.wait_idle("inner");
    assert!(
        !screen.contains("**") && !screen.contains("```"),
        "{screen}"
    );
    let column = |line: &str, text: &str| {
        let line = screen.lines().find(|it| it.contains(line)).unwrap();
        let before = &line[..line.find(text).unwrap()];
        // Each of these characters has two cells.
        before.chars().count() + before.matches(['漢', '字']).count()
    };
    assert_eq!(column("漢字", "two"), column("abcd", "four"), "{screen}");
    assert_eq!(
        column("def f():", "def") + 4,
        column("return 42", "return"),
        "{screen}"
    );
    assert!(
        column("outer", "outer") < column("inner", "inner"),
        "{screen}"
    );
}

// spec: cli-tui §20.21
#[test]
fn a_written_file_has_a_line_and_a_diff() {
    let bench = bench(json!([
        {"tool_calls": [{"name": "write_file", "arguments": {
            "path": "notes/a.txt", "content": "first\nsecond\n"}}]},
        {"tool_calls": [{"name": "patch", "arguments": {
            "path": "notes/a.txt", "old_string": "second", "new_string": "changed"}}]},
        {"text": "It is written."},
    ]));
    let mut chat = Chat::open(&bench);
    chat.say("write it");
    let screen = chat.wait_idle("It is written.");
    let line = screen
        .lines()
        .find(|line| line.contains("write     "))
        .unwrap();
    assert!(line.trim_start().starts_with("┊ ✍️"), "{line:?}");
    assert!(
        line.contains("write     notes/a.txt ") && line.trim_end().ends_with('s'),
        "{line:?}"
    );
    assert!(screen.contains("b/notes/a.txt"), "{screen}");
    for added in ["+ first", "+ second", "- second", "+ changed"] {
        let squeezed: Vec<_> = screen.split_whitespace().collect();
        assert!(squeezed.join(" ").contains(added), "{added}: {screen}");
    }
    let work = bench.home.work().display().to_string();
    assert!(!screen.contains(&format!("a/{work}")), "{screen}");
    assert_eq!(
        fs::read_to_string(bench.home.work().join("notes/a.txt")).unwrap(),
        "first\nchanged\n"
    );
}

// spec: cli-tui §20.22
#[test]
fn thinking_that_is_hidden_is_not_seen() {
    for (shown, reasons) in [("false", false), ("true", true)] {
        let bench = bench(json!([
            {"text": ["<thi", "nk>secret</th", "ink>Answer"]},
            {"reasoning": "quietly", "text": "Said aloud"},
        ]));
        let config = bench.home.read("config.yaml");
        bench.home.write(
            "config.yaml",
            format!("{config}display:\n  show_reasoning: {shown}\n"),
        );
        let mut chat = Chat::open(&bench);
        chat.say("think");
        let screen = chat.wait_idle("Answer");
        assert!(
            !screen.contains("<th") && !screen.contains("nk>"),
            "{screen}"
        );
        assert_eq!(screen.contains("secret"), reasons, "{screen}");
        chat.say("again");
        let screen = chat.wait_idle("Said aloud");
        assert_eq!(screen.contains("quietly"), reasons, "{screen}");
    }
}
