//! Whatever is pressed, the cursor stands between characters, and the way back leads to the beginning.

use std::time::Instant;

use hermes_testkit::TempHome;
use hermes_tui::input::{Editor, Keys, Limits, Pastes};
use hermes_tui::look::Look;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use unicode_segmentation::UnicodeSegmentation;

use super::{home, key};

const KEYS: &[&str] = &[
    "Left", "Right", "Up", "Down", "Home", "End", "C-Home", "C-End", "C-Left", "C-Right", "M-b",
    "M-f", "BS", "Del", "C-k", "C-u", "C-w", "M-d", "M-BS", "C-y", "M-y", "M-z", "M-Z", "C-j",
    "Enter", "Tab", "Esc",
];

#[derive(Clone, Debug)]
enum Move {
    Key(&'static str),
    Type(char),
    Insert(String),
    Set(String),
    Complete(usize),
    Paste(String),
    Image,
    Draw(usize),
}

fn any_char() -> impl Strategy<Value = char> {
    prop_oneof![
        prop::sample::select(vec![
            'a',
            ' ',
            '\\',
            '/',
            '你',
            '好',
            '👩',
            '\u{200d}',
            '\u{301}',
            '🇩',
            '🇪',
            '\u{fe0f}',
            '\u{600}',
            'क',
            '\u{94d}',
            'ष',
            '\u{202e}',
            '\t',
            '\u{10f000}',
            '\r',
        ]),
        any::<char>(),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![4 => any_char(), 1 => Just('\n')], 0..12)
        .prop_map(|chars| chars.into_iter().collect())
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        8 => prop::sample::select(KEYS).prop_map(Move::Key),
        6 => any_char().prop_map(Move::Type),
        4 => prop::sample::select("hjklwbe0^$xdDcCiaAIoOpuGg".chars().collect::<Vec<_>>()).prop_map(Move::Type),
        2 => any_text().prop_map(Move::Insert),
        1 => any_text().prop_map(Move::Set),
        1 => (0..9usize).prop_map(Move::Complete),
        1 => any_text().prop_map(|text| Move::Paste(format!("{text}\n\n\n\n\n"))),
        1 => Just(Move::Image),
        2 => (0..30usize).prop_map(Move::Draw),
    ]
}

fn make(editor: &mut Editor, pastes: &mut Pastes, step: Move) {
    match step {
        Move::Key(name) => {
            editor.key(key(name), Instant::now());
        }
        Move::Type(c) => {
            let event = crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Char(c));
            editor.key(event, Instant::now());
        }
        Move::Insert(text) => editor.insert(&text),
        Move::Set(text) => editor.set(&text),
        Move::Complete(bytes) => editor.complete(bytes, "é/x"),
        Move::Paste(text) => {
            pastes.insert(&text, editor);
        }
        Move::Image => {
            editor.insert_image("/tmp/a.png".into());
        }
        Move::Draw(width) => {
            let drawn = editor.rows(width, 4, &Look::plain());
            assert!(drawn.rows.len() <= 4);
            assert!(usize::from(drawn.cursor.1) < drawn.rows.len());
            assert!(usize::from(drawn.cursor.0) < width.max(1));
            for row in &drawn.rows {
                let columns = hermes_tui::text::width(&row.to_string());
                assert!(columns <= width.max(2), "{row} in {width}");
                assert!(!row.to_string().chars().any(char::is_control));
            }
        }
    }
}

fn is_token(c: char) -> bool {
    ('\u{10f000}'..'\u{10fff0}').contains(&c)
}

/// Whether nothing of what follows the cursor joins what stands before it.
fn is_between(before: &str, after: &str) -> bool {
    if before.ends_with(is_token) || after.starts_with(is_token) {
        return true;
    }
    let text = format!("{before}{after}");
    let mut places = text.grapheme_indices(true).map(|(at, _)| at);
    after.is_empty() || places.any(|at| at == before.len())
}

#[test]
fn any_keys() {
    let temp = TempHome::new();
    let home = home(&temp);
    let moves = prop::collection::vec(any_move(), 0..60);
    let ways = prop::sample::select(vec![Keys::Emacs, Keys::Vi]);
    let outcome =
        TestRunner::default().run(&(ways, any_text(), moves), |(keys, original, moves)| {
            let mut pastes = Pastes::new(&home, Limits::default());
            let mut editor = Editor::new();
            editor.set_keys(keys);
            editor.insert(&original);
            for step in moves {
                make(&mut editor, &mut pastes, step);
                let (before, after) = (editor.before_cursor(), editor.after_cursor());
                prop_assert!(is_between(before, after), "{before:?} | {after:?}");
            }
            for _ in 0..500 {
                editor.key(key("M-z"), Instant::now());
            }
            prop_assert_eq!(editor.text(), "");
            Ok(())
        });
    outcome.unwrap();
}
