//! Standard output as people and scripts want it: buffered, coloured only for people, as wide as the screen.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use hermes_home::Env;
use serde::Serialize;

/// Where commands print. Write errors, a closed pipe among them, travel up as ordinary errors.
#[derive(Debug)]
pub struct Out {
    stdout: BufWriter<Stdout>,
    /// It is a terminal that understands more than lines.
    terminal: bool,
    colour: bool,
    width: Option<usize>,
}

impl Out {
    pub fn stdout(env: &Env) -> Self {
        let terminal = io::stdout().is_terminal() && env.get("TERM") != Some("dumb");
        let width = io::stdout()
            .is_terminal()
            .then(terminal_size::terminal_size)
            .flatten();
        Self {
            stdout: BufWriter::new(io::stdout()),
            terminal,
            colour: terminal && env.filled("NO_COLOR").is_none(),
            width: width
                .map(|(width, _)| usize::from(width.0))
                .filter(|width| *width > 0),
        }
    }

    /// Columns of the screen; `None` when nobody is looking and nothing should be cut.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// An empty screen, where there is one; what can be scrolled to goes too.
    pub fn clear(&mut self) -> io::Result<()> {
        match self.terminal {
            true => write!(self.stdout, "\x1b[H\x1b[2J\x1b[3J"),
            false => Ok(()),
        }
    }

    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.stdout, value)?;
        writeln!(self.stdout)
    }

    pub fn heading(&self, text: impl Display) -> String {
        self.paint("1", text)
    }

    pub fn faint(&self, text: impl Display) -> String {
        self.paint("2", text)
    }

    pub fn good(&self, text: impl Display) -> String {
        self.paint("32", text)
    }

    pub fn warn(&self, text: impl Display) -> String {
        self.paint("33", text)
    }

    pub fn bad(&self, text: impl Display) -> String {
        self.paint("31", text)
    }

    fn paint(&self, code: &str, text: impl Display) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdout.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// What came from a model, a chat or a file, made harmless for the terminal: no control characters.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// The same on one line.
pub fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
