//! How alike two names are, as Python's `difflib` counts: twice the common runs over both lengths.

/// Between 0 (nothing in common) and 1 (equal), case aside.
pub(crate) fn similarity(one: &str, other: &str) -> f64 {
    let one: Vec<char> = one.to_lowercase().chars().collect();
    let other: Vec<char> = other.to_lowercase().chars().collect();
    match one.len() + other.len() {
        0 => 1.0,
        total => 2.0 * common(&one, &other) as f64 / total as f64,
    }
}

/// The length of the longest common run, and of those to its left and right.
fn common(one: &[char], other: &[char]) -> usize {
    let (length, at_one, at_other) = longest_run(one, other);
    if length == 0 {
        return 0;
    }
    let before = common(&one[..at_one], &other[..at_other]);
    let after = common(&one[at_one + length..], &other[at_other + length..]);
    before + length + after
}

fn longest_run(one: &[char], other: &[char]) -> (usize, usize, usize) {
    let mut best = (0, 0, 0);
    let mut runs = vec![0; other.len() + 1];
    for (i, a) in one.iter().enumerate() {
        // From the right, so that the entry to the left is still the last row's.
        for (j, b) in other.iter().enumerate().rev() {
            runs[j + 1] = if a == b { runs[j] + 1 } else { 0 };
            let length = runs[j + 1];
            let start = (length, i + 1 - length, j + 1 - length);
            let is_earlier = length == best.0 && (start.1, start.2) < (best.1, best.2);
            if length > best.0 || (length > 0 && is_earlier) {
                best = start;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_as_python_counts() {
        let check = |one, other, expected: f64| {
            let found = similarity(one, other);
            assert!((found - expected).abs() < 1e-4, "{one} {other}: {found}");
        };
        check("", "", 1.0);
        check("abc", "xyz", 0.0);
        check("gpt-5.4", "GPT-5.4", 1.0);
        check("claude-sonnet-4.6", "claude-sonet-4.6", 0.9697);
        check("gpt-5.4-mini", "gpt-5.4", 0.7368);
        check("abcd", "bcde", 0.75);
    }
}
