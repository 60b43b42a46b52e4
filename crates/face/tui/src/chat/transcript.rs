//! Everything that is finished: kept as what it is, so that it can be drawn again at another width.

use std::collections::VecDeque;

use super::growing;
use crate::Row;
use crate::cells::{Cell, Detail};
use crate::look::Look;
use crate::screen::HISTORY_ROWS;

/// Text kept for drawing again; older things stay in the terminal's own scrollback.
const MOST_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct Transcript {
    cells: VecDeque<Cell>,
    bytes: usize,
    /// Rows the screen has not got yet.
    fresh: Vec<Row>,
}

impl Transcript {
    /// Something that is finished and was not on the screen.
    pub fn add(&mut self, cell: Cell, width: u16, look: &Look) {
        self.fresh.extend(growing::rows(&cell, width, look));
        self.keep(cell);
    }

    /// Something that is finished and whose rows the screen has, or gets by [`show`](Self::show).
    pub fn keep(&mut self, cell: Cell) {
        self.bytes += growing::bytes(&cell);
        self.cells.push_back(cell);
        while self.bytes > MOST_BYTES && self.cells.len() > 1 {
            let gone = self.cells.pop_front();
            self.bytes -= gone.as_ref().map_or(0, growing::bytes);
        }
    }

    /// Rows of something that is still growing.
    pub fn show(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.fresh.extend(rows);
    }

    /// Rows for the screen, each once.
    pub fn take_fresh(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.fresh)
    }

    /// The same without the last ones, which come later.
    pub fn take_all_but(&mut self, held: usize) -> Vec<Row> {
        let rest = self.fresh.len().saturating_sub(held);
        let rest = self.fresh.split_off(rest);
        std::mem::replace(&mut self.fresh, rest)
    }

    /// What [`take_all_but`](Self::take_all_but) would take.
    pub fn fresh_but(&self, held: usize) -> &[Row] {
        &self.fresh[..self.fresh.len().saturating_sub(held)]
    }

    /// How many rows wait for the screen.
    pub fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// All of it again, as far as a screen takes it.
    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        let mut parts = Vec::new();
        let mut count = 0;
        for cell in self.cells.iter().rev() {
            if count >= HISTORY_ROWS {
                break;
            }
            let rows = growing::rows(cell, width, look);
            count += rows.len();
            parts.push(rows);
        }
        parts.into_iter().rev().flatten().collect()
    }

    /// The answers, newest first.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        let cells = self.cells.iter().rev();
        cells.filter_map(|cell| match cell {
            Cell::Answer(answer) => Some(answer.text.as_str()),
            _ => None,
        })
    }

    /// All of it with nothing cut, to be read in a pager.
    pub fn in_full(&self, width: u16, look: &Look) -> Vec<Row> {
        let cells = self.cells.iter();
        cells
            .flat_map(|cell| cell.rows(width, look, Detail::Full))
            .collect()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
