//! What the model sees of a command's output: readable, without secrets, not too long.

use hermes_home::redact::Redactor;
use hermes_proc::Captured;

use hermes_proc::strip_ansi;

/// How much a foreground command may say before the middle is forgotten. More than is shown: what is stripped
/// from it doesn't count.
pub(super) const HEAD: usize = 256 * 1024;
pub(super) const TAIL: usize = 512 * 1024;

/// Cleaned first and cut last, so that no cut can go through a key and leave half of it.
pub(super) fn present(captured: &Captured, max: usize, redactor: &Redactor) -> String {
    let Captured {
        head,
        tail,
        dropped,
    } = captured;
    if *dropped == 0 {
        let text = clean(&format!("{head}{tail}"), redactor);
        let length = text.chars().count();
        if length <= max {
            return text;
        }
        return joined(&text, &text, length, max);
    }
    // Half a word at the gap could be half a key.
    let head = clean(whole_words(head), redactor);
    let tail = clean(
        tail.find(char::is_whitespace).map_or("", |at| &tail[at..]),
        redactor,
    );
    let length = head.chars().count() + dropped + tail.chars().count();
    joined(&head, &tail, length, max)
}

/// Without control sequences and secrets; indentation of the first line stays.
pub(crate) fn clean(text: &str, redactor: &Redactor) -> String {
    let text = strip_ansi(text);
    let text = redactor.code(&text);
    text.trim_end().trim_start_matches(['\n', '\r']).to_owned()
}

/// The last `max` characters.
pub(crate) fn last_chars(text: &str, max: usize) -> &str {
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

    fn whole(text: &str) -> Captured {
        Captured {
            head: text.to_owned(),
            ..Captured::default()
        }
    }

    #[test]
    fn output_is_clean() {
        let check = |text: &str, expected: &str| {
            let shown = present(&whole(text), 100, &Redactor::default());
            assert_eq!(shown, expected, "{text:?}");
        };
        check("exact", "exact");
        check("\n\n  indented\nlines\n\n", "  indented\nlines");
        check("\x1b[31mred\x1b[0m\n", "red");
        check("ghp_abcdefghijklmnop1234", "ghp_ab...1234");
        check("ghp_abc\x1b[0mdefghijklmnop1234", "ghp_ab...1234");
    }

    #[test]
    fn long_output_keeps_both_ends() {
        let text: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let shown = present(&whole(&text), 100, &Redactor::default());
        assert!(shown.starts_with("line 0\nline 1\n"), "{shown}");
        assert!(shown.ends_with("line 998\nline 999"), "{shown}");
        assert!(shown.contains("[OUTPUT TRUNCATED: "), "{shown}");
        assert!(shown.chars().count() < 200);
    }

    #[test]
    fn a_cut_never_shows_part_of_a_key() {
        let key = "ghp_abcdefghijklmnop1234";
        for at in 0..100 {
            let text = format!("{}{key} {}", " ".repeat(at), "x ".repeat(100));
            let shown = present(&whole(&text), 60, &Redactor::default());
            assert!(!shown.contains("ghp_abc"), "{shown}");
            let captured = Captured {
                head: text[..at + 10].to_owned(),
                tail: format!("{} {}", &key[10..], "y ".repeat(20)),
                dropped: 5,
            };
            let shown = present(&captured, 100, &Redactor::default());
            assert!(
                !shown.contains("ghp_") && !shown.contains("mnop1234"),
                "{shown}"
            );
        }
    }

    #[test]
    fn the_end_of_a_text_is_counted_in_characters() {
        assert_eq!(last_chars("äöü€", 2), "ü€");
        assert_eq!(last_chars("ab", 5), "ab");
        assert_eq!(last_chars("ab", 0), "");
    }
}
