//! Text as cells of a screen: how wide it is, where it wraps, and that nothing in it drives the terminal.

use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::Row;

/// Columns a tab moves on to.
const TAB: usize = 4;

/// Columns `text` takes.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(grapheme_width).sum()
}

/// Columns one character as people see it takes; terminals draw none wider than two.
pub fn grapheme_width(grapheme: &str) -> usize {
    UnicodeWidthStr::width(grapheme).min(2)
}

/// What came from a model, a tool or a file, made harmless: tabs become spaces, other control characters and
/// what changes the direction of text become a replacement sign. Line breaks stay.
pub fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\n' => {
                clean.push('\n');
                column = 0;
                continue;
            }
            '\t' => {
                let spaces = TAB - column % TAB;
                clean.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
                continue;
            }
            '\r' => continue,
            c if c.is_control() || is_bidi(c) => clean.push('\u{fffd}'),
            c => clean.push(c),
        }
        column += 1;
    }
    clean
}

/// The same on one line.
pub fn one_line(text: &str) -> String {
    harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The beginning of `text` that fits into `columns`, with `…` if something is missing.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let wide = grapheme_width(grapheme);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        kept.push_str(grapheme);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Breaks a row into rows of at most `columns`, at spaces where there are some; the rows after the first
/// begin with `indent` spaces.
pub fn wrap(row: Row, columns: usize, indent: usize) -> Vec<Row> {
    if row.width() <= columns {
        return vec![row];
    }
    let mut wrapping = Wrapping::new(columns.max(1), indent.min(columns.saturating_sub(1)));
    for span in &row.spans {
        for word in span.content.split_word_bounds() {
            wrapping.word(word, span.style);
        }
    }
    wrapping.finish(row.style)
}

struct Wrapping {
    columns: usize,
    indent: usize,
    rows: Vec<Vec<Span<'static>>>,
    used: usize,
    /// Nothing but the indent stands in the current row.
    fresh: bool,
}

impl Wrapping {
    fn new(columns: usize, indent: usize) -> Self {
        Self {
            columns,
            indent,
            rows: vec![Vec::new()],
            used: 0,
            fresh: true,
        }
    }

    fn word(&mut self, word: &str, style: ratatui::style::Style) {
        let wide = width(word);
        if self.used + wide <= self.columns {
            return self.put(word, wide, style);
        }
        if word.chars().all(|c| c == ' ') {
            return self.next();
        }
        if !self.fresh {
            self.next();
        }
        for grapheme in word.graphemes(true) {
            let wide = grapheme_width(grapheme);
            if self.used + wide > self.columns && !self.fresh {
                self.next();
            }
            self.put(grapheme, wide, style);
        }
    }

    fn put(&mut self, text: &str, wide: usize, style: ratatui::style::Style) {
        let continued = self.rows.len() > 1 && self.fresh;
        if continued && text.chars().all(|c| c == ' ') {
            return;
        }
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

    fn finish(self, style: ratatui::style::Style) -> Vec<Row> {
        let rows = self.rows.into_iter();
        rows.map(|spans| Row::from(spans).style(style)).collect()
    }
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn texts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(harmless("a\x1b]0;t\x07b\r\nc"), "a\u{fffd}]0;t\u{fffd}b\nc");
        assert_eq!(harmless("a\tb\u{202e}c"), "a   b\u{fffd}c");
        assert_eq!(one_line(" a \n\t b "), "a b");
    }

    #[test]
    fn wide_characters_are_cut_whole() {
        assert_eq!(cut("你好世界", 5), "你好…");
        assert_eq!(cut("你好", 4), "你好");
        assert_eq!(cut("👩‍👩‍👧x", 2), "…");
        assert_eq!(cut("x", 0), "");
    }

    #[test]
    fn rows_break_at_spaces_and_long_words_anywhere() {
        let check = |text: &str, columns, indent, expected: &[&str]| {
            let rows = wrap(Row::raw(text.to_owned()), columns, indent);
            assert_eq!(texts(&rows), expected, "{text:?}");
            assert!(rows.iter().all(|row| row.width() <= columns), "{text:?}");
        };
        check("ab cd ef", 5, 0, &["ab cd", "ef"]);
        check("ab cd ef", 5, 2, &["ab cd", "  ef"]);
        check("abcdefg", 3, 0, &["abc", "def", "g"]);
        check("你好世界", 5, 0, &["你好", "世界"]);
        check("short", 10, 0, &["short"]);
    }
}
