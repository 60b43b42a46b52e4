//! One widget on a terminal of its own: the alternate screen, keys one by one, and everything back in the end.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};
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

/// Reads a line nobody sees, on a terminal that knows nothing but lines; `None` if it was left.
pub(super) fn hidden_line() -> io::Result<Option<String>> {
    terminal::enable_raw_mode()?;
    let typed = read_hidden();
    terminal::disable_raw_mode()?;
    writeln!(io::stderr())?;
    typed
}

fn read_hidden() -> io::Result<Option<String>> {
    use crossterm::event::{KeyCode, KeyModifiers};
    let mut line = String::new();
    loop {
        let Event::Key(key) = event::read()? else {
            continue;
        };
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_ctrl => return Err(io::ErrorKind::Interrupted.into()),
            KeyCode::Char('d') if is_ctrl => return Ok(None),
            KeyCode::Esc => return Ok(None),
            KeyCode::Enter => return Ok(Some(line)),
            KeyCode::Backspace => drop(line.pop()),
            KeyCode::Char(c) if !is_ctrl && key.kind != KeyEventKind::Release => line.push(c),
            _ => {}
        }
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
