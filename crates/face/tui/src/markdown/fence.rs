//! A fenced block of code that is still open: its lines can be shown as soon as they are complete.

use std::borrow::Cow;

use super::code::Colouring;

/// Columns a tab at the beginning of a line takes.
const TAB: usize = 4;

/// How a block of code began, and how its lines are coloured so far.
#[derive(Debug)]
pub(super) struct Fence {
    sign: char,
    /// How many of them at least end it.
    length: usize,
    /// Spaces before the fence; lines lose as many.
    indent: usize,
    pub colouring: Option<Colouring>,
}

impl Fence {
    /// Reads the line that opens a block.
    pub fn open(line: &str) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let indent = line.len() - rest.len();
        let sign = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = rest.trim_start_matches(sign);
        let length = rest.len() - info.len();
        let fits = length >= 3 && indent < 4 && !(sign == '`' && info.contains('`'));
        fits.then_some(Self {
            sign,
            length,
            indent,
            colouring: None,
        })
    }

    /// Whether a line ends the block.
    pub fn closes(&self, line: &str) -> bool {
        let rest = line.trim_start_matches(' ');
        let after = rest.trim_start_matches(self.sign);
        line.len() - rest.len() < 4
            && rest.len() - after.len() >= self.length
            && after.chars().all(|c| matches!(c, ' ' | '\t'))
    }

    /// A line without the columns the fence stood behind; a tab may be cut in two.
    pub fn line<'l>(&self, line: &'l str) -> Cow<'l, str> {
        let mut column = 0;
        for (index, c) in line.char_indices() {
            column += match c {
                _ if column >= self.indent => {
                    let spaces = " ".repeat(column - self.indent);
                    return Cow::from(format!("{spaces}{}", &line[index..]));
                }
                ' ' => 1,
                '\t' => TAB,
                _ => return Cow::from(&line[index..]),
            };
        }
        Cow::from(" ".repeat(column.saturating_sub(self.indent)))
    }
}
