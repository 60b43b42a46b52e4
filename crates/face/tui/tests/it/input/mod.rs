//! Typing, and what stands for it: keys in, text and rows out.

mod burst;
mod drawing;
mod editing;
mod history;
mod paste;
mod random;
mod search;
mod vi;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hermes_home::{Env, Home, Resolved};
use hermes_testkit::TempHome;
use hermes_tui::Row;
use hermes_tui::input::{Editor, Pressed};

/// A key as people write it: `C-a`, `M-b`, `S-Enter`, `Up`, `x`.
pub fn key(name: &str) -> KeyEvent {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = name;
    while let Some((modifier, after)) = rest
        .split_once('-')
        .filter(|(m, a)| m.len() == 1 && !a.is_empty())
    {
        modifiers |= match modifier {
            "C" => KeyModifiers::CONTROL,
            "M" => KeyModifiers::ALT,
            "S" => KeyModifiers::SHIFT,
            other => panic!("no modifier {other}"),
        };
        rest = after;
    }
    let code = match rest {
        "Enter" => KeyCode::Enter,
        "Tab" => KeyCode::Tab,
        "BackTab" => KeyCode::BackTab,
        "Esc" => KeyCode::Esc,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "BS" => KeyCode::Backspace,
        "Del" => KeyCode::Delete,
        "Space" => KeyCode::Char(' '),
        other => KeyCode::Char(other.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

/// Presses keys, separated by spaces, each a second after the other; says what became of the last.
pub fn press(editor: &mut Editor, keys: &str) -> Pressed {
    let mut now = Instant::now();
    let mut last = Pressed::Nothing;
    for name in keys.split(' ') {
        now += Duration::from_secs(1);
        last = editor.key(key(name), now);
    }
    last
}

/// The text with `|` where the cursor is.
pub fn seen(editor: &Editor) -> String {
    let before = editor.before_cursor().len();
    let text = editor.text();
    format!("{}|{}", &text[..before], &text[before..])
}

pub fn texts(rows: &[Row]) -> Vec<String> {
    let text = |row: &Row| row.to_string().trim_end().to_owned();
    rows.iter().map(text).collect()
}

pub fn home(temp: &TempHome) -> Home {
    let dir = temp.hermes().to_string_lossy().into_owned();
    let env = Env::from([("HERMES_HOME", dir.as_str()), ("HERMES_CONTAINER", "0")]);
    let home = Resolved::from(None, &env).unwrap().home(&env);
    home.ensure().unwrap();
    home
}
