//! The input on screens of 40 and 80 columns.

use hermes_testkit::TempHome;
use hermes_tui::input::{Editor, Limits, Pastes};
use hermes_tui::look::Look;
use insta::assert_snapshot;
use pretty_assertions::assert_eq;

use super::{home, press, texts};

fn drawn(editor: &mut Editor, width: usize) -> String {
    let drawn = editor.rows(width, 8, &Look::plain());
    for row in &drawn.rows {
        assert!(row.width() <= width, "{row}");
    }
    let (column, row) = drawn.cursor;
    format!("{}\n@ {column},{row}", texts(&drawn.rows).join("\n"))
}

#[test]
fn text_wraps_under_itself() {
    let mut editor = Editor::new();
    editor.insert(
        "Please look at the parser and tell me why 漢字 end up half a column off.\n\nThen fix it.",
    );
    assert_snapshot!(drawn(&mut editor, 40), @r"
    ❯ Please look at the parser and tell me
      why 漢字 end up half a column off.

      Then fix it.
    @ 14,3
    ");
    assert_snapshot!(drawn(&mut editor, 80), @r"
    ❯ Please look at the parser and tell me why 漢字 end up half a column off.

      Then fix it.
    @ 14,2
    ");
}

#[test]
fn the_cursor_is_where_the_terminal_draws() {
    let check = |text: &str, keys: &str, cursor: (u16, u16)| {
        let mut editor = Editor::new();
        editor.insert(text);
        press(&mut editor, keys);
        assert_eq!(
            editor.rows(11, 8, &Look::plain()).cursor,
            cursor,
            "{text} {keys}"
        );
    };
    check("", "End", (2, 0));
    check("你好", "End", (6, 0));
    check("你好", "Left", (4, 0));
    check("👩‍👩‍👧e\u{301}", "End", (5, 0));
    check("12345678", "End", (10, 0));
    check("123456789", "End", (3, 1));
    check("12345678", "x Left", (2, 1));
    check("a\tb", "End", (8, 0));
}

#[test]
fn long_text_scrolls_and_keeps_the_cursor_in_view() {
    let mut editor = Editor::new();
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
    editor.insert(&lines.join("\n"));
    let drawn = editor.rows(40, 8, &Look::plain());
    assert_eq!((drawn.rows.len(), drawn.cursor), (8, (9, 7)));
    assert_eq!(texts(&drawn.rows)[0], "  line 13");
    press(&mut editor, "Up Up");
    let drawn = editor.rows(40, 8, &Look::plain());
    assert_eq!(
        texts(&drawn.rows)[0],
        "  line 13",
        "nothing moves without need"
    );
    press(&mut editor, "C-Home");
    let drawn = editor.rows(40, 8, &Look::plain());
    assert_eq!(
        (texts(&drawn.rows)[0].as_str(), drawn.cursor),
        ("❯ line 1", (2, 0))
    );
}

#[test]
fn tokens_are_cut_to_the_screen() {
    let temp = TempHome::new();
    std::fs::write(temp.home().join("no"), "").unwrap();
    let broken = home(&temp).at(&temp.home().join("no"));
    let mut pastes = Pastes::new(&broken, Limits::default());
    let mut editor = Editor::new();
    editor.insert("explain:");
    pastes.insert("1\n2\n3\n4\n5\n6\n7", &mut editor);
    editor.insert(" with ");
    editor.insert_image("/tmp/a.png".into());
    assert_snapshot!(drawn(&mut editor, 40), @r"
    ❯ explain:
      [Pasted text #1: 7 lines] with
      [📎 Image #1]
    @ 15,2
    ");
    assert_snapshot!(drawn(&mut editor, 20), @r"
    ❯ explain:
      [Pasted text #1:…
      with
      [📎 Image #1]
    @ 15,3
    ");
    for width in 0..3 {
        assert!(!editor.rows(width, 8, &Look::plain()).rows.is_empty());
    }
}

#[test]
fn hints_are_behind_the_text() {
    let mut editor = Editor::new();
    editor.set_placeholder("msg=interrupt · /queue · /bg · /steer · Ctrl+C cancel");
    editor.set_prompt("⚕ ❯ ");
    assert_snapshot!(drawn(&mut editor, 40), @r"
    ⚕ ❯ msg=interrupt · /queue · /bg · /st…
    @ 4,0
    ");
    editor.insert("/res");
    editor.set_ghost("ume");
    assert_snapshot!(drawn(&mut editor, 40), @r"
    ⚕ ❯ /resume
    @ 8,0
    ");
}

#[test]
fn a_secret_is_dots() {
    let mut editor = Editor::masked();
    editor.insert("sk-1é");
    assert_snapshot!(drawn(&mut editor, 40), @r"
    🔑 •••••
    @ 8,0
    ");
}
