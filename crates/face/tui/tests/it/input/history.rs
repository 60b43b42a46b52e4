//! The history: its file, the walk through it, what is not written down.

use std::thread;

use hermes_testkit::TempHome;
use hermes_tui::input::{Editor, History, Pressed};
use pretty_assertions::assert_eq;

use super::{home, key, press, seen};

/// Written by prompt_toolkit 3.0.53.
const FIXTURE: &str = include_str!("../fixtures/prompt_toolkit_history");

#[test]
fn what_prompt_toolkit_wrote_is_read() {
    let temp = TempHome::new();
    temp.write(".hermes_history", FIXTURE);
    let history = History::open(&home(&temp));
    assert_eq!(
        history.entries(),
        [
            "hello",
            "two\nlines",
            "+ plus\n# hash\n\nlast",
            "你好 👩‍👩‍👧 e\u{301}",
            "hello",
            "  indented ",
            "tab\there",
        ]
    );
}

#[test]
fn what_is_written_is_read_again_and_looks_like_theirs() {
    let temp = TempHome::new();
    let mut history = History::open(&home(&temp));
    for entry in ["one", "one", "  ", "two\n\n+ lines\n", "one"] {
        history.add(entry).unwrap();
    }
    let written = temp.read(".hermes_history");
    let shape: Vec<&str> = written
        .lines()
        .map(|line| if line.starts_with('#') { "#" } else { line })
        .collect();
    assert_eq!(
        shape,
        [
            "", "#", "+one", "", "#", "+two", "+", "++ lines", "", "#", "+one"
        ]
    );
    let stamp = written.lines().nth(1).unwrap();
    assert_eq!(stamp.len(), "# 2026-11-16 10:42:30.154860".len(), "{stamp}");
    assert_eq!(temp.mode(".hermes_history"), 0o600);
    assert_eq!(
        History::open(&home(&temp)).entries(),
        ["one", "two\n\n+ lines", "one"]
    );
}

#[test]
fn secrets_are_not_written_down() {
    let temp = TempHome::new();
    let mut history = History::open(&home(&temp));
    let secret = "use sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789 please";
    history.add(secret).unwrap();
    history.add("harmless").unwrap();
    assert_eq!(History::open(&home(&temp)).entries(), ["harmless"]);
    assert_eq!(
        history.entries(),
        [secret, "harmless"],
        "the arrow keys still have it"
    );
}

#[test]
fn long_files_are_read_from_their_end() {
    let temp = TempHome::new();
    let mut text = "\n# first\n".to_owned() + &"+cut through\n".repeat(400_000);
    for n in 0..12_000 {
        text.push_str(&format!("\n# time\n+entry {n}\nnonsense\n"));
    }
    temp.write(".hermes_history", text);
    let history = History::open(&home(&temp));
    assert_eq!(history.entries().len(), 10_000);
    assert_eq!(history.entries().last().unwrap(), "entry 11999");
    temp.write(
        ".hermes_history",
        "+old\n".repeat(1_000_000) + "\n# t\n+\u{fffd}new",
    );
    assert_eq!(History::open(&home(&temp)).entries(), ["\u{fffd}new"]);
    temp.write(".hermes_history", b"\n# t\n+a\xffb\n");
    assert_eq!(History::open(&home(&temp)).entries(), ["a\u{fffd}b"]);
}

#[test]
fn two_processes_write_whole_entries() {
    let temp = TempHome::new();
    let home = home(&temp);
    thread::scope(|scope| {
        for writer in 0..4 {
            let home = &home;
            scope.spawn(move || {
                let mut history = History::open(home);
                for n in 0..50 {
                    history.add(&format!("{writer}\n{n}\nend")).unwrap();
                }
            });
        }
    });
    let history = History::open(&home);
    assert_eq!(history.entries().len(), 200);
    assert!(
        history
            .entries()
            .iter()
            .all(|entry| entry.lines().count() == 3)
    );
}

#[test]
fn the_walk_keeps_what_was_typed() {
    let temp = TempHome::new();
    let mut history = History::open(&home(&temp));
    for entry in ["first", "second\nline", "third"] {
        history.add(entry).unwrap();
    }
    let mut editor = Editor::new();
    editor.insert("draft");
    press(&mut editor, "Left");
    assert!(!history.newer(&mut editor));
    assert!(history.older(&mut editor));
    assert_eq!(editor.text(), "third");
    editor.insert("!");
    assert!(history.older(&mut editor));
    assert_eq!(seen(&editor), "second\nline|");
    // Inside of several lines the arrows are the editor's.
    assert_eq!(press(&mut editor, "Up"), Pressed::Moved);
    assert_eq!(press(&mut editor, "Up"), Pressed::Ignored(key("Up")));
    assert!(history.older(&mut editor));
    assert!(!history.older(&mut editor));
    assert_eq!(editor.text(), "first");
    assert!(history.newer(&mut editor));
    assert!(history.newer(&mut editor));
    assert_eq!(
        editor.text(),
        "third!",
        "what was changed on the way is kept"
    );
    assert!(history.newer(&mut editor));
    assert_eq!(seen(&editor), "draf|t");
    assert!(!history.newer(&mut editor));
    history.older(&mut editor);
    history.add("fourth").unwrap();
    editor.clear();
    history.older(&mut editor);
    assert_eq!(editor.text(), "fourth");
    history.newer(&mut editor);
    assert_eq!(editor.text(), "");
}

#[test]
fn how_a_line_went_on() {
    let temp = TempHome::new();
    let mut history = History::open(&home(&temp));
    for entry in ["fix the bug", "fix the test\nand more", "other"] {
        history.add(entry).unwrap();
    }
    assert_eq!(history.suggest("fix"), Some(" the test"));
    assert_eq!(history.suggest("fix the b"), Some("ug"));
    assert_eq!(history.suggest("other"), None);
    assert_eq!(history.suggest(""), None);
}

#[test]
fn an_unreadable_file_is_an_empty_history() {
    let temp = TempHome::new();
    let home = home(&temp);
    std::fs::create_dir(temp.hermes().join(".hermes_history")).unwrap();
    let mut history = History::open(&home);
    assert!(history.entries().is_empty());
    let error = history.add("text").unwrap_err().to_string();
    assert!(error.contains(".hermes_history"), "{error}");
    assert_eq!(history.entries(), ["text"]);
}
