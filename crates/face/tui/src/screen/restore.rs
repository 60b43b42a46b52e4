//! What must be undone when we leave the terminal, whoever notices first that we do.
//!
//! This is one of the few things a process has only one of: a panic or a signal has nothing else to hold on to.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use super::tty::Tty;

static ENTERED: Mutex<Option<Entered>> = Mutex::new(None);

/// What was done to the terminal.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) tty: Tty,
    pub(super) keyboard: bool,
    /// The title it was given.
    pub(super) title: Option<String>,
    pub(super) overlay: bool,
    /// What the last panic said. Most are contained, and the log has them; only the one that ends the program
    /// is shown, when there is an ordinary terminal again.
    pub(super) panic: Option<String>,
}

/// Brings the terminal back to how it was found. May be called from anywhere, as often as one likes.
pub fn restore_now() {
    let entered = entered().take();
    match entered {
        Some(entered) => entered.undo(),
        // A line that nobody sees is read without more; where keys are a line, this does nothing.
        None => drop(crossterm::terminal::disable_raw_mode()),
    }
}

/// One at a time: two would undo what the other one needs.
pub(super) fn enter(entered: Entered) -> io::Result<()> {
    watch_panics();
    crossterm::terminal::enable_raw_mode()?;
    let keyboard = if entered.keyboard { "\x1b[>1u" } else { "" };
    let mut tty = entered.tty.clone();
    let modes = format!("\x1b[?2004h\x1b[?1004h{keyboard}");
    *self::entered() = Some(entered);
    let written = tty.write_all(modes.as_bytes());
    if written.is_err() {
        restore_now();
    }
    written
}

/// Notes something that must be undone too. Without a terminal of ours there is nothing to note.
pub(super) fn note(change: impl FnOnce(&mut Entered)) {
    if let Some(entered) = entered().as_mut() {
        change(entered);
    }
}

pub(super) fn entered() -> MutexGuard<'static, Option<Entered>> {
    // Nothing here is left half done by a panic.
    ENTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Entered {
    fn undo(mut self) {
        let mut bytes = String::from("\x1b[?2026l");
        let undone = [
            (self.overlay, "\x1b[?1049l"),
            (true, "\x1b[m\x1b[?7h\x1b[?1004l\x1b[?2004l"),
            (self.keyboard, "\x1b[<u"),
            (self.title.is_some(), "\x1b[23;0t"),
            (true, "\x1b[?25h"),
        ];
        bytes.extend(
            undone
                .iter()
                .filter(|(done, _)| *done)
                .map(|(_, undo)| *undo),
        );
        let fatal = self.panic.take().filter(|_| thread::panicking());
        if fatal.is_some() {
            // The cursor is somewhere in what was drawn.
            bytes.push_str("\r\n\x1b[J");
        }
        // A terminal that is gone needs nothing any more.
        let _ = self.tty.write_all(bytes.as_bytes());
        let _ = crossterm::terminal::disable_raw_mode();
        if let Some(words) = fatal {
            let _ = writeln!(self.tty, "{words}");
        }
    }
}

/// While the terminal is ours, a message in the midst of it would destroy the picture, and switching it back would
/// end a chat that goes on: a panic is usually contained. The one that is not unwinds through whoever owns the
/// terminal, and is shown then.
fn watch_panics() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !keep(info) {
                before(info);
            }
        }));
    });
}

/// True if the terminal is ours.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    let mut entered = entered();
    let Some(entered) = entered.as_mut() else {
        return false;
    };
    let trace = Backtrace::capture();
    let words = match trace.status() {
        BacktraceStatus::Captured => format!("{info}\n{trace}"),
        _ => info.to_string(),
    };
    tracing::error!("{words}");
    entered.panic = Some(words);
    true
}
