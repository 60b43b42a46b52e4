//! Rows broken to fit: prose at spaces and between ideographs, code anywhere.

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use super::{grapheme_width, width};
use crate::Row;

/// Breaks a row into rows of at most `columns`, at spaces where there are some; the rows after the first
/// begin with `indent` spaces.
pub fn wrap(row: Row, columns: usize, indent: usize) -> Vec<Row> {
    if row_width(&row) <= columns {
        return vec![row];
    }
    let mut wrapping = Wrapping::new(columns.max(1), indent.min(columns.saturating_sub(1)));
    for piece in pieces(&row) {
        match piece {
            Piece::Space(wide, style) => wrapping.space.push((wide, style)),
            Piece::Word(word) => wrapping.word(&word),
        }
    }
    wrapping.finish(row.style)
}

/// Breaks a row wherever it is full: for code, which has no better place.
pub fn fold(row: Row, columns: usize) -> Vec<Row> {
    if row_width(&row) <= columns {
        return vec![row];
    }
    let mut wrapping = Wrapping::new(columns.max(1), 0);
    for span in &row.spans {
        for grapheme in span.content.graphemes(true) {
            wrapping.grapheme(grapheme, span.style);
        }
    }
    wrapping.finish(row.style)
}

fn row_width(row: &Row) -> usize {
    row.spans.iter().map(|span| width(&span.content)).sum()
}

enum Piece<'a> {
    /// So many columns of spaces.
    Space(usize, Style),
    /// What stays together: a word also where its style changes, or one ideograph.
    Word(Vec<(&'a str, Style)>),
}

fn pieces(row: &Row) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut word: Vec<(&str, Style)> = Vec::new();
    for span in &row.spans {
        for grapheme in span.content.graphemes(true) {
            if grapheme == " " {
                flush(&mut word, &mut pieces);
                pieces.push(Piece::Space(1, span.style));
                continue;
            }
            if word.last().is_some_and(|(last, _)| breaks(last, grapheme)) {
                flush(&mut word, &mut pieces);
            }
            word.push((grapheme, span.style));
        }
    }
    flush(&mut word, &mut pieces);
    pieces
}

fn flush<'a>(word: &mut Vec<(&'a str, Style)>, pieces: &mut Vec<Piece<'a>>) {
    if !word.is_empty() {
        pieces.push(Piece::Word(std::mem::take(word)));
    }
}

/// Whether a row may end between two characters that no space parts.
fn breaks(left: &str, right: &str) -> bool {
    const CLOSING: &str = "、。，．！？：；）」』】》〉…ー";
    const OPENING: &str = "（「『【《〈";
    let wide = grapheme_width(left) > 1 || grapheme_width(right) > 1;
    let closing = CLOSING.contains(right) || right.chars().all(|c| c.is_ascii_punctuation());
    wide && !closing && !OPENING.contains(left)
}

struct Wrapping {
    columns: usize,
    indent: usize,
    rows: Vec<Vec<Span<'static>>>,
    used: usize,
    /// Nothing but the indent stands in the current row.
    fresh: bool,
    /// Spaces that are only written if something follows them in the same row.
    space: Vec<(usize, Style)>,
}

impl Wrapping {
    fn new(columns: usize, indent: usize) -> Self {
        Self {
            columns,
            indent,
            rows: vec![Vec::new()],
            used: 0,
            fresh: true,
            space: Vec::new(),
        }
    }

    fn word(&mut self, word: &[(&str, Style)]) {
        let wide: usize = word.iter().map(|(text, _)| grapheme_width(text)).sum();
        let space: usize = self.space.iter().map(|(wide, _)| wide).sum();
        let continued = self.rows.len() > 1 && self.fresh;
        if self.used + space + wide > self.columns && !self.fresh {
            self.next();
        } else if !continued {
            for (wide, style) in std::mem::take(&mut self.space) {
                // What was indented further than the screen is wide begins at its edge.
                if self.used + wide < self.columns {
                    self.put(&" ".repeat(wide), wide, style);
                }
            }
        }
        self.space.clear();
        for (grapheme, style) in word {
            self.grapheme(grapheme, *style);
        }
    }

    fn grapheme(&mut self, grapheme: &str, style: Style) {
        let wide = grapheme_width(grapheme);
        if self.used + wide > self.columns && !self.fresh {
            self.next();
        }
        // A sign wider than the whole screen cannot be shown.
        match self.used + wide > self.columns {
            true => self.put("…", 1, style),
            false => self.put(grapheme, wide, style),
        }
    }

    fn put(&mut self, text: &str, wide: usize, style: Style) {
        self.used += wide;
        self.fresh = false;
        let Some(row) = self.rows.last_mut() else {
            return;
        };
        match row.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => row.push(Span::styled(text.to_owned(), style)),
        }
    }

    fn next(&mut self) {
        let indent = (self.indent > 0).then(|| Span::raw(" ".repeat(self.indent)));
        self.rows.push(indent.into_iter().collect());
        self.used = self.indent;
        self.fresh = true;
    }

    fn finish(self, style: Style) -> Vec<Row> {
        let rows = self.rows.into_iter();
        rows.map(|spans| Row::from(spans).style(style)).collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use ratatui::style::Stylize as _;

    use super::*;

    fn texts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_break_at_spaces_and_long_words_anywhere() {
        let check = |text: &str, columns, indent, expected: &[&str]| {
            let rows = wrap(Row::raw(text.to_owned()), columns, indent);
            assert_eq!(texts(&rows), expected, "{text:?}");
            assert!(rows.iter().all(|row| row_width(row) <= columns), "{text:?}");
        };
        check("ab cd ef", 5, 0, &["ab cd", "ef"]);
        check("ab cd ef", 5, 2, &["ab cd", "  ef"]);
        check("ab cd ef", 6, 0, &["ab cd", "ef"]);
        check("ab, cd", 3, 0, &["ab,", "cd"]);
        check("abcdefg", 3, 0, &["abc", "def", "g"]);
        check("你好世界", 5, 0, &["你好", "世界"]);
        check("你好。世界", 5, 0, &["你", "好。", "世界"]);
        check("  indented text", 10, 0, &["  indented", "text"]);
        check("short", 10, 0, &["short"]);
        check("你", 1, 0, &["…"]);
        check(
            "e\u{301}e\u{301}e\u{301}",
            2,
            0,
            &["e\u{301}e\u{301}", "e\u{301}"],
        );
    }

    #[test]
    fn a_word_of_two_styles_stays_together() {
        let row = Row::from(vec!["ab c".into(), "def".bold(), ".".into()]);
        assert_eq!(texts(&wrap(row, 5, 0)), ["ab", "cdef."]);
    }

    #[test]
    fn code_breaks_where_it_is_full() {
        let check = |text: &str, expected: &[&str]| {
            let rows = fold(Row::raw(text.to_owned()), 4);
            assert_eq!(texts(&rows), expected, "{text:?}");
        };
        check("ab cdef", &["ab c", "def"]);
        check("    a", &["    ", "a"]);
        check("aaa漢字", &["aaa", "漢字"]);
    }
}
