//! The alternate screen: something that covers everything for a while, and leaves no trace.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::ink::ink;
use super::{BEGIN, END, Position, SHOW_CURSOR, Size, restore};
use crate::Row;

/// As long as it lives, the terminal shows this instead of the normal screen. Dropping it brings back what was
/// there, with the cursor where it was; a [`Screen`](super::Screen) must not draw meanwhile, and has to be
/// [invalidated](super::Screen::invalidate) after, or told of a new size.
#[derive(Debug)]
pub struct Overlay<W: Write> {
    out: W,
    size: Size,
    /// What stands in the lines of the screen.
    shown: Vec<String>,
    cursor: Option<Position>,
}

impl<W: Write> Overlay<W> {
    pub fn open(mut out: W, size: Size) -> io::Result<Self> {
        restore::note(|entered| entered.overlay = true);
        out.write_all(b"\x1b[?1049h\x1b[?25l\x1b[2J")?;
        out.flush()?;
        Ok(Self {
            out,
            size,
            shown: blank(size),
            cursor: None,
        })
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// The terminal has another size now; the next draw writes everything.
    pub fn resized(&mut self, size: Size) {
        self.size = size;
        self.shown.clear();
    }

    /// Shows `rows` from the top; lines below them are blank, rows that don't fit are cut off.
    pub fn draw(&mut self, rows: &[Row], cursor: Option<Position>) -> io::Result<()> {
        let kept = rows.iter().take(self.size.height.into());
        let mut lines: Vec<_> = kept.map(|row| ink(row, self.size.width)).collect();
        lines.resize(
            self.size.height.into(),
            ink(&Row::default(), self.size.width),
        );
        if lines == self.shown && cursor == self.cursor {
            return Ok(());
        }
        let mut frame = BEGIN.to_owned();
        for (index, line) in lines.iter().enumerate() {
            if self.shown.get(index) != Some(line) {
                let _ = write!(frame, "\x1b[{};1H{line}", index + 1);
            }
        }
        if let Some(Position { x, y }) = cursor {
            let _ = write!(frame, "\x1b[{};{}H{SHOW_CURSOR}", y + 1, x + 1);
        }
        frame.push_str(END);
        self.shown = lines;
        self.cursor = cursor;
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Overlay<W> {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing anyway.
        let _ = self.out.write_all(b"\x1b[?1049l\x1b[?25h");
        let _ = self.out.flush();
        restore::note(|entered| entered.overlay = false);
    }
}

fn blank(size: Size) -> Vec<String> {
    vec![ink(&Row::default(), size.width); size.height.into()]
}
