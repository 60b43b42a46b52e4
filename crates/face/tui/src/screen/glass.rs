//! A terminal for tests: what it shows and what has left it.

use std::num::NonZeroU16;

use super::Size;

pub(super) struct Glass(pub(super) vt100::Parser);

impl Glass {
    pub(super) fn new(size: Size) -> Self {
        let (rows, columns) = nonzero(size);
        Self(vt100::Parser::new(rows, columns, 20_000))
    }

    pub(super) fn resize(&mut self, size: Size) {
        let (rows, columns) = nonzero(size);
        self.0.set_size(rows, columns);
    }

    /// The lines of the screen, without blanks at their ends.
    pub(super) fn lines(&self) -> Vec<String> {
        let rows = self.0.screen().rows(0, u16::MAX);
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// Everything one can scroll to and see, without blank lines at the end.
    pub(super) fn all(&mut self) -> Vec<String> {
        let screen = self.0.screen_mut();
        let mut all = Vec::new();
        for offset in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(offset);
            let top = screen.rows(0, u16::MAX).next();
            all.push(top.unwrap_or_default().trim_end().to_owned());
        }
        screen.set_scrollback(0);
        all.extend(self.lines());
        let blank = all.iter().rev().take_while(|line| line.is_empty()).count();
        all.truncate(all.len() - blank);
        all
    }

    /// Column and line of the cursor, if one can see it.
    pub(super) fn cursor(&self) -> Option<(u16, u16)> {
        let screen = self.0.screen();
        let (line, column) = screen.cursor_position();
        (!screen.hide_cursor()).then_some((column, line))
    }
}

fn nonzero(size: Size) -> (NonZeroU16, NonZeroU16) {
    let nonzero = |number| NonZeroU16::new(number).unwrap();
    (nonzero(size.height), nonzero(size.width))
}
