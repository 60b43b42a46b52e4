//! The alternate screen: something that covers everything for a while, and leaves no trace.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::ink::ink;
use super::{BEGIN, END, Position, SHOW_CURSOR, Size, restore};
use crate::Row;
use crate::look::Links;

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
        let nowhere = Links::default();
        let line = |row: &Row| ink(row, self.size.width, &nowhere);
        let mut lines: Vec<_> = kept.map(line).collect();
        lines.resize(self.size.height.into(), line(&Row::default()));
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
    vec![ink(&Row::default(), size.width, &Links::default()); size.height.into()]
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::glass::Glass;
    use super::super::{Screen, Scrollback};
    use super::*;

    const SIZE: Size = Size {
        width: 20,
        height: 4,
    };

    fn rows(lines: &[&str]) -> Vec<Row> {
        lines
            .iter()
            .map(|line| Row::raw((*line).to_owned()))
            .collect()
    }

    #[test]
    fn it_covers_the_screen_and_leaves_it_as_it_was() {
        let mut glass = Glass::new(SIZE);
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, SIZE, Scrollback::Clear);
        screen.push(rows(&["1", "2", "3"]));
        screen
            .draw(&rows(&["bar", "> x"]), Some(Position::new(3, 1)))
            .unwrap();
        drop(screen);
        glass.0.process(&out);
        let before = (glass.all(), glass.cursor());
        let mut out = Vec::new();
        let mut overlay = Overlay::open(&mut out, SIZE).unwrap();
        overlay
            .draw(&rows(&["a", "b", "c", "d", "e"]), None)
            .unwrap();
        overlay
            .draw(&rows(&["a", "你"]), Some(Position::new(2, 1)))
            .unwrap();
        overlay.resized(Size::new(10, 3));
        overlay
            .draw(&rows(&["a", "B"]), Some(Position::new(1, 1)))
            .unwrap();
        drop(overlay);
        let end = out.len() - b"\x1b[?1049l\x1b[?25h".len();
        glass.0.process(&out[..end]);
        assert_eq!(glass.lines(), ["a", "B", "", ""]);
        assert_eq!(glass.cursor(), Some((1, 1)));
        glass.0.process(&out[end..]);
        assert_eq!((glass.all(), glass.cursor()), before);
    }

    #[test]
    fn only_changes_are_written() {
        let mut out = Vec::new();
        let mut overlay = Overlay::open(&mut out, SIZE).unwrap();
        let mut draw = |lines: &[&str]| {
            let before = overlay.out.len();
            overlay.draw(&rows(lines), None).unwrap();
            String::from_utf8_lossy(&overlay.out[before..]).into_owned()
        };
        assert_eq!(
            draw(&["a", "b"]),
            format!("{BEGIN}\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K{END}")
        );
        assert_eq!(draw(&["a", "b"]), "");
        assert_eq!(draw(&["a"]), format!("{BEGIN}\x1b[2;1H\x1b[K{END}"));
    }
}
