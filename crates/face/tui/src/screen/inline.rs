//! The normal screen: finished rows go once into the terminal's scrollback, the live region below them is redrawn.
//!
//! Nothing here knows in which line of the screen it is. The cursor only moves relative to the live region, which
//! stays right when the terminal scrolls or changes its height, and asks the terminal nothing.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use hermes_home::Env;

use super::ink::ink;
use super::{BEGIN, END, Position, SHOW_CURSOR, Size};
use crate::Row;
use crate::look::Links;

/// As many finished rows are written again when everything is drawn anew, and wait at most while nothing is drawn.
pub const HISTORY_ROWS: usize = 5_000;
/// Dragging the edge of a window makes many sizes; the one it ends with counts.
const SETTLE: Duration = Duration::from_millis(75);

#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    size: Size,
    scrollback: Scrollback,
    /// Finished rows that are not written yet.
    pending: VecDeque<Row>,
    /// The live region as it stands on the terminal. Empty: nothing was drawn yet.
    shown: Vec<String>,
    /// The row of the live region the terminal's cursor stands in.
    at: usize,
    cursor: Cursor,
    redraw: Redraw,
    /// A change of size is under way: drawing has to wait until then.
    settles_at: Option<Instant>,
    /// The width was another one meanwhile, whatever it is now.
    rewrapped: bool,
    /// What the numbers in styles mean.
    links: Links,
}

/// What can be done about rows that have left the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scrollback {
    /// They are cleared and written again.
    #[default]
    Clear,
    /// The terminal keeps them for ever; only what is visible is written again.
    Keep,
}

