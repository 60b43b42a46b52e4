//! One key after another, as a table.

use std::time::{Duration, Instant};

use hermes_tui::input::{Editor, Pressed};
use pretty_assertions::assert_eq;

use super::{key, press, seen};

#[track_caller]
fn check(text: &str, keys: &str, expected: &str) {
    let mut editor = Editor::new();
    editor.insert(text);
    press(&mut editor, keys);
    assert_eq!(seen(&editor), expected, "{text:?} {keys}");
}

#[test]
fn moving() {
    check("ab", "Left", "a|b");
    check("ab", "Left Left Left", "|ab");
    check("ab", "C-a Right", "a|b");
    check("ab\ncd", "Home", "ab\n|cd");
    check("ab\ncd", "C-Home End", "ab|\ncd");
    check("ab\ncd", "C-Home", "|ab\ncd");
    check("one two", "M-b M-b", "|one two");
    check("one two", "C-Left", "one |two");
    check("one two", "C-a C-Right", "one| two");
    check("one two", "C-a M-f M-f", "one two|");
    check("你👩‍👩‍👧e\u{301}", "Left", "你👩‍👩‍👧|e\u{301}");
    check("你👩‍👩‍👧e\u{301}", "Left Left", "你|👩‍👩‍👧e\u{301}");
}

#[test]
fn rows_up_and_down_keep_their_column() {
    check("abc\nd\nefg", "Up", "abc\nd|\nefg");
    check("abc\nd\nefg", "Up Up", "abc|\nd\nefg");
    check("abc\nd\nefg", "Up Up Down Down", "abc\nd\nefg|");
    check("abcd\n你好", "Left Up", "ab|cd\n你好");
    // Between the columns of a wide character there is no place.
    check("你好\nab", "Left Up", "|你好\nab");
    let mut editor = Editor::new();
    editor.insert("aaaa bbbb cccc");
    editor.rows(8, 8, &hermes_tui::look::Look::plain());
    assert_eq!(press(&mut editor, "Up"), Pressed::Moved);
    assert_eq!(seen(&editor), "aaaa bbbb| cccc");
    assert_eq!(press(&mut editor, "Up Up"), Pressed::Ignored(key("Up")));
    assert_eq!(
        press(&mut editor, "Down Down Down"),
        Pressed::Ignored(key("Down"))
    );
}

#[test]
fn deleting() {
    check("ab", "BS", "a|");
    check("e\u{301}x", "BS BS", "|");
    check("👩‍👩‍👧", "BS", "|");
    check("ab", "C-a Del", "|b");
    check("ab", "C-a C-d", "|b");
    check("ab", "C-h", "a|");
    check("one two", "M-BS", "one |");
    check("a/b-c", "M-BS", "a/b-|");
    check("a/b-c d", "C-w C-w", "|");
    check("one two", "C-a M-d", "| two");
}

#[test]
fn what_was_cut_can_be_put_back() {
    check("one two", "C-w C-y C-y", "one twotwo|");
    check("one two", "C-w C-w C-y", "one two|");
    check("one two", "C-a M-d M-d C-y", "one two|");
    check("ab\ncd", "C-u C-y", "ab\ncd|");
    check("ab\ncd", "C-u C-u", "ab|");
    check("ab\ncd", "C-Home C-k C-k", "|cd");
    check("one two", "C-w Space C-w C-y M-y", "two|");
    // Without something put back just now there is nothing to turn.
    check("one two", "C-w M-y", "one |");
}

/// Completions, pastes and older entries come without a key of the editor's.
#[test]
fn what_changed_meanwhile_is_not_turned() {
    let changes: [fn(&mut Editor); 4] = [
        |editor| editor.set("x"),
        |editor| editor.insert("x"),
        |editor| editor.complete(3, "x"),
        |editor| editor.restore(&Editor::new().stash()),
    ];
    for change in changes {
        let mut editor = Editor::new();
        editor.insert("one two");
        press(&mut editor, "C-w Space C-w C-y");
        change(&mut editor);
        let before = seen(&editor);
        press(&mut editor, "M-y");
        assert_eq!(seen(&editor), before);
    }
    // Nor is what is cut then a part of what was cut before.
    let mut editor = Editor::new();
    editor.insert("one two");
    press(&mut editor, "C-w");
    editor.insert("three");
    press(&mut editor, "C-w C-y");
    assert_eq!(seen(&editor), "one three|");
}

