//! Where a cursor goes: from one character as people see it to the next, by words and by lines.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::token;

/// The end of the piece that begins at `at`: a character as people see it, or a token.
pub fn next(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return at;
    };
    if is_hard(first) {
        return at + first.len_utf8();
    }
    let piece = rest.graphemes(true).next().unwrap_or_default();
    at + piece.find(is_hard).unwrap_or(piece.len())
}

/// The beginning of the piece that ends at `at`.
pub fn previous(text: &str, at: usize) -> usize {
    let Some(last) = text[..at].chars().next_back() else {
        return 0;
    };
    if is_hard(last) {
        return at - last.len_utf8();
    }
    let from = stretch(text, at).start;
    let piece = text[from..at].graphemes(true).next_back();
    at - piece.map_or(0, str::len)
}

/// `at`, or the next place a cursor may stand.
pub fn settle(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let stretch = stretch(text, at);
    let inside = &text[stretch.clone()];
    let mut cursor = GraphemeCursor::new(at - stretch.start, inside.len(), true);
    match cursor.is_boundary(inside, 0) {
        Ok(false) => match cursor.next_boundary(inside, 0) {
            Ok(Some(next)) => stretch.start + next,
            _ => stretch.end,
        },
        _ => at,
    }
}

/// Where the line of `at` begins.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the line of `at` ends, before its line break.
pub fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find('\n')
        .map_or(text.len(), |newline| at + newline)
}

/// The beginning of the word before `at`.
pub fn word_left(text: &str, at: usize) -> usize {
    let at = back_while(text, at, |c| !is_word(c) && !token::is_mark(c));
    match text[..at].chars().next_back() {
        Some(c) if token::is_mark(c) => at - c.len_utf8(),
        _ => settle_back(text, back_while(text, at, is_word)),
    }
}

/// The end of the word after `at`.
pub fn word_right(text: &str, at: usize) -> usize {
    let at = on_while(text, at, |c| !is_word(c) && !token::is_mark(c));
    match text[at..].chars().next() {
        Some(c) if token::is_mark(c) => at + c.len_utf8(),
        _ => settle(text, on_while(text, at, is_word)),
    }
}

/// The beginning of the next word: what vi's `w` goes to.
pub fn next_word(text: &str, at: usize) -> usize {
    let at = match text[at..].chars().next() {
        Some(c) if token::is_mark(c) => at + c.len_utf8(),
        Some(c) if is_word(c) => on_while(text, at, is_word),
        _ => on_while(text, at, |c| {
            !is_word(c) && !c.is_whitespace() && !token::is_mark(c)
        }),
    };
    settle(text, on_while(text, at, char::is_whitespace))
}

/// The beginning of what stands between white space before `at`.
pub fn blank_left(text: &str, at: usize) -> usize {
    let at = back_while(text, at, char::is_whitespace);
    settle_back(text, back_while(text, at, |c| !c.is_whitespace()))
}

/// Cut in front of and behind these, whatever Unicode would join to them.
fn is_hard(c: char) -> bool {
    c == '\n' || token::is_mark(c)
}

/// What lies around `at` between line breaks and tokens.
fn stretch(text: &str, at: usize) -> Range<usize> {
    let start = text[..at]
        .char_indices()
        .rev()
        .find(|(_, c)| is_hard(*c))
        .map_or(0, |(index, c)| index + c.len_utf8());
    let end = text[at..].find(is_hard).map_or(text.len(), |len| at + len);
    start..end
}

/// A word boundary inside of a joined character moves to where that begins.
fn settle_back(text: &str, at: usize) -> usize {
    match settle(text, at) {
        settled if settled > at => previous(text, settled),
        settled => settled,
    }
}

fn back_while(text: &str, at: usize, holds: impl Fn(char) -> bool) -> usize {
    text[..at].trim_end_matches(holds).len()
}

fn on_while(text: &str, at: usize, holds: impl Fn(char) -> bool) -> usize {
    text.len() - text[at..].trim_start_matches(holds).len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn joined_characters_are_one_step() {
        for piece in ["a", "é", "e\u{301}", "你", "👩‍👩‍👧", "🇩🇪", "क्षि"]
        {
            let text = format!("x{piece}y");
            assert_eq!(next(&text, 1), 1 + piece.len(), "{piece}");
            assert_eq!(previous(&text, 1 + piece.len()), 1, "{piece}");
            for at in 1..=piece.len() {
                assert_eq!(settle(&text, 1 + at), 1 + piece.len(), "{piece} {at}");
            }
        }
    }

    #[test]
    fn nothing_joins_a_token() {
        let text = format!("{}\u{301}a", token::mark(0));
        assert_eq!(next(&text, 0), 4);
        assert_eq!(next(&text, 4), 6);
        assert_eq!(previous(&text, 6), 4);
        assert_eq!(settle(&text, 4), 4);
    }

    #[test]
    fn words() {
        let text = "fix src/lib.rs, now";
        let check = |from: usize, left: usize, right: usize, blank: usize| {
            assert_eq!(
                (
                    word_left(text, from),
                    word_right(text, from),
                    blank_left(text, from)
                ),
                (left, right, blank),
                "{from}"
            );
        };
        check(0, 0, 3, 0);
        check(3, 0, 7, 0);
        check(14, 12, 19, 4);
        check(19, 16, 19, 16);
        assert_eq!(next_word(text, 0), 4);
        assert_eq!(next_word(text, 4), 7);
        assert_eq!(next_word(text, 7), 8);
        assert_eq!(next_word("a\n  b", 0), 4);
    }
}
