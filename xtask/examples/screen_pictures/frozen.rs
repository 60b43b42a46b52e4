//! A screen without what differs from run to run: times, identifiers, where the home lies.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

/// One place of the screen; a wide character has two columns.
#[derive(Clone, PartialEq)]
pub struct Cell {
    pub text: String,
    pub columns: usize,
    pub style: Style,
}

#[derive(Clone, Copy, PartialEq)]
pub struct Style {
    pub front: vt100::Color,
    pub back: vt100::Color,
    pub bold: bool,
    pub faint: bool,
    pub italic: bool,
    pub underlined: bool,
    pub inverse: bool,
}

pub type Row = Vec<Cell>;

/// What is replaced, each by as many characters.
static VARIES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = [
        (r"\d{8}_\d{6}_[0-9a-f]{6}", "20260314_150926_c0ffee"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-03-14 15:09"),
        (r"\b\d\.\ds\b", "0.2s"),
        (r"\b\d\ds\b", "57s"),
        (r"\b\ds\b", "4s"),
    ];
    rules
        .map(|(rule, instead)| (Regex::new(rule).expect("a rule"), instead))
        .into()
});

pub fn rows(screen: &vt100::Screen, names: &[(PathBuf, &str)]) -> Vec<Row> {
    let (rows, columns) = screen.size();
    let mut rows: Vec<Row> = (0..rows.get())
        .map(|row| {
            let cells = (0..columns.get()).filter_map(|column| screen.cell(row, column));
            let cells = cells.filter(|cell| !cell.is_wide_continuation());
            frozen(cells.map(cell).collect(), names)
        })
        .collect();
    // Nobody needs a picture of nothing.
    let blank = |row: &Row| row.iter().all(|cell| cell.text == " ");
    while rows.last().is_some_and(blank) {
        rows.pop();
    }
    rows
}

fn cell(cell: &vt100::Cell) -> Cell {
    let text = match cell.contents() {
        "" => " ".to_owned(),
        text => text.to_owned(),
    };
    Cell {
        text,
        columns: if cell.is_wide() { 2 } else { 1 },
        style: Style {
            front: cell.fgcolor(),
            back: cell.bgcolor(),
            bold: cell.bold(),
            faint: cell.dim(),
            italic: cell.italic(),
            underlined: cell.underline(),
            inverse: cell.inverse(),
        },
    }
}

fn frozen(mut row: Row, names: &[(PathBuf, &str)]) -> Row {
    for (path, name) in names {
        let path = path.display().to_string();
        while let Some((from, to)) =
            found(&row, |line| line.find(&path).map(|at| at..at + path.len()))
        {
            replace(&mut row, from, to, name);
        }
    }
    for (rule, instead) in VARIES.iter() {
        let line: String = row.iter().map(|cell| cell.text.as_str()).collect();
        for hit in rule.find_iter(&line) {
            let place = |byte: usize| place(&row, byte);
            if let (Some(from), Some(to)) = (place(hit.start()), place(hit.end())) {
                replace(&mut row, from, to, instead);
            }
        }
    }
    row
}

fn found(
    row: &Row,
    find: impl Fn(&str) -> Option<std::ops::Range<usize>>,
) -> Option<(usize, usize)> {
    let line: String = row.iter().map(|cell| cell.text.as_str()).collect();
    let hit = find(&line)?;
    Some((place(row, hit.start)?, place(row, hit.end)?))
}

/// The cell that begins at this byte of the row's text; one behind the last for its end.
fn place(row: &Row, byte: usize) -> Option<usize> {
    let mut at = 0;
    for (index, cell) in row.iter().enumerate() {
        if at == byte {
            return Some(index);
        }
        at += cell.text.len();
    }
    (at == byte).then_some(row.len())
}

/// What follows moves, and the row stays as long as it was.
fn replace(row: &mut Row, from: usize, to: usize, text: &str) {
    let style = row[from].style;
    let cells = text.chars().map(|c| Cell {
        text: c.to_string(),
        columns: 1,
        style,
    });
    let before = to - from;
    let cells: Vec<Cell> = cells.collect();
    let blanks = before.saturating_sub(cells.len());
    row.splice(from..to, cells);
    let blank = Cell {
        text: " ".to_owned(),
        columns: 1,
        style: row.last().map_or(style, |last| last.style),
    };
    row.extend(std::iter::repeat_n(blank, blanks));
}
