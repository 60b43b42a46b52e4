//! One widget on a terminal of its own: the alternate screen, keys one by one, and everything back in the end.

use std::io::{self, IsTerminal};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use hermes_home::Env;

use super::{Outcome, Step, Widget};
use crate::look::Look;
use crate::screen::{Keyboard, Overlay, Size, Terminal};

/// Shows a widget until it is answered. What was typed before it was to be seen is no answer.
pub fn on_terminal<W: Widget>(
    mut widget: W,
    env: &Env,
    look: &Look,
) -> io::Result<Outcome<W::Answer>> {
    let terminal = Terminal::enter(env, Keyboard::Off)?;
    let mut overlay = Overlay::open(terminal.out(), terminal.size()?)?;
    drain()?;
    loop {
        let size = overlay.size();
        overlay.draw(&widget.rows(size, look), widget.cursor(size))?;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                if let Step::Done(outcome) = widget.key(key) {
                    drain()?;
                    return Ok(outcome);
                }
            }
            Event::Paste(text) => widget.paste(&text),
            Event::Resize(width, height) => overlay.resized(Size { width, height }),
            _ => {}
        }
    }
}

/// A terminal that knows nothing but lines, while what is typed is not to be seen. It begins before the question is
/// to be seen: an answer typed between the two would be echoed, and its end taken for another key.
pub(super) struct Unseen;

impl Unseen {
    pub fn begin() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let unseen = Self;
        drain()?;
        Ok(unseen)
    }

    /// `None` if it was left.
    pub fn line(&self) -> io::Result<Option<String>> {
        let mut line = String::new();
        loop {
            let Event::Key(key) = event::read()? else {
                continue;
            };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
                (KeyCode::Char('c'), true) => return Err(io::ErrorKind::Interrupted.into()),
                (KeyCode::Char('d'), true) | (KeyCode::Esc, _) => return Ok(None),
                // A pasted line may end in a line feed, which is this key.
                (KeyCode::Char('j'), true) | (KeyCode::Enter, _) => return Ok(Some(line)),
                (KeyCode::Backspace, _) => drop(line.pop()),
                (KeyCode::Char(c), false) => line.push(c),
                _ => {}
            }
        }
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = terminal::disable_raw_mode();
    }
}

/// What is typed ahead, or what a terminal answers late, belongs to no question.
fn drain() -> io::Result<()> {
    while event::poll(Duration::ZERO)? {
        event::read()?;
    }
    Ok(())
}

/// Whether widgets can be drawn: both ends are a terminal.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}
