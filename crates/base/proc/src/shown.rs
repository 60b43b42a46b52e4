//! Output for a reader with limited patience: its two ends.

use crate::Captured;

impl Captured {
    /// At most `max` characters: two fifths from the beginning, the rest from the end, and a line between them
    /// that says how much is missing. Cleaned first and cut last, so that no cut can go through a key and leave
    /// half of it for `clean` to miss.
    pub fn shown(&self, max: usize, clean: impl Fn(&str) -> String) -> String {
        let Self {
            head,
            tail,
            dropped,
        } = self;
        if *dropped == 0 {
            let text = clean(&format!("{head}{tail}"));
            let length = text.chars().count();
            if length <= max {
                return text;
            }
            return joined(&text, &text, length, max);
        }
        // Half a word at the gap could be half a key.
        let head = clean(whole_words(head));
        let tail = clean(tail.find(char::is_whitespace).map_or("", |at| &tail[at..]));
        let length = head.chars().count() + dropped + tail.chars().count();
        joined(&head, &tail, length, max)
    }
}

/// The last `max` characters.
pub fn last_chars(text: &str, max: usize) -> &str {
    let start = text.char_indices().rev().take(max).last();
    start.map_or("", |(start, _)| &text[start..])
}

fn whole_words(text: &str) -> &str {
    text.rfind(char::is_whitespace).map_or("", |at| &text[..at])
}

fn joined(head: &str, tail: &str, length: usize, max: usize) -> String {
    let first = max * 2 / 5;
    let head: String = head.chars().take(first).collect();
    let tail = last_chars(tail, max - first);
    let left_out = length.saturating_sub(head.chars().count() + tail.chars().count());
    format!(
        "{head}\n\n[OUTPUT TRUNCATED: {left_out} of {length} characters left out here]\n\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_counted_in_characters() {
        assert_eq!(last_chars("äöü€", 2), "ü€");
        assert_eq!(last_chars("ab", 5), "ab");
        assert_eq!(last_chars("ab", 0), "");
    }

    #[test]
    fn both_ends_are_shown_clean() {
        let check = |head: &str, tail: &str, dropped: usize, max: usize, expected: &str| {
            let captured = Captured {
                head: head.to_owned(),
                tail: tail.to_owned(),
                dropped,
            };
            let shown = captured.shown(max, |text| text.replace("key", "***"));
            assert_eq!(shown, expected, "{head:?} {tail:?}");
        };
        let note = |left: usize, of: usize| {
            format!("\n\n[OUTPUT TRUNCATED: {left} of {of} characters left out here]\n\n")
        };
        check("a ke", "y b", 0, 10, "a *** b");
        check(
            "0123456789",
            "abcdef",
            0,
            10,
            &format!("0123{}abcdef", note(6, 16)),
        );
        check("12 ke", "ey 34", 7, 10, &format!("12{} 34", note(7, 12)));
        check("endless", "endless", 7, 10, &note(7, 7));
    }
}
