//! The last part of an output that never stops growing.

/// Keeps about the last `max` bytes, cut at characters.
#[derive(Debug)]
pub(super) struct Rolling {
    /// Grows to twice `max` before its first half goes, so that each byte is moved once.
    text: String,
    max: usize,
}

impl Rolling {
    pub fn new(max: usize) -> Self {
        Self {
            text: String::new(),
            max,
        }
    }

    pub fn push(&mut self, more: &str) {
        self.text.push_str(more);
        if self.text.len() > 2 * self.max {
            let cut = self.start();
            self.text.drain(..cut);
        }
    }

    pub fn text(&self) -> &str {
        &self.text[self.start()..]
    }

    fn start(&self) -> usize {
        let over = self.text.len().saturating_sub(self.max);
        self.text.ceil_char_boundary(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        let mut rolling = Rolling::new(10);
        for n in 0..1000 {
            rolling.push(&format!("{n}€"));
            assert!(rolling.text().len() <= 10 && rolling.text.len() <= 30);
        }
        assert_eq!(rolling.text(), "8€999€");
    }
}
