//! Reading a secret from the person at the terminal, without showing it.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Result;
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// Asks, and reads a line. Without a terminal the line comes from wherever standard input comes from.
pub fn ask(prompt: &str) -> Result<String> {
    // First of all: who sees the question may type at once.
    let hidden = Hidden::start();
    let mut stderr = io::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    if hidden.is_some() {
        // The person's own Enter was not shown either.
        writeln!(stderr)?;
    }
    Ok(line.trim().to_owned())
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Hidden(Termios);

impl Hidden {
    fn start() -> Option<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut quiet = before.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(&stdin, SetArg::TCSANOW, &quiet).ok()?;
        Some(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone needs no mending.
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
    }
}
