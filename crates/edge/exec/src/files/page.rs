//! Takes the asked-for lines out of a file of any size, and counts the others. Pure: bytes go in by the piece.

/// What to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The first line, counted from 1.
    pub offset: usize,
    pub limit: usize,
    /// Characters of a line.
    pub max_line: usize,
    /// Characters of everything, with line numbers.
    pub max_chars: usize,
}

/// What came out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub lines: Vec<String>,
    /// Newline characters in the file.
    pub newlines: usize,
    /// Lines in the file: one more if the last has no end.
    pub total: usize,
    /// Whether the character limit ended the page before its last line.
    pub full: bool,
}

impl Page {
    /// The first line behind the page, if there is one.
    pub fn next(&self, window: Window) -> Option<usize> {
        let next = window.offset.saturating_add(self.lines.len());
        (next <= self.total && !self.lines.is_empty()).then_some(next)
    }
}

/// Holds at most one line and the page.
#[derive(Debug)]
pub(super) struct Pager {
    window: Window,
    page: Page,
    /// The line that isn't complete yet; bytes that would be cut off anyway are not kept.
    line: Vec<u8>,
    /// Whether anything came after the last newline.
    open: bool,
    chars: usize,
}

const CUT: &str = "... [truncated]";

impl Pager {
    pub fn new(window: Window) -> Self {
        Self {
            window,
            page: Page::default(),
            line: Vec::new(),
            open: false,
            chars: 0,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.is_past() {
                self.count(rest);
                return;
            }
            match rest.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    self.keep(&rest[..end]);
                    self.end_line();
                    self.page.newlines += 1;
                    self.open = false;
                    rest = &rest[end + 1..];
                }
                None => {
                    self.keep(rest);
                    self.open = true;
                    return;
                }
            }
        }
    }

    pub fn finish(mut self) -> Page {
        if self.open && !self.is_past() {
            self.end_line();
        }
        self.page.total = self.page.newlines + usize::from(self.open);
        self.page
    }

    /// Whether no further line can be shown.
    fn is_past(&self) -> bool {
        self.page.full || self.number() >= self.window.offset.saturating_add(self.window.limit)
    }

    /// The number of the line that is being read.
    fn number(&self) -> usize {
        self.page.newlines + 1
    }

    fn count(&mut self, bytes: &[u8]) {
        self.page.newlines += bytes.iter().filter(|byte| **byte == b'\n').count();
        self.open = bytes.last() != Some(&b'\n');
    }

    /// A character has at most four bytes: what lies beyond the one after the last shown is never looked at.
    fn keep(&mut self, bytes: &[u8]) {
        if self.number() < self.window.offset {
            return;
        }
        let room = self
            .window
            .max_line
            .saturating_add(1)
            .saturating_mul(4)
            .saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        let number = self.number();
        if number < self.window.offset {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        let text = shorten(&String::from_utf8_lossy(line), self.window.max_line);
        let cost = number.to_string().len() + 1 + text.chars().count() + 1;
        if self.chars + cost > self.window.max_chars {
            self.page.full = true;
            if self.page.lines.is_empty() {
                // One line is always shown, or nobody would ever get past it.
                self.page.lines.push(shorten(&text, self.window.max_chars));
            }
            return;
        }
        self.chars += cost;
        self.page.lines.push(text);
    }
}

fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}{CUT}", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WIDE: Window = Window {
        offset: 1,
        limit: 500,
        max_line: 2000,
        max_chars: 100_000,
    };

    fn page(window: Window, bytes: &[u8], piece: usize) -> Page {
        let mut pager = Pager::new(window);
        bytes
            .chunks(piece.max(1))
            .for_each(|piece| pager.push(piece));
        pager.finish()
    }

    #[test]
    fn lines_in_a_window() {
        let check = |window: Window, text: &str, lines: &[&str], newlines, total| {
            for piece in [1, 2, 3, 100] {
                let page = page(window, text.as_bytes(), piece);
                assert_eq!(page.lines, lines, "{text:?}");
                assert_eq!((page.newlines, page.total), (newlines, total), "{text:?}");
            }
        };
        let from = |offset, limit| Window {
            offset,
            limit,
            ..WIDE
        };
        check(WIDE, "", &[], 0, 0);
        check(WIDE, "a", &["a"], 0, 1);
        check(WIDE, "a\nb\n", &["a", "b"], 2, 2);
        check(WIDE, "a\r\n\r\nb", &["a", "", "b"], 2, 3);
        check(from(2, 1), "a\nb\nc\n", &["b"], 3, 3);
        check(from(3, 5), "a\nb\nc", &["c"], 2, 3);
        check(from(9, 5), "a\nb\nc", &[], 2, 3);
        check(from(1, 1), "a\nb", &["a"], 1, 2);
        check(from(usize::MAX, usize::MAX), "a\n", &[], 1, 1);
        check(
            Window {
                max_line: 2,
                ..WIDE
            },
            "äöü\näö\n",
            &["äö... [truncated]", "äö"],
            2,
            2,
        );
    }

    #[test]
    fn a_page_ends_with_a_whole_line_that_fits() {
        let check = |max_chars, lines: &[&str], full: bool| {
            let window = Window { max_chars, ..WIDE };
            let page = page(window, b"aaaa\nbbbb\ncccc\n", 4);
            assert_eq!(page.lines, lines);
            assert_eq!(page.full, full);
            assert_eq!(page.newlines, 3);
        };
        check(21, &["aaaa", "bbbb", "cccc"], false);
        check(20, &["aaaa", "bbbb"], true);
        check(7, &["aaaa"], true);
        check(2, &["aa... [truncated]"], true);
    }

    proptest! {
        #[test]
        fn pieces_never_split_a_character(
            lines in prop::collection::vec("[aä€😀]{0,12}", 0..8),
            piece in 1_usize..9,
            max_line in 1_usize..14,
        ) {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let page = page(Window { max_line, ..WIDE }, text.as_bytes(), piece);
            prop_assert_eq!(page.lines.len(), lines.len());
            for (shown, line) in page.lines.iter().zip(&lines) {
                prop_assert!(!shown.contains(char::REPLACEMENT_CHARACTER));
                let kept = shown.strip_suffix(CUT).unwrap_or(shown);
                prop_assert!(line.starts_with(kept));
                prop_assert_eq!(kept.chars().count(), line.chars().count().min(max_line));
            }
        }
    }
}