#[test]
fn steps_back_and_forth() {
    check("", "a b Space c d M-z", "ab |");
    check("", "a b Space c d C-_ C-7", "|");
    check("", "a b Space c d M-z M-z M-Z", "ab |");
    check("", "a b BS BS M-z", "ab|");
    check("one two", "C-w M-z", "one two|");
    check("", "a Left b M-z", "|a");
    check("", "a M-z M-Z M-Z", "a|");
}

#[test]
fn line_breaks() {
    for newline in ["M-Enter", "S-Enter", "C-j"] {
        check("", &format!("a {newline} b"), "a\nb|");
    }
    check("a\\", "Enter b", "a\nb|");
    let mut editor = Editor::new();
    editor.insert("a\\b");
    assert_eq!(press(&mut editor, "Enter"), Pressed::Submit);
    assert_eq!(editor.take().text, "a\\b");
    assert!(editor.is_empty());
}

#[test]
fn keys_of_others_come_back() {
    let mut editor = Editor::new();
    for name in [
        "C-c", "C-d", "C-r", "C-t", "C-z", "C-l", "C-g", "M-g", "C-v", "M-v", "Esc", "Tab", "Up",
        "Down", "M-Up",
    ] {
        assert_eq!(
            press(&mut editor, name),
            Pressed::Ignored(key(name)),
            "{name}"
        );
    }
}

#[test]
fn an_enter_of_an_input_method_sends_nothing() {
    let start = Instant::now();
    let after = |typed: &str, millis: u64| {
        let mut editor = Editor::new();
        editor.key(key(typed), start);
        editor.key(key("Enter"), start + Duration::from_millis(millis))
    };
    assert_eq!(after("好", 14), Pressed::Nothing);
    assert_eq!(after("好", 15), Pressed::Submit);
    assert_eq!(after("a", 0), Pressed::Submit);
}

#[test]
fn nothing_typed_drives_the_terminal() {
    let mut editor = Editor::new();
    editor.insert("a\x1b[31m\r\nb\u{7}\u{10f001}");
    assert_eq!(editor.text(), "a[31m\nb\u{fffd}");
}

#[test]
fn one_line_stays_one() {
    let mut line = Editor::line();
    line.insert("a\nb\n");
    assert_eq!(line.text(), "a b");
    assert_eq!(press(&mut line, "C-j"), Pressed::Ignored(key("C-j")));
    let mut secret = Editor::masked();
    secret.insert("sk-\n12");
    assert_eq!(secret.text(), "sk-12");
    assert!(!format!("{secret:?}").contains("sk-"));
}

#[test]
fn ghost_text_is_taken_at_the_end_only() {
    for name in ["Right", "End", "C-e", "C-f"] {
        let mut editor = Editor::new();
        editor.insert("/re");
        editor.set_ghost("set");
        assert_eq!(press(&mut editor, name), Pressed::Changed);
        assert_eq!(editor.text(), "/reset");
    }
    let mut editor = Editor::new();
    editor.insert("/re");
    editor.set_ghost("set");
    press(&mut editor, "Left Right");
    assert_eq!(editor.text(), "/re");
    press(&mut editor, "s");
    assert_eq!(
        press(&mut editor, "Right"),
        Pressed::Nothing,
        "typing makes it old"
    );
}

#[test]
fn what_was_put_aside_comes_back_with_its_tokens_only_while_there_are_some() {
    let mut editor = Editor::new();
    editor.insert("a ");
    editor.insert_image("/tmp/a.png".into());
    press(&mut editor, "Left");
    let stash = editor.stash();
    editor.set("other");
    editor.restore(&stash);
    press(&mut editor, "x");
    assert_eq!(editor.text(), "a x[Image #1]");
    editor.clear();
    editor.insert_image("/tmp/b.png".into());
    editor.restore(&stash);
    assert_eq!(editor.text(), "a ");
}
