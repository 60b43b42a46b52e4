//! One widget on a terminal of its own: the alternate screen, keys one by one, and everything back in the end.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};
use crossterm::{cursor, execute, queue, terminal};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Size;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::{Outcome, Step, Widget};
use crate::Row;
use crate::look::Look;

/// Shows a widget until it is answered. What was typed before it was to be seen is no answer.
pub fn on_terminal<W: Widget>(mut widget: W, look: &Look) -> io::Result<Outcome<W::Answer>> {
    let mut screen = Screen::enter()?;
    drain()?;
    loop {
        screen.draw(&widget, look)?;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                if let Step::Done(outcome) = widget.key(key) {
                    drain()?;
                    return Ok(outcome);
                }
            }
            Event::Paste(text) => widget.paste(&text),
            _ => {}
        }
    }
}

/// Reads a line nobody sees, on a terminal that knows nothing but lines.
pub(super) fn hidden_line() -> io::Result<String> {
    terminal::enable_raw_mode()?;
    let typed = read_hidden();
    terminal::disable_raw_mode()?;
    writeln!(io::stderr())?;
    typed
}

fn read_hidden() -> io::Result<String> {
    use crossterm::event::{KeyCode, KeyModifiers};
    let mut line = String::new();
    loop {
        let Event::Key(key) = event::read()? else {
            continue;
        };
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if is_ctrl => return Err(io::ErrorKind::Interrupted.into()),
            KeyCode::Enter => return Ok(line),
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

/// Whether a terminal is in our hands. A panic must give it back before it says what happened, and the hook of a
/// process knows nothing else.
static HELD: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// A terminal in raw mode on its alternate screen; dropping it brings back what was.
struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Screen {
    fn enter() -> io::Result<Self> {
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        let options = TerminalOptions {
            viewport: Viewport::Fullscreen,
        };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stdout()), options)?;
        HELD.store(true, Ordering::SeqCst);
        // From here on dropping it undoes whatever has been done.
        let mut screen = Self { terminal };
        terminal::enable_raw_mode()?;
        execute!(
            io::stdout(),
            terminal::EnterAlternateScreen,
            event::EnableBracketedPaste
        )?;
        screen.terminal.clear()?;
        Ok(screen)
    }

    fn draw<W: Widget>(&mut self, widget: &W, look: &Look) -> io::Result<()> {
        queue!(io::stdout(), terminal::BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(|frame| {
            let area = frame.area();
            let size = Size::new(area.width, area.height);
            let rows = widget.rows(size, look);
            put(&rows, frame.buffer_mut());
            if let Some(position) = widget.cursor(size) {
                frame.set_cursor_position(position);
            }
        });
        execute!(io::stdout(), terminal::EndSynchronizedUpdate)?;
        drawn.map(drop)
    }
}

fn put(rows: &[Row], buffer: &mut ratatui::buffer::Buffer) {
    let area = buffer.area;
    for (y, row) in (0..area.height).zip(rows) {
        buffer.set_line(0, y, row, area.width);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    if !HELD.swap(false, Ordering::SeqCst) {
        return;
    }
    // A terminal that is gone has nothing to be given back.
    let _ = execute!(
        io::stdout(),
        event::DisableBracketedPaste,
        terminal::LeaveAlternateScreen,
        cursor::Show
    );
    let _ = terminal::disable_raw_mode();
}

/// Whether widgets can be drawn: both ends are a terminal.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}
