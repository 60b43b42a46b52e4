//! How fast what streams in comes into sight: row by row where few come, all at once where many do.

use std::time::{Duration, Instant};

/// More rows than these don't wait, …
const MOST: usize = 8;
/// … and none waits for longer.
const LONGEST: Duration = Duration::from_millis(120);

/// Rows that have come and are not in sight yet. The oldest are those that can no longer change and wait to go up;
/// those of the tail come after them.
#[derive(Debug, Default)]
pub struct Pace {
    /// Of what goes up, from its end.
    held: usize,
    /// Rows of the tail that are in sight.
    tail: usize,
    /// Something of what grows is in sight.
    begun: bool,
    waits_since: Option<Instant>,
}

impl Pace {
    /// Rows of the tail have become final.
    pub fn settled(&mut self, rows: usize) {
        let seen = rows.min(self.tail);
        self.tail -= seen;
        self.held += rows - seen;
    }

    /// Something else goes up below them: they go first.
    pub fn let_up(&mut self) {
        self.held = 0;
    }

    /// What grew is complete, nothing of it waits.
    pub fn close(&mut self) {
        *self = Self::default();
    }

    /// Everything is drawn again, so everything is in sight.
    pub fn reveal(&mut self) {
        (self.held, self.tail, self.begun) = (0, usize::MAX, true);
        self.waits_since = None;
    }

    /// A frame with so many rows of tail: what comes into sight with it.
    pub fn frame(&mut self, tail: usize, now: Instant) {
        self.tail = self.tail.min(tail);
        let waiting = self.waiting(tail);
        if waiting == 0 {
            return;
        }
        let since = *self.waits_since.get_or_insert(now);
        // The frame of an answer without its first line would say nothing.
        let step = if self.begun { 1 } else { 2 };
        self.begun = true;
        if waiting <= step || waiting > MOST || now.duration_since(since) >= LONGEST {
            (self.held, self.tail) = (0, tail);
        } else {
            let up = step.min(self.held);
            self.held -= up;
            self.tail += step - up;
        }
        if self.waiting(tail) == 0 {
            self.waits_since = None;
        }
    }

    fn waiting(&self, tail: usize) -> usize {
        self.held + (tail - self.tail.min(tail))
    }

    /// Rows at the end of what goes up that have to wait.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Rows of the tail that are in sight.
    pub fn tail(&self) -> usize {
        self.tail
    }

    /// Whether there will be something to see in the next frame though nothing happens.
    pub fn is_waiting(&self) -> bool {
        self.waits_since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const FRAME: Duration = Duration::from_millis(16);

    /// What is in sight after each frame, of rows that came at once: those that went up, and of the tail.
    fn seen(settled: usize, tail: usize) -> Vec<usize> {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        pace.settled(settled);
        let mut seen = Vec::new();
        loop {
            pace.frame(tail, now);
            seen.push(settled - pace.held() + pace.tail());
            if !pace.is_waiting() {
                return seen;
            }
            now += FRAME;
        }
    }

    #[test]
    fn few_rows_come_one_by_one_and_many_at_once() {
        assert_eq!(seen(0, 1), [1]);
        assert_eq!(seen(0, 2), [2], "the frame and the first line");
        assert_eq!(seen(3, 2), [2, 3, 4, 5]);
        assert_eq!(seen(8, 0), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(seen(9, 0), [9]);
        assert_eq!(seen(400, 40), [440]);
        assert_eq!(seen(0, 0), [0]);
    }

    #[test]
    fn nothing_waits_for_longer_than_it_may() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        let mut now = begun;
        let mut tail = 0;
        // One and a half rows for each frame, for a while.
        for frame in 0..100 {
            tail += 1 + frame % 2;
            pace.frame(tail, now);
            let waits = pace.waits_since.map_or(Duration::ZERO, |since| now - since);
            assert!(waits < LONGEST + FRAME, "{waits:?}");
            assert!(tail - pace.tail() <= MOST);
            now += FRAME;
        }
    }

    #[test]
    fn rows_that_were_in_sight_stay_there_when_they_are_final() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.frame(2, now);
        pace.settled(2);
        assert_eq!((pace.held(), pace.tail()), (0, 0));
        pace.settled(3);
        pace.frame(1, now);
        assert_eq!((pace.held(), pace.tail()), (2, 0));
        pace.let_up();
        assert_eq!(pace.held(), 0);
        // A tail can become shorter.
        pace.reveal();
        pace.frame(4, now);
        pace.frame(2, now);
        assert_eq!(pace.tail(), 2);
        assert!(!pace.is_waiting());
    }
}
