//! What the model sees of a command's output: readable, without secrets, not too long.

use hermes_home::redact::Redactor;
use hermes_proc::{Captured, strip_ansi};

/// How much a foreground command may say before the middle is forgotten. More than is shown: what is stripped
/// from it doesn't count.
pub(super) const HEAD: usize = 256 * 1024;
pub(super) const TAIL: usize = 512 * 1024;

pub(super) fn present(captured: &Captured, max: usize, redactor: &Redactor) -> String {
    captured.shown(max, |text| clean(text, redactor))
}

/// Without control sequences and secrets; indentation of the first line stays.
pub(crate) fn clean(text: &str, redactor: &Redactor) -> String {
    let text = strip_ansi(text);
    let text = redactor.code(&text);
    text.trim_end().trim_start_matches(['\n', '\r']).to_owned()
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
}
