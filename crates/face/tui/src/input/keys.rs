//! Which key does what in the editor.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Who taught the owner's fingers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    #[default]
    Emacs,
    Vi,
}

/// Something the editor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Insert(char),
    Newline,
    Enter,
    Go(Go),
    Cut(Cut),
    DeleteBack,
    DeleteForward,
    Yank,
    YankOlder,
    Undo,
    Redo,
}

/// Where the cursor can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Start,
    End,
    Up,
    Down,
}

/// What can be cut at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    LineStart,
    LineEnd,
    WordLeft,
    WordRight,
    /// Back to the last white space.
    BlankLeft,
}

/// What a key means here; nothing for the keys of others.
pub fn act(key: KeyEvent) -> Option<Act> {
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    let rest = key.modifiers.difference(KeyModifiers::SHIFT);
    if rest.is_empty() {
        plain(key.code, shift)
    } else if rest == KeyModifiers::CONTROL {
        control(key.code)
    } else if rest == KeyModifiers::ALT {
        alt(key.code)
    } else {
        None
    }
}

fn plain(code: KeyCode, shift: bool) -> Option<Act> {
    Some(match code {
        KeyCode::Char(c) => Act::Insert(c),
        KeyCode::Enter if shift => Act::Newline,
        KeyCode::Enter => Act::Enter,
        KeyCode::Backspace => Act::DeleteBack,
        KeyCode::Delete => Act::DeleteForward,
        KeyCode::Left => Act::Go(Go::Left),
        KeyCode::Right => Act::Go(Go::Right),
        KeyCode::Up => Act::Go(Go::Up),
        KeyCode::Down => Act::Go(Go::Down),
        KeyCode::Home => Act::Go(Go::LineStart),
        KeyCode::End => Act::Go(Go::LineEnd),
        _ => return None,
    })
}

fn control(code: KeyCode) -> Option<Act> {
    let code = match code {
        KeyCode::Char(c) => KeyCode::Char(c.to_ascii_lowercase()),
        code => code,
    };
    Some(match code {
        KeyCode::Char('a') => Act::Go(Go::LineStart),
        KeyCode::Char('e') => Act::Go(Go::LineEnd),
        KeyCode::Char('b') => Act::Go(Go::Left),
        KeyCode::Char('f') => Act::Go(Go::Right),
        KeyCode::Char('p') => Act::Go(Go::Up),
        KeyCode::Char('n') => Act::Go(Go::Down),
        KeyCode::Left => Act::Go(Go::WordLeft),
        KeyCode::Right => Act::Go(Go::WordRight),
        KeyCode::Home => Act::Go(Go::Start),
        KeyCode::End => Act::Go(Go::End),
        KeyCode::Char('k') => Act::Cut(Cut::LineEnd),
        KeyCode::Char('u') => Act::Cut(Cut::LineStart),
        KeyCode::Char('w') => Act::Cut(Cut::BlankLeft),
        KeyCode::Backspace => Act::Cut(Cut::WordLeft),
        KeyCode::Delete => Act::Cut(Cut::WordRight),
        KeyCode::Char('y') => Act::Yank,
        KeyCode::Char('d') => Act::DeleteForward,
        KeyCode::Char('h') => Act::DeleteBack,
        KeyCode::Char('j') => Act::Newline,
        // Terminals send one byte for Ctrl with `_`, `/` and `7`.
        KeyCode::Char('_' | '/' | '7' | '-') => Act::Undo,
        _ => return None,
    })
}

fn alt(code: KeyCode) -> Option<Act> {
    Some(match code {
        KeyCode::Char('b') | KeyCode::Left => Act::Go(Go::WordLeft),
        KeyCode::Char('f') | KeyCode::Right => Act::Go(Go::WordRight),
        KeyCode::Char('<') => Act::Go(Go::Start),
        KeyCode::Char('>') => Act::Go(Go::End),
        KeyCode::Char('d') | KeyCode::Delete => Act::Cut(Cut::WordRight),
        KeyCode::Backspace => Act::Cut(Cut::WordLeft),
        KeyCode::Char('y') => Act::YankOlder,
        KeyCode::Char('z') => Act::Undo,
        KeyCode::Char('Z') => Act::Redo,
        KeyCode::Enter => Act::Newline,
        _ => return None,
    })
}
