//! Keeping output of any length in bounded memory: how it began and how it ended.

use std::mem;

/// Takes text piece by piece; keeps the first `head` and the last `tail` bytes.
#[derive(Debug)]
pub struct Capture {
    head: String,
    head_room: usize,
    /// Grows to twice `tail_size` before its first half is thrown away, so that each byte is moved once.
    tail: String,
    tail_size: usize,
    dropped: usize,
}

/// What was kept. With nothing dropped, `head + tail` is the whole output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    pub head: String,
    pub tail: String,
    /// Bytes between the two that are gone.
    pub dropped: usize,
}

impl Capture {
    pub fn new(head: usize, tail: usize) -> Self {
        Self {
            head: String::new(),
            head_room: head,
            tail: String::new(),
            tail_size: tail,
            dropped: 0,
        }
    }

    pub fn push(&mut self, text: &str) {
        let first = text.floor_char_boundary(self.head_room);
        self.head.push_str(&text[..first]);
        // A character that didn't fit ends the head; otherwise a smaller one behind it would overtake.
        self.head_room = if first == text.len() {
            self.head_room - first
        } else {
            0
        };
        self.tail.push_str(&text[first..]);
        if self.tail.len() > 2 * self.tail_size {
            self.shrink();
        }
    }

    /// The last of what has come so far.
    pub fn recent(&self) -> &str {
        if self.tail.is_empty() {
            &self.head
        } else {
            &self.tail
        }
    }

    /// What has been kept so far; the capture begins anew behind it.
    pub fn take(&mut self) -> Captured {
        if self.tail.len() > self.tail_size {
            self.shrink();
        }
        Captured {
            head: mem::take(&mut self.head),
            tail: mem::take(&mut self.tail),
            dropped: mem::take(&mut self.dropped),
        }
    }

    fn shrink(&mut self) {
        let cut = self
            .tail
            .ceil_char_boundary(self.tail.len() - self.tail_size);
        self.tail.drain(..cut);
        self.dropped += cut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&str]) -> Captured {
        let mut capture = Capture::new(4, 6);
        pieces.iter().for_each(|piece| capture.push(piece));
        capture.take()
    }

    fn parts(head: &str, tail: &str, dropped: usize) -> Captured {
        Captured {
            head: head.to_owned(),
            tail: tail.to_owned(),
            dropped,
        }
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let check = |pieces: &[&str], expected: Captured| {
            assert_eq!(captured(pieces), expected, "{pieces:?}");
        };
        check(&[], parts("", "", 0));
        check(&["abc"], parts("abc", "", 0));
        check(&["abc", "def"], parts("abcd", "ef", 0));
        check(&["0123456789"], parts("0123", "456789", 0));
        check(&["0123456789", "ab"], parts("0123", "6789ab", 2));
        check(
            &["0123", "a", "b", "cdefghijklmnop"],
            parts("0123", "klmnop", 10),
        );
        check(&["abc€", "d"], parts("abc", "€d", 0));
        check(&["0123", "€€€€"], parts("0123", "€€", 6));
    }

    #[test]
    fn memory_stays_small() {
        let mut capture = Capture::new(1000, 1000);
        for _ in 0..10_000 {
            capture.push("0123456789abcdef");
        }
        assert!(capture.head.capacity() + capture.tail.capacity() < 10_000);
        let kept = capture.take();
        assert_eq!(kept.head.len() + kept.tail.len() + kept.dropped, 160_000);
    }
}
