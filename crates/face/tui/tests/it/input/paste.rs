//! Pastes: what they become in the input, on disk, and when they are sent.

use std::fs;

use hermes_testkit::TempHome;
use hermes_tui::input::{Editor, Gone, Limits, Pasted, Pastes, normal};
use pretty_assertions::assert_eq;

use super::{home, press};

const SEVEN: &str = "1\n2\n3\n4\n5\n6\n7";

fn files(temp: &TempHome) -> Vec<String> {
    let Ok(entries) = fs::read_dir(temp.hermes().join("pastes")) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_long_paste_is_one_piece_and_all_of_it_is_sent() {
    let temp = TempHome::new();
    let mut pastes = Pastes::new(&home(&temp), Limits::default());
    let mut editor = Editor::new();
    editor.insert("explain:");
    assert_eq!(
        pastes.insert(&SEVEN.replace('\n', "\r\n"), &mut editor),
        Pasted::Inserted
    );
    let files = files(&temp);
    assert_eq!(files.len(), 1);
    assert_eq!(
        editor.shown(),
        format!("explain:\n[Pasted text #1: 7 lines → {}]", files[0])
    );
    let file = temp.hermes().join("pastes").join(&files[0]);
    assert_eq!(temp.read(&file), SEVEN);
    assert_eq!(temp.mode(&file), 0o600);
    // The copy is only a copy.
    fs::remove_file(&file).unwrap();
    let draft = editor.take();
    assert_eq!(draft.text, format!("explain:\n{SEVEN}"));
    assert_eq!(
        draft.record,
        format!("explain:\n[Pasted text #1: 7 lines → {}]", file.display())
    );
}

#[test]
fn tokens_are_skipped_and_deleted_whole() {
    let temp = TempHome::new();
    let mut pastes = Pastes::new(&home(&temp), Limits::default());
    let mut editor = Editor::new();
    editor.insert("ab");
    press(&mut editor, "Left");
    pastes.insert(SEVEN, &mut editor);
    assert_eq!(editor.text(), format!("a\n{SEVEN}\nb"));
    press(&mut editor, "Left BS");
    assert_eq!(editor.text(), "a\n\nb");
    press(&mut editor, "M-z");
    assert_eq!(editor.text(), format!("a\n{SEVEN}\nb"));
    press(&mut editor, "C-w C-End C-y");
    assert_eq!(editor.text(), format!("a\n\nb{SEVEN}"));
    press(&mut editor, "M-b M-b x");
    assert_eq!(editor.text(), format!("a\n\nxb{SEVEN}"));
}

#[test]
fn images_have_badges() {
    let mut editor = Editor::new();
    editor.insert("what is ");
    assert_eq!(editor.insert_image("/tmp/a.png".into()), 1);
    assert_eq!(editor.insert_image("/tmp/b.png".into()), 2);
    press(&mut editor, "Left BS");
    assert_eq!(editor.shown(), "what is [📎 Image #2]");
    let draft = editor.take();
    assert_eq!(draft.text, "what is [Image #2]");
    assert_eq!(draft.images.len(), 1);
    assert_eq!(draft.images[0].path.to_str(), Some("/tmp/b.png"));
    assert_eq!(editor.insert_image("/tmp/c.png".into()), 1);
}

#[test]
fn limits() {
    let temp = TempHome::new();
    let check = |limits: Limits, text: &str, token: bool| {
        let mut editor = Editor::new();
        Pastes::new(&home(&temp), limits).insert(text, &mut editor);
        assert_eq!(
            editor.shown().starts_with("[Pasted"),
            token,
            "{limits:?} {}",
            text.len()
        );
        assert_eq!(editor.text(), text);
    };
    let limits = |newlines, chars| Limits { newlines, chars };
    check(limits(5, 2000), "1\n2\n3\n4\n5", false);
    check(limits(5, 2000), "1\n2\n3\n4\n5\n", true);
    check(limits(5, 2000), &"é".repeat(2000), false);
    check(limits(5, 2000), &"é".repeat(2001), true);
    check(limits(0, 2000), SEVEN, false);
    check(limits(5, 0), &"x".repeat(2001), false);
    check(limits(0, 0), &"x\n".repeat(5000), false);
}

#[test]
fn pastes_to_commands_and_forms_stay_text() {
    let temp = TempHome::new();
    let mut pastes = Pastes::new(&home(&temp), Limits::default());
    let mut editor = Editor::new();
    editor.insert("/background ");
    pastes.insert(SEVEN, &mut editor);
    assert_eq!(editor.shown(), format!("/background {SEVEN}"));
    let mut secret = Editor::masked();
    pastes.insert(SEVEN, &mut secret);
    assert_eq!(secret.take().text, "1234567");
    assert_eq!(files(&temp), Vec::<String>::new());
    assert_eq!(pastes.insert("", &mut editor), Pasted::Empty);
}

#[test]
fn a_full_disk_loses_nothing() {
    let temp = TempHome::new();
    let home = home(&temp);
    temp.write("pastes", "in the way");
    let mut editor = Editor::new();
    let pasted = Pastes::new(&home, Limits::default()).insert(SEVEN, &mut editor);
    assert!(matches!(pasted, Pasted::Unsaved(_)), "{pasted:?}");
    assert_eq!(editor.shown(), "[Pasted text #1: 7 lines]");
    let draft = editor.take();
    assert_eq!((draft.text.as_str(), draft.record.as_str()), (SEVEN, SEVEN));
}

#[test]
fn entries_of_the_history_find_their_pastes() {
    let temp = TempHome::new();
    let mut pastes = Pastes::new(&home(&temp), Limits::default());
    let mut editor = Editor::new();
    pastes.insert(SEVEN, &mut editor);
    let record = editor.take().record;
    editor.set(&format!("again {record}, and {record}!"));
    pastes.revive(&mut editor).unwrap();
    assert_eq!(editor.text(), format!("again {SEVEN}, and {SEVEN}!"));
    // Copied from an input into a long paste.
    editor.clear();
    pastes.insert(&format!("{record}\n\n\n\n\nend"), &mut editor);
    assert_eq!(editor.text(), format!("{SEVEN}\n\n\n\n\nend"));
    // What is nowhere any more is not sent as its name.
    editor.set(&record);
    fs::remove_dir_all(temp.hermes().join("pastes")).unwrap();
    let Gone { label, reason } = pastes.revive(&mut editor).unwrap_err();
    assert_eq!(label, record);
    assert!(reason.contains("No such file"), "{reason}");
    assert_eq!(editor.text(), record);
    // Words that only look alike.
    for other in [
        "[Pasted text #1: 7 lines → /etc/passwd]",
        "[Pasted text #1: 7 lines]",
        "[Pasted text #1: x lines → paste_1_1.txt]",
        "[Pasted text #",
    ] {
        editor.set(other);
        pastes.revive(&mut editor).unwrap();
        assert_eq!(editor.text(), other);
    }
}

#[test]
fn what_terminals_leave_in_a_paste() {
    let check = |pasted: &str, expected: &str| assert_eq!(normal(pasted), expected, "{pasted:?}");
    check("a\r\nb\rc\n", "a\nb\nc\n");
    check("\x1b[200~text\x1b[201~", "text");
    check("[200~text[201~", "text");
    check("a\x1b[<0;12;5Mb\x1b[<0;12;5mc", "abc");
    check("a\x1b[M !\"b", "ab");
    check("a\x1b[12;40Rb", "ab");
    check("\x1b[31mred\x1b[0m", "red");
    check("a\x1bb\0c\u{9b}d\x7f", "abcd");
    check("a\x1b[", "a");
    check("a\x1b[1;2", "a");
    check(
        "\x1b[1234567890 1234567890 1234567890 1",
        "1234567890 1234567890 1234567890 1",
    );
    check("tab\there 你好 👩‍👩‍👧", "tab\there 你好 👩‍👩‍👧");
}

#[test]
fn five_megabytes_are_no_work() {
    let temp = TempHome::new();
    let mut pastes = Pastes::new(&home(&temp), Limits::default());
    let mut editor = Editor::new();
    let text = "some words \x1b[0m of a log 漢字\n".repeat(5 << 15);
    pastes.insert(&text, &mut editor);
    // Whoever looks at the whole text for each key does not come to the end of this.
    for _ in 0..500 {
        editor.rows(80, 8, &hermes_tui::look::Look::plain());
        press(&mut editor, "Left x Right");
    }
    assert_eq!(editor.take().text.lines().count(), 5 << 15);
}

#[test]
fn a_draft_that_was_not_sent_comes_back_with_its_images() {
    let mut editor = Editor::new();
    editor.insert("look at ");
    editor.insert_image("/tmp/a.png".into());
    let draft = editor.take();
    assert_eq!(draft.text, "look at [Image #1]");
    editor.take_back(&draft);
    assert_eq!(editor.take().images, draft.images);
}
