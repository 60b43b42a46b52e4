//! Text as cells of a screen: how wide it is, where it wraps, and that nothing in it drives the terminal.

mod wrap;

pub use wrap::{fold, wrap};

use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
            // Some terminals break the line here, and we would not know.
            '\u{2028}' | '\u{2029}' => clean.push(' '),
            c if c.is_control() || is_bidi(c) => clean.push('\u{fffd}'),
            c => {
                clean.push(c);
                column += UnicodeWidthChar::width(c).unwrap_or_default();
                continue;
            }
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

/// The end of `text` that fits into `columns`, with `…` before it if something is missing: for paths.
pub fn cut_front(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let mut from = text.len();
    for (index, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme_width(grapheme);
        if used > columns {
            break;
        }
        from = index;
    }
    match columns {
        0 => String::new(),
        _ => format!("…{}", &text[from..]),
    }
}

/// A row cut to `columns`, with `…` if something is missing.
pub fn clip(row: Row, columns: usize) -> Row {
    let wide: usize = row.spans.iter().map(|span| width(&span.content)).sum();
    if wide <= columns {
        return row;
    }
    let mut left = columns;
    let mut spans = Vec::new();
    for span in row.spans {
        let wide = width(&span.content);
        if wide < left {
            left -= wide;
            spans.push(span);
            continue;
        }
        // Something is missing behind this one, so it gives a column for the sign of that.
        let kept = cut(&format!("{} …", span.content), left);
        spans.push(Span::styled(kept, span.style));
        break;
    }
    Row::from(spans).style(row.style)
}

/// `text` with as many spaces behind it as make it `columns` wide; what is wider stays.
pub fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

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
    fn the_end_of_a_path_stays() {
        assert_eq!(cut_front("src/deep/down/a.rs", 9), "…own/a.rs");
        assert_eq!(cut_front("a.rs", 9), "a.rs");
        assert_eq!(cut_front("目录/文件", 5), "…文件");
        assert_eq!(cut_front("abc", 0), "");
        assert_eq!(cut_front("abc", 1), "…");
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(pad("abc", 2), "abc");
    }

    #[test]
    fn rows_are_clipped_with_a_sign() {
        let check = |columns, expected: &str| {
            let row = Row::from(vec![Span::raw("ab"), Span::raw("漢字"), Span::raw("!")]);
            assert_eq!(clip(row, columns).to_string(), expected, "{columns}");
        };
        check(7, "ab漢字!");
        check(6, "ab漢…");
        check(5, "ab漢…");
        check(4, "ab…");
        check(2, "a…");
        check(0, "");
    }
}
