//! Lines of limited length from a stream.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Longer than any message a sane client sends, short enough to hold a few.
pub(crate) const LONGEST_LINE: usize = 4 << 20;

/// Reads lines; a read that is given up halfway goes on where it was.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    /// The line is longer than allowed: the rest of it is skipped.
    too_long: bool,
    longest: usize,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub fn new(input: R) -> Self {
        Self::up_to(input, LONGEST_LINE)
    }

    fn up_to(input: R, longest: usize) -> Self {
        Self {
            input,
            line: Vec::new(),
            too_long: false,
            longest,
        }
    }

    /// The next line without its end, or `None` after the last. A last line without an end counts.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let buffer = self.input.fill_buf().await?;
            if buffer.is_empty() {
                let rest = self.too_long || !self.line.is_empty();
                return Ok(rest.then(|| self.take()));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            self.too_long |= self.line.len() + part.len() > self.longest;
            if !self.too_long {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        match std::mem::take(&mut self.too_long) {
            true => Line::TooLong,
            false => Line::Whole(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn lines_end_at_newlines_and_have_a_limit() {
        let whole = |text: &str| Line::Whole(text.into());
        let text: &[u8] = b"one\n\nfour5\nsix666\nlast";
        let input = BufReader::with_capacity(2, text);
        let mut lines = Lines::up_to(input, 5);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        let expected = [
            whole("one"),
            whole(""),
            whole("four5"),
            Line::TooLong,
            whole("last"),
        ];
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn an_endless_line_is_not_kept() {
        let text = vec![b'x'; 100_000];
        let mut lines = Lines::up_to(BufReader::new(text.as_slice()), 10);
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong));
        assert!(lines.line.capacity() < 1000);
        assert_eq!(lines.next().await.unwrap(), None);
    }
}
