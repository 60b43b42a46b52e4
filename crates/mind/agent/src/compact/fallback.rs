//! A summary nobody had to write: for when no model answers.

use super::brief::Brief;
use super::prune::cut;

const LONGEST: usize = 8_000;
const EARLIER: usize = 3_000;
const REQUESTS: usize = 1_800;
const ACTIONS: usize = 2_600;
const LINE: usize = 200;

/// What was asked and what was done, line by line; the newest last. The request being worked on is not in it:
/// it stands below, and said twice it would be done twice.
pub fn local(brief: &Brief) -> String {
    let mut out = format!(
        "No model could write this summary; it was put together from {} messages that were left out.",
        brief.pieces.len()
    );
    if let Some(earlier) = &brief.earlier {
        out.push_str(&format!("\n\n## Earlier\n{}", cut(earlier, EARLIER)));
    }
    let begins = |label: &'static str| move |piece: &&String| piece.starts_with(label);
    let lines =
        |label: &'static str, most: usize| newest(brief.pieces.iter().filter(begins(label)), most);
    for (heading, label, most) in [
        ("What the user had asked", "[USER]: ", REQUESTS),
        ("What was done and said", "[ASSISTANT]: ", ACTIONS),
    ] {
        let lines = lines(label, most);
        if !lines.is_empty() {
            out.push_str(&format!("\n\n## {heading}\n{}", lines.join("\n")));
        }
    }
    cut(&out, LONGEST).to_owned()
}

/// One line each, the newest ones that fit.
fn newest<'p>(pieces: impl DoubleEndedIterator<Item = &'p String>, most: usize) -> Vec<String> {
    let mut left = most;
    let mut lines: Vec<String> = pieces
        .rev()
        .map(|piece| {
            let text = piece
                .split_once(": ")
                .map_or(piece.as_str(), |(_, text)| text);
            let words: Vec<&str> = text.split_whitespace().take(60).collect();
            format!("- {}", cut(&words.join(" "), LINE))
        })
        .take_while(|line| {
            let fits = line.len() <= left;
            left = left.saturating_sub(line.len());
            fits
        })
        .collect();
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_what_was_asked_and_done_and_stays_short() {
        let pieces: Vec<String> = (0..500)
            .flat_map(|n| {
                [
                    format!("[USER]: question {n}"),
                    format!("[ASSISTANT]: looking\n[calls terminal {{\"command\": \"make {n}\"}}]"),
                    format!("[TOOL RESULT {n}]: fine"),
                ]
            })
            .collect();
        let brief = Brief {
            earlier: Some("e".repeat(9_000)),
            pieces,
        };
        let text = local(&brief);
        assert!(text.chars().count() <= LONGEST);
        for part in ["1500 messages", "- question 499", "make 499"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("question 1\n"), "the oldest make room");
    }
}
