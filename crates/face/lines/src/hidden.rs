//! Typing that nobody sees.

use std::io::{self, BufRead, Write};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// As long as it lives, the terminal does not show what is typed. Dropping it, also on the way out of a signal or
/// a panic, brings back what was.
#[derive(Debug)]
pub struct Hidden(Termios);

impl Hidden {
    /// `None` if standard input is no terminal, which shows nothing anyway.
    pub fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        // The end of the line moves on to the next one all the same.
        hidden.local_flags.insert(LocalFlags::ECHONL);
        // What was typed before the question is no answer to it.
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &hidden).ok()?;
        Some(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to show.
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
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
