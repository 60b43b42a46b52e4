//! Plain tables: columns as wide as their content, one of them cut when the screen is too narrow, and no columns
//! at all when it is much too narrow.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use crate::out::Out;

const GAP: usize = 2;
/// The flexible column says nothing below this.
const LEAST: usize = 8;

/// Rows of text under headings.
#[derive(Debug)]
pub struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The column that gives way.
    flexible: usize,
}

impl Table {
    pub fn new(headings: &[&'static str], flexible: usize) -> Self {
        Self {
            headings: headings.to_vec(),
            rows: Vec::new(),
            flexible,
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn print(&self, out: &mut Out) -> io::Result<()> {
        let Some(widths) = self.widths(out.width()) else {
            return self.print_stacked(out);
        };
        let headings: Vec<String> = self.headings.iter().map(|&text| text.to_owned()).collect();
        let head = line(&headings, &widths);
        let head = out.faint(head);
        writeln!(out, "{head}")?;
        for row in &self.rows {
            writeln!(out, "{}", line(row, &widths))?;
        }
        Ok(())
    }

    /// For a screen too narrow for columns: a row's first words on a line, the rest below with their headings.
    fn print_stacked(&self, out: &mut Out) -> io::Result<()> {
        for row in &self.rows {
            let cells = self.headings.iter().zip(row);
            let mut cells = cells.filter(|(_, cell)| !cell.is_empty()).peekable();
            // Marks and numbers stand before the name.
            while let Some((_, mark)) = cells.next_if(|(heading, _)| heading.len() <= 1) {
                write!(out, "{mark} ")?;
            }
            let name = cells.next().map_or("", |(_, name)| name);
            writeln!(out, "{name}")?;
            for (heading, cell) in cells {
                let heading = out.faint(heading);
                writeln!(out, "  {heading} {cell}")?;
            }
        }
        Ok(())
    }

    /// `None` if there is no room for columns.
    fn widths(&self, screen: Option<usize>) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> = self
            .headings
            .iter()
            .map(|heading| heading.width())
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        if let Some(screen) = screen {
            let flexible = widths[self.flexible];
            let others = widths.iter().sum::<usize>() - flexible + GAP * (widths.len() - 1);
            let room = screen.checked_sub(others)?;
            if room < flexible.min(LEAST) {
                return None;
            }
            widths[self.flexible] = flexible.min(room);
        }
        Some(widths)
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, &width) in cells.iter().zip(widths) {
        let cell = cut(cell, width);
        let padding = width - cell.width() + GAP;
        text.push_str(&cell);
        text.extend(std::iter::repeat_n(' ', padding));
    }
    text.trim_end().to_owned()
}

/// The beginning of a text that fits, with `…` where it was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if kept.width() > width.saturating_sub(1) {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_cells_not_bytes() {
        let check =
            |text: &str, width: usize, expected: &str| assert_eq!(cut(text, width), expected);
        check("hello", 5, "hello");
        check("hello!", 5, "hell…");
        check("你好世界", 8, "你好世界");
        check("你好世界", 7, "你好世…");
        check("你好世界", 6, "你好…");
        check("", 3, "");
    }

    #[test]
    fn only_the_flexible_column_gives_way() {
        let mut table = Table::new(&["id", "title"], 1);
        table.row(vec!["abc".into(), "a long title that needs room".into()]);
        assert_eq!(table.widths(Some(20)).unwrap(), [3, 15]);
        assert_eq!(table.widths(None).unwrap(), [3, 28]);
        assert_eq!(table.widths(Some(12)), None);
        assert_eq!(table.widths(Some(1)), None);
    }
}
