//! The input as rows of a screen: where lines wrap, and where in them a place of the text is.

use std::borrow::Cow;
use std::ops::Range;

use crate::text;

use super::motion;
use super::token::Tokens;

/// Columns a tab takes in the input.
const TAB: &str = "    ";

/// How the text of an editor is shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'e> {
    pub text: &'e str,
    pub tokens: &'e Tokens,
    pub masked: bool,
    pub columns: usize,
}

impl<'e> View<'e> {
    /// The stretches of text the rows show. The first begins at 0, and there is always one.
    pub fn rows(&self) -> Vec<Range<usize>> {
        let mut rows = Vec::new();
        let (mut start, mut used) = (0, 0);
        // Behind the last blank of the row, and the columns up to there.
        let mut gap = (0, 0);
        for range in self.pieces(0..self.text.len()) {
            let piece = &self.text[range.clone()];
            if piece == "\n" {
                rows.push(start..range.start);
                (start, used, gap) = (range.end, 0, (range.end, 0));
                continue;
            }
            let wide = text::width(&self.shown(piece));
            if piece == " " && used == self.columns {
                // It may hang over into the column of the cursor; the next word begins the next row.
                rows.push(start..range.end);
                (start, used, gap) = (range.end, 0, (range.end, 0));
                continue;
            }
            while used + wide > self.columns && range.start > start {
                let (at, before) = if gap.0 > start {
                    gap
                } else {
                    (range.start, used)
                };
                rows.push(start..at);
                (start, used) = (at, used - before);
            }
            used += wide;
            if piece == " " || piece == "\t" {
                gap = (range.end, used);
            }
        }
        rows.push(start..self.text.len());
        rows
    }

    /// The pieces of a stretch: characters as people see them, and tokens.
    pub fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<'e> {
        let text = self.text;
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let piece = at..motion::next(text, at);
            at = piece.end;
            Some(piece)
        })
    }

    /// What a piece looks like, never wider than a row.
    pub fn shown(&self, piece: &'e str) -> Cow<'e, str> {
        if self.masked {
            return "•".into();
        }
        if piece == "\t" {
            return text::cut(TAB, self.columns).into();
        }
        let first = piece.chars().next().unwrap_or_default();
        if let Some(token) = self.tokens.get(first) {
            return text::cut(&text::one_line(&token.shown()), self.columns).into();
        }
        if first.is_ascii() && piece.len() == 1 {
            return piece.into();
        }
        text::harmless(piece).into()
    }

    /// Columns of a stretch.
    pub fn width(&self, range: Range<usize>) -> usize {
        let pieces = self.pieces(range);
        pieces
            .map(|piece| text::width(&self.shown(&self.text[piece])))
            .sum()
    }

    /// The place in a row that is nearest to a column.
    pub fn at_column(&self, row: Range<usize>, column: usize) -> usize {
        let mut used = 0;
        let soft = self.text[row.end..]
            .chars()
            .next()
            .is_some_and(|c| c != '\n');
        for piece in self.pieces(row.clone()) {
            used += text::width(&self.shown(&self.text[piece.clone()]));
            // Behind the last piece of a wrapped row the next one begins.
            if used > column || (soft && piece.end == row.end) {
                return piece.start;
            }
        }
        row.end
    }
}

/// Which row a place of the text is in.
pub fn row_of(rows: &[Range<usize>], at: usize) -> usize {
    rows.partition_point(|row| row.start <= at)
        .saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lines_wrap_at_blanks_and_long_words_anywhere() {
        let check = |text: &str, columns, expected: &[&str]| {
            let tokens = Tokens::default();
            let view = View {
                text,
                tokens: &tokens,
                masked: false,
                columns,
            };
            let rows: Vec<&str> = view.rows().into_iter().map(|row| &text[row]).collect();
            assert_eq!(rows, expected, "{text:?}");
        };
        check("", 5, &[""]);
        check("ab cd ef", 5, &["ab cd ", "ef"]);
        check("ab cde f", 5, &["ab ", "cde f"]);
        check("abcde  f", 5, &["abcde ", " f"]);
        check("ab cd", 5, &["ab cd"]);
        check("abcdefg", 3, &["abc", "def", "g"]);
        check("a\n\nb\n", 5, &["a", "", "b", ""]);
        check("你好世界", 5, &["你好", "世界"]);
        check("👩‍👩‍👧👩‍👩‍👧", 2, &["👩‍👩‍👧", "👩‍👩‍👧"]);
        check("你", 1, &["你"]);
    }
}
