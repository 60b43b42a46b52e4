//! vi's keys, as a table.

use hermes_tui::input::{Editor, Keys, Pressed};
use pretty_assertions::assert_eq;

use super::{key, press, seen};

/// Types the keys after the text was put in and Escape pressed.
#[track_caller]
fn check(text: &str, keys: &str, expected: &str) {
    let mut editor = Editor::new();
    editor.set_keys(Keys::Vi);
    editor.insert(text);
    press(&mut editor, "Esc");
    press(&mut editor, keys);
    assert_eq!(seen(&editor), expected, "{text:?} {keys}");
}

#[test]
fn moving() {
    check("one two", "h", "one t|wo");
    check("one two", "0 l", "o|ne two");
    check("one two", "0 w", "one |two");
    check("one two", "b b", "|one two");
    check("one two", "0 e", "on|e two");
    check("one two", "0 $", "one tw|o");
    check("one two", "$ l l", "one tw|o");
    check("  one", "^", "  |one");
    check("a\nb\nc", "g g", "|a\nb\nc");
    check("a\nb\nc", "g g G", "a\nb\n|c");
    check("ab\ncd", "k", "a|b\ncd");
    check("ab\ncd", "k j", "ab\nc|d");
    check("ab\ncd", "0 h", "ab\n|cd");
    check("x你👩‍👩‍👧", "h", "x|你👩‍👩‍👧");
}

#[test]
fn changing() {
    check("one", "x", "o|n");
    check("a", "x x", "|");
    check("one two", "0 D", "|");
    check("one two", "b C x", "one x|");
    check("one two", "0 d w", "|two");
    check("one two", "0 c w x", "x| two");
    check("one two", "d b", "one |o");
    check("one two", "0 d e p", " on|etwo");
    check("a\nb\nc", "k d d", "a\n|c");
    check("a\nb\nc", "k d d p", "a\nc\n|b");
    check("a\nb", "d d", "|a");
    check("a", "d d p", "\n|a");
    check("ab", "c c x", "x|");
    check("ab", "d Esc x", "|a");
    check("ab", "d Left d", "|ab");
    check("one", "x u", "on|e");
}

#[test]
fn typing_again() {
    check("ab", "i x", "ax|b");
    check("ab", "a x", "abx|");
    check("ab", "I x", "x|ab");
    check("ab", "0 A x", "abx|");
    check("ab\ncd", "k o x", "ab\nx|\ncd");
    check("ab\ncd", "O x", "ab\nx|\ncd");
}

#[test]
fn the_ways_out() {
    let mut editor = Editor::new();
    editor.set_keys(Keys::Vi);
    editor.insert("a");
    assert!(!editor.is_commanding());
    assert_eq!(press(&mut editor, "Esc"), Pressed::Moved);
    assert!(editor.is_commanding());
    assert_eq!(press(&mut editor, "Esc"), Pressed::Ignored(key("Esc")));
    assert_eq!(press(&mut editor, "k"), Pressed::Ignored(key("Up")));
    assert_eq!(press(&mut editor, "C-r"), Pressed::Ignored(key("C-r")));
    assert_eq!(press(&mut editor, "Enter"), Pressed::Submit);
    editor.take();
    assert!(!editor.is_commanding());
}
