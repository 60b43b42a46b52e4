//! "Did you mean": the parts of a file that are most like a text that isn't there.

use crate::ratio::{Effort, ratio};

const SHOWN: usize = 3;
const AROUND: usize = 2;
const LEAST: f64 = 0.3;

/// What to append to a no-match error; empty if nothing is alike.
pub fn did_you_mean(wanted: &str, content: &str) -> String {
    let excerpts = excerpts(wanted, content);
    if excerpts.is_empty() {
        return String::new();
    }
    format!(
        "\n\nDid you mean one of these?\n{}",
        excerpts.join("\n---\n")
    )
}

fn excerpts(wanted: &str, content: &str) -> Vec<String> {
    let Some(anchor) = wanted.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return Vec::new();
    };
    let lines: Vec<&str> = content.lines().collect();
    let mut effort = Effort::default();
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| (ratio(anchor, line.trim(), &mut effort), at))
        .filter(|(score, _)| *score > LEAST)
        .collect();
    // Stable: of equals the first in the file.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let height = wanted.lines().count();
    scored
        .iter()
        .take(SHOWN)
        .map(|(_, at)| excerpt(&lines, at.saturating_sub(AROUND), at + height + AROUND))
        .collect()
}

fn excerpt(lines: &[&str], start: usize, end: usize) -> String {
    let rows = lines[start..end.min(lines.len())].iter().enumerate();
    rows.map(|(index, line)| format!("{:4}| {line}", start + index + 1))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_places_are_shown_with_their_surroundings() {
        let check = |wanted: &str, content: &str, expected: &str| {
            assert_eq!(did_you_mean(wanted, content), expected, "{wanted}");
        };
        check("zzz", "abc", "");
        check("\n \n", "abc", "");
        check(
            "\nlet total = 2;",
            "1111\n2222\n3333\nlet totals = 1;\n5555\n6666\n7777\n8888\n9999",
            "\n\nDid you mean one of these?\n   2| 2222\n   3| 3333\n   4| let totals = 1;\n   5| 5555\n   6| 6666\n   7| 7777",
        );
        let many = "alpha 1\nalpha 2\nalpha 3\nalpha 4\n";
        assert_eq!(did_you_mean("alpha 3", many).matches("---").count(), 2);
    }
}
