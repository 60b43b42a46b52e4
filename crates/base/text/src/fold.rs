//! A text written more plainly, with the way back to the original.

use std::ops::Range;

/// The plain text and, for each of its bytes, where the character it came from begins in the original.
#[derive(Debug)]
pub(crate) struct Folded {
    pub text: String,
    /// One more than there are bytes: the last is the length of the original.
    origin: Vec<u32>,
}

/// Runs of spaces and tabs become one space.
pub(crate) fn collapse(text: &str) -> Folded {
    let mut in_run = false;
    Folded::new(text, |c, out| {
        let blank = c == ' ' || c == '\t';
        if !blank {
            out.push(c);
        } else if !in_run {
            out.push(' ');
        }
        in_run = blank;
    })
}

/// Typographic quotes, dashes, ellipses and spaces become what a keyboard has.
pub(crate) fn plain(text: &str) -> Folded {
    Folded::new(text, |c, out| match c {
        '\u{201c}' | '\u{201d}' => out.push('"'),
        '\u{2018}' | '\u{2019}' => out.push('\''),
        '\u{2014}' => out.push_str("--"),
        '\u{2013}' => out.push('-'),
        '\u{2026}' => out.push_str("..."),
        '\u{a0}' => out.push(' '),
        other => out.push(other),
    })
}

impl Folded {
    fn new(text: &str, mut rewrite: impl FnMut(char, &mut String)) -> Self {
        let mut folded = Self {
            text: String::with_capacity(text.len()),
            origin: Vec::with_capacity(text.len() + 1),
        };
        for (at, c) in text.char_indices() {
            rewrite(c, &mut folded.text);
            // Files of more than 16 MB are not edited, so 32 bits do.
            folded.origin.resize(folded.text.len(), at as u32);
        }
        folded.origin.push(text.len() as u32);
        folded
    }

    /// The original of a part; `None` if the part begins or ends inside a character of it.
    pub fn original(&self, part: &Range<usize>) -> Option<Range<usize>> {
        Some(self.boundary(part.start)?..self.boundary(part.end)?)
    }

    fn boundary(&self, at: usize) -> Option<usize> {
        let here = *self.origin.get(at)?;
        let splits = at > 0 && self.origin[at - 1] == here;
        (!splits).then_some(here as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lead_back() {
        let check = |folded: Folded, original: &str, part: &str, expected: Option<&str>| {
            let at = folded.text.find(part).unwrap();
            let found = folded.original(&(at..at + part.len()));
            assert_eq!(found.map(|range| &original[range]), expected, "{part}");
        };
        let text = "a  b\t \tc\nd";
        check(collapse(text), text, "a b", Some("a  b"));
        check(collapse(text), text, "b ", Some("b\t \t"));
        check(collapse(text), text, "c\nd", Some("c\nd"));
        let text = "“ä” — b…";
        check(plain(text), text, "\"ä\"", Some("“ä”"));
        check(plain(text), text, "-- b...", Some("— b…"));
        check(plain(text), text, "- b", None);
        check(plain(text), text, "b..", None);
    }
}
