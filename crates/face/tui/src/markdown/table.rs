//! Tables laid out by cells: columns as wide as they need, wrapped where the screen is narrower, and one
//! line for each value where it is hopeless.

use pulldown_cmark::Alignment;
use ratatui::style::Style as Paint;
use ratatui::text::Span;

use super::Style;
use super::inline::Inline;
use super::print::Printer;
use super::tree::Table;
use crate::Row;
use crate::look::Role;
use crate::text::{width, wrap};

/// Between two columns.
const PARTED: &str = " │ ";
const CROSSED: &str = "─┼─";
/// Columns narrower than this break words into pieces nobody can read.
const NARROWEST: usize = 5;

pub(super) fn rows(printer: &Printer<'_>, table: &Table, columns: usize) -> Vec<Row> {
    let laid = Laid::new(printer, table);
    let natural = laid.natural();
    let parting = width(PARTED) * natural.len().saturating_sub(1);
    let wanted: usize = natural.iter().sum();
    if wanted + parting <= columns {
        return laid.rows(&natural);
    }
    let room = columns.saturating_sub(parting);
    if room < NARROWEST * natural.len() {
        return laid.stacked(columns);
    }
    laid.rows(&shrunk(&natural, room))
}

/// The widest columns give way first.
fn shrunk(natural: &[usize], room: usize) -> Vec<usize> {
    let sum = |cap: usize| natural.iter().map(|wide| (*wide).min(cap)).sum::<usize>();
    let widest = natural.iter().copied().max().unwrap_or_default();
    let cap = (1..=widest).take_while(|cap| sum(*cap) <= room).last();
    let cap = cap.unwrap_or(1);
    let mut left = room.saturating_sub(sum(cap));
    let mut widths = Vec::with_capacity(natural.len());
    for wide in natural {
        let more = usize::from(*wide > cap && left > 0);
        left -= more;
        widths.push((*wide).min(cap) + more);
    }
    widths
}

/// A cell: its lines, not wrapped.
type Cell = Vec<Row>;

struct Laid<'a> {
    printer: &'a Printer<'a>,
    aligns: &'a [Alignment],
    head: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

impl<'a> Laid<'a> {
    fn new(printer: &'a Printer<'a>, table: &'a Table) -> Self {
        let count = table.aligns.len();
        let bold = match printer.style {
            Style::Render => Paint::new().bold(),
            Style::Strip | Style::Raw => Paint::new(),
        };
        let cells = |row: &[Inline], paint: Paint| {
            let mut cells: Vec<Cell> = row.iter().map(|cell| printer.lines(cell, paint)).collect();
            cells.resize(count, Cell::new());
            cells
        };
        Self {
            printer,
            aligns: &table.aligns,
            head: cells(&table.head, bold),
            rows: table
                .rows
                .iter()
                .map(|row| cells(row, Paint::new()))
                .collect(),
        }
    }

    fn natural(&self) -> Vec<usize> {
        let mut widths = vec![1; self.aligns.len()];
        for row in std::iter::once(&self.head).chain(&self.rows) {
            for (wide, cell) in widths.iter_mut().zip(row) {
                let widest = cell.iter().map(wide_of).max().unwrap_or_default();
                *wide = (*wide).max(widest);
            }
        }
        widths
    }

    fn rows(&self, widths: &[usize]) -> Vec<Row> {
        let faint = self.printer.paint(Role::Faint);
        let rule: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
        let rule = Row::from(Span::styled(rule.join(CROSSED), faint));
        let bodies: Vec<_> = self.rows.iter().map(|row| self.row(row, widths)).collect();
        let tall = bodies.iter().any(|rows| rows.len() > 1);
        let mut rows = self.row(&self.head, widths);
        rows.push(rule.clone());
        for (index, body) in bodies.into_iter().enumerate() {
            if tall && index > 0 {
                rows.push(rule.clone());
            }
            rows.extend(body);
        }
        rows
    }

    fn row(&self, cells: &[Cell], widths: &[usize]) -> Vec<Row> {
        let faint = self.printer.paint(Role::Faint);
        let fitted = |(cell, wide): (&Cell, &usize)| -> Vec<Row> {
            let lines = cell.iter().cloned();
            lines.flat_map(|line| wrap(line, *wide, 0)).collect()
        };
        let cells: Vec<Vec<Row>> = cells.iter().zip(widths).map(fitted).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default().max(1);
        let line = |index: usize| {
            let mut spans = Vec::new();
            for (column, (cell, wide)) in cells.iter().zip(widths).enumerate() {
                if column > 0 {
                    spans.push(Span::styled(PARTED, faint));
                }
                let text = cell.get(index).cloned().unwrap_or_default();
                let last = column + 1 == widths.len();
                spans.extend(self.aligned(text, *wide, column, last));
            }
            Row::from(spans)
        };
        (0..height).map(line).collect()
    }

    fn aligned(&self, text: Row, wide: usize, column: usize, last: bool) -> Vec<Span<'static>> {
        let missing = wide.saturating_sub(wide_of(&text));
        let left = match self.aligns.get(column) {
            Some(Alignment::Right) => missing,
            Some(Alignment::Center) => missing / 2,
            _ => 0,
        };
        let space = |count: usize| (count > 0).then(|| Span::raw(" ".repeat(count)));
        // Nothing stands behind the last column, so that copied rows end where their text ends.
        let right = if last { 0 } else { missing - left };
        space(left)
            .into_iter()
            .chain(text.spans)
            .chain(space(right))
            .collect()
    }

    /// One line for each value, with the name of its column.
    fn stacked(&self, columns: usize) -> Vec<Row> {
        let faint = self.printer.paint(Role::Faint);
        let mut rows = Vec::new();
        for (index, cells) in self.rows.iter().enumerate() {
            if index > 0 {
                rows.push(Row::from(Span::styled("─".repeat(columns.min(8)), faint)));
            }
            for (label, cell) in self.head.iter().zip(cells) {
                let mut spans: Vec<Span<'static>> = label.iter().flat_map(spans_of).collect();
                spans.push(Span::raw(": "));
                for (line, row) in cell.iter().enumerate() {
                    spans.extend((line > 0).then(|| Span::raw(" ")));
                    spans.extend(spans_of(row));
                }
                rows.extend(wrap(Row::from(spans), columns, 2));
            }
        }
        rows
    }
}

fn spans_of(row: &Row) -> Vec<Span<'static>> {
    row.spans.clone()
}

fn wide_of(row: &Row) -> usize {
    row.spans.iter().map(|span| width(&span.content)).sum()
}
