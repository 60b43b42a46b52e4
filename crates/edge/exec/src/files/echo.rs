//! Recognises our own output on its way into a file: a model sometimes writes back what a tool said.

/// What `read_file` says instead of showing the same content again.
pub(super) const UNCHANGED: &str = "The file has not changed since you read it. What read_file returned earlier in this \
     conversation is still current; use that.";

/// Whether this is a tool's answer rather than content somebody wants in a file.
pub(super) fn is_tool_output(content: &str) -> bool {
    let content = content.trim();
    let mostly_status = content.contains(UNCHANGED) && content.len() <= 2 * UNCHANGED.len();
    mostly_status || is_numbered(content)
}

/// At least two lines, most of them with the numbers `read_file` puts before them, in sequence.
fn is_numbered(content: &str) -> bool {
    let lines: Vec<&str> = content
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let numbers: Vec<u64> = lines
        .iter()
        .filter_map(|line| line.trim_start().split_once('|')?.0.parse().ok())
        .collect();
    numbers.len() >= 2
        && numbers.len() * 5 >= lines.len() * 3
        && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_words() {
        let check = |content: &str, expected: bool| {
            assert_eq!(is_tool_output(content), expected, "{content}");
        };
        check(UNCHANGED, true);
        check(&format!("Note: {UNCHANGED}\n"), true);
        check(&format!("{UNCHANGED}\n{}", "real text ".repeat(50)), false);
        check("1|def f():\n2|    return 1\n", true);
        check("     7|a\n     8|b\n", true);
        check("1|value\nname|other\nx|y\n", false);
        check("1|a\n3|b\n", false);
        check("1|only\n", false);
        check("", false);
    }
}
