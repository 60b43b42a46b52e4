//! Typing that nobody sees.

use std::io::{self, BufRead, Write};
use std::sync::{Mutex, PoisonError};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// How the terminal was before. A process has one terminal, and a signal that ends it nothing else to hold on to.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// As long as it lives, the terminal does not show what is typed. Dropping it, also on the way out of a panic,
/// brings back what was.
#[derive(Debug)]
pub struct Hidden(());

impl Hidden {
    /// `None` if standard input is no terminal, which shows nothing anyway.
    pub fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        // The end of the line moves on to the next one all the same.
        hidden.local_flags.insert(LocalFlags::ECHONL);
        // What was typed before the question is no answer to it.
        let mut kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(before);
        drop(kept);
        let hidden = tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &hidden);
        // What could not be changed is brought back all the same: by dropping it.
        let begun = Self(());
        hidden.is_ok().then_some(begun)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        show_typing();
    }
}

/// Brings back what [`Hidden`] changed. May be called from anywhere, as often as one likes.
pub fn show_typing() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        // A terminal that is gone has nothing to show.
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &before);
    }
}

/// Asks for a secret, and reads a line. Without a terminal it comes from wherever standard input comes from.
pub fn ask_hidden(prompt: &str) -> io::Result<String> {
    // First of all: who sees the question may type at once.
    let _hidden = Hidden::begin();
    let mut stderr = io::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}