impl Scrollback {
    /// What the terminal that `env` tells of can do.
    pub fn of(env: &Env) -> Self {
        let screen = env
            .get("TERM")
            .is_some_and(|term| term.starts_with("screen"));
        match screen && env.filled("TMUX").is_none() {
            true => Self::Keep,
            false => Self::Clear,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    Unknown,
    Hidden,
    At(Position),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Redraw {
    Changes,
    /// The live region is where it was, but nobody knows what is in it.
    Region,
    /// History too.
    Everything,
}

impl<W: Write> Screen<W> {
    /// The live region begins in the line of the cursor.
    pub fn new(out: W, size: Size, scrollback: Scrollback) -> Self {
        Self {
            out,
            size: at_least_one(size),
            scrollback,
            pending: VecDeque::new(),
            shown: Vec::new(),
            at: 0,
            cursor: Cursor::Unknown,
            redraw: Redraw::Changes,
            settles_at: None,
            rewrapped: false,
            links: Links::default(),
        }
    }

    /// Rows can lead somewhere.
    #[must_use]
    pub fn linked(self, links: Links) -> Self {
        Self { links, ..self }
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Finished rows: the next draw writes them above the live region, for good.
    pub fn push(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.pending.extend(rows);
        let excess = self.pending.len().saturating_sub(HISTORY_ROWS);
        self.pending.drain(..excess);
    }

    /// Shows `live` below what is finished; `cursor` is a place in it. If it is taller than the screen, its end
    /// is shown. Nothing is written if nothing has changed, and nothing before a change of size has settled.
    /// An error means that the terminal is gone.
    pub fn draw(&mut self, live: &[Row], cursor: Option<Position>) -> io::Result<()> {
        if self.settles_at.is_some() {
            return Ok(());
        }
        let (rows, cursor) = self.fit(live, cursor);
        let fresh = self.redraw == Redraw::Changes && self.pending.is_empty();
        if fresh && rows == self.shown && cursor == self.cursor {
            return Ok(());
        }
        let mut frame = BEGIN.to_owned();
        if self.redraw == Redraw::Everything {
            self.wipe(&mut frame, rows.len());
        }
        match fresh && !self.shown.is_empty() {
            true => self.change(&mut frame, &rows),
            false => self.rewrite(&mut frame, &rows),
        }
        self.place(&mut frame, cursor);
        frame.push_str(END);
        self.shown = rows;
        self.cursor = cursor;
        self.redraw = Redraw::Changes;
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }

    /// The terminal said that it has another size. Drawing waits until [`settles_at`](Self::settles_at), when
    /// [`resized`](Self::resized) has to be called.
    pub fn resizing(&mut self, size: Size, now: Instant) {
        let size = at_least_one(size);
        // News of the size we have: it was another one meanwhile, too briefly for us to see.
        self.rewrapped |= size.width != self.size.width || size == self.size;
        self.settles_at = Some(now + SETTLE);
    }

    /// When the size is likely to stay as it is now, if it was changing.
    pub fn settles_at(&self) -> Option<Instant> {
        self.settles_at
    }

    /// The terminal has this size now. If its lines are shorter or longer than they were, the next draw clears
    /// everything and begins with `history`: all rows ever pushed, made for the new width.
    pub fn resized(&mut self, size: Size, history: &mut dyn FnMut(u16) -> Vec<Row>) {
        let size = at_least_one(size);
        let before = std::mem::replace(&mut self.size, size);
        self.settles_at = None;
        let rewrapped = std::mem::take(&mut self.rewrapped) || before.width != size.width;
        // The terminal keeps the line of the cursor on the screen; what is further above went to the scrollback.
        let lost = self.at >= usize::from(size.height);
        if rewrapped || lost {
            self.repaint(history);
        } else {
            self.invalidate();
        }
    }

    /// The next draw clears everything and begins with `history`: all rows ever pushed.
    pub fn repaint(&mut self, history: &mut dyn FnMut(u16) -> Vec<Row>) {
        self.redraw = Redraw::Everything;
        self.pending.clear();
        self.push(history(self.size.width));
    }

    /// Somebody else may have written over the live region: the next draw writes all of it. To be called when an
    /// overlay has closed.
    pub fn invalidate(&mut self) {
        self.cursor = Cursor::Unknown;
        if self.redraw == Redraw::Changes {
            self.redraw = Redraw::Region;
        }
    }

    /// Removes the live region and leaves the cursor in a fresh line below what is finished, for whoever writes
    /// next. The next draw begins there.
    pub fn leave(&mut self) -> io::Result<()> {
        self.settles_at = None;
        if !self.shown.is_empty() || !self.pending.is_empty() {
            self.draw(&[], Some(Position::ORIGIN))?;
        }
        self.shown.clear();
        self.at = 0;
        self.cursor = Cursor::Unknown;
        Ok(())
    }

    /// What fits on the screen: the end of it, and never nothing, because the cursor has to be somewhere.
    fn fit(&self, live: &[Row], cursor: Option<Position>) -> (Vec<String>, Cursor) {
        let hidden = live.len().saturating_sub(usize::from(self.size.height));
        let kept = live.iter().skip(hidden);
        let mut rows: Vec<_> = kept
            .map(|row| ink(row, self.size.width, &self.links))
            .collect();
        if rows.is_empty() {
            rows.push(ink(&Row::default(), self.size.width, &self.links));
        }
        let y = cursor.and_then(|cursor| usize::from(cursor.y).checked_sub(hidden));
        let cursor = match (cursor, y) {
            (Some(cursor), Some(y)) => Cursor::At(Position {
                x: cursor.x.min(self.size.width - 1),
                y: y.min(rows.len() - 1) as u16,
            }),
            _ => Cursor::Hidden,
        };
        (rows, cursor)
    }

    /// An empty screen, with the cursor in its first line.
    fn wipe(&mut self, frame: &mut String, live: usize) {
        self.shown.clear();
        self.at = 0;
        if self.scrollback == Scrollback::Clear {
            // In this order: some terminals save what they clear in the scrollback.
            frame.push_str("\x1b[H\x1b[2J\x1b[3J");
            return;
        }
        for line in 1..=self.size.height {
            let _ = write!(frame, "\x1b[{line};1H\x1b[K");
        }
        frame.push_str("\x1b[H");
        // What would leave the screen is in the scrollback already.
        let room = usize::from(self.size.height).saturating_sub(live);
        let excess = self.pending.len().saturating_sub(room);
        self.pending.drain(..excess);
    }

    /// Writes what is pending and then all rows, beginning at the top of the live region. What does not fit below
    /// pushes finished rows up into the scrollback.
    fn rewrite(&mut self, frame: &mut String, rows: &[String]) {
        let leftover = self.shown.len() > self.pending.len() + rows.len();
        go(frame, self.at, 0);
        for row in self.pending.drain(..) {
            frame.push_str(&ink(&row, self.size.width, &self.links));
            frame.push_str("\r\n");
        }
        for (index, row) in rows.iter().enumerate() {
            let last = index + 1 == rows.len();
            if last && leftover {
                // Not in the first column: clearing from the upper left corner on would make tmux save the screen.
                frame.push_str(" \x1b[J\r");
            }
            frame.push_str(row);
            if !last {
                frame.push_str("\r\n");
            }
        }
        self.at = rows.len() - 1;
    }

    /// Writes only rows that differ from what is there.
    fn change(&mut self, frame: &mut String, rows: &[String]) {
        let there = self.shown.len();
        let mut lines = there;
        for (index, row) in rows.iter().enumerate() {
            if self.shown.get(index) == Some(row) {
                continue;
            }
            go(frame, self.at, index.min(lines - 1));
            if index == lines {
                // There may be no line below yet.
                frame.push_str("\r\n");
                lines += 1;
            }
            frame.push_str(row);
            self.at = index;
        }
        if rows.len() < there {
            go(frame, self.at, rows.len());
            frame.push_str("\x1b[J");
            self.at = rows.len();
        }
    }

    fn place(&mut self, frame: &mut String, cursor: Cursor) {
        let Cursor::At(Position { x, y }) = cursor else {
            return;
        };
        go(frame, self.at, usize::from(y));
        self.at = usize::from(y);
        if x > 0 {
            let _ = write!(frame, "\x1b[{x}C");
        }
        frame.push_str(SHOW_CURSOR);
    }
}

/// Moves the cursor between lines that exist, to the first column.
fn go(frame: &mut String, from: usize, to: usize) {
    frame.push('\r');
    let _ = match from.cmp(&to) {
        std::cmp::Ordering::Less => write!(frame, "\x1b[{}B", to - from),
        std::cmp::Ordering::Greater => write!(frame, "\x1b[{}A", from - to),
        std::cmp::Ordering::Equal => Ok(()),
    };
}

fn at_least_one(size: Size) -> Size {
    Size::new(size.width.max(1), size.height.max(1))
}

#[cfg(test)]
mod tests;
