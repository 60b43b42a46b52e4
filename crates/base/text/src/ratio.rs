//! How alike two texts are: the Ratcliff/Obershelp ratio, with a bound on the work.

use std::collections::HashMap;
use std::ops::Range;

/// How many steps a search may still take. When they are used up nothing is alike any more: better no match than
/// a minute of thinking.
#[derive(Debug)]
pub(crate) struct Effort(usize);

impl Default for Effort {
    /// Well under a second.
    fn default() -> Self {
        Self(20_000_000)
    }
}

impl Effort {
    fn spend(&mut self, steps: usize) -> bool {
        self.0 = self.0.saturating_sub(steps);
        self.0 > 0
    }
}

/// `2 * M / T`: M characters match, T is the length of both. Two empty texts are the same.
pub(crate) fn ratio(a: &str, b: &str, effort: &mut Effort) -> f64 {
    if a == b {
        return 1.0;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let matched: usize = blocks(&a, &b, effort).iter().map(|block| block.len).sum();
    2.0 * matched as f64 / (a.len() + b.len()) as f64
}

/// Whether the ratio reaches `least`; cheap if the lengths alone say no.
pub(crate) fn alike(a: &str, b: &str, least: f64, effort: &mut Effort) -> bool {
    let (long, short) = (a.len().max(b.len()), a.len().min(b.len()));
    // Bytes bound characters only roughly: a character may have four.
    let hopeless = a.is_ascii()
        && b.is_ascii()
        && long > 0
        && 2.0 * short as f64 / ((long + short) as f64) < least;
    !hopeless && ratio(a, b, effort) >= least
}

/// A piece both texts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub a: usize,
    pub b: usize,
    pub len: usize,
}

/// The common pieces, in order: the longest, then the longest before and after it, and so on.
pub(crate) fn blocks(a: &[char], b: &[char], effort: &mut Effort) -> Vec<Block> {
    let mut places: HashMap<char, Vec<usize>> = HashMap::new();
    for (at, c) in b.iter().enumerate() {
        places.entry(*c).or_default().push(at);
    }
    let mut found = Vec::new();
    let mut open = vec![(0..a.len(), 0..b.len())];
    while let Some((left, right)) = open.pop() {
        let Some(block) = longest(&a[left.clone()], right.clone(), &places, effort) else {
            continue;
        };
        let block = Block {
            a: left.start + block.a,
            ..block
        };
        open.push((left.start..block.a, right.start..block.b));
        open.push((
            block.a + block.len..left.end,
            block.b + block.len..right.end,
        ));
        found.push(block);
    }
    found.sort_by_key(|block| block.a);
    found
}

/// The longest common piece of `a` and the part `within` of the other text; the earliest of several.
fn longest(
    a: &[char],
    within: Range<usize>,
    places: &HashMap<char, Vec<usize>>,
    effort: &mut Effort,
) -> Option<Block> {
    // For each end in the other text: in which row of `a` it was last reached, and how long the piece was.
    let mut runs = vec![(0, 0); within.len() + 1];
    let mut best: Option<Block> = None;
    for (row, c) in a.iter().enumerate() {
        let Some(all) = places.get(c) else { continue };
        let (first, last) = (
            all.partition_point(|at| *at < within.start),
            all.partition_point(|at| *at < within.end),
        );
        if !effort.spend(last - first + 1) {
            return None;
        }
        // Backwards, so that the entry before still belongs to the row before.
        for at in all[first..last].iter().rev() {
            let column = at - within.start;
            let (reached, before) = runs[column];
            let len = if reached == row { before + 1 } else { 1 };
            runs[column + 1] = (row + 1, len);
            let (start_a, start_b) = (row + 1 - len, at + 1 - len);
            let better = best.is_none_or(|best| {
                len > best.len || (len == best.len && start_a == best.a && start_b < best.b)
            });
            if better {
                best = Some(Block {
                    a: start_a,
                    b: start_b,
                    len,
                });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_difflib() {
        let check = |a: &str, b: &str, expected: f64| {
            let found = ratio(a, b, &mut Effort::default());
            assert!((found - expected).abs() < 1e-9, "{a:?} {b:?}: {found}");
        };
        check("", "", 1.0);
        check("", "a", 0.0);
        check("abcd", "bcde", 0.75);
        check("tide", "diet", 0.25);
        check("diet", "tide", 0.5);
        check(
            "private Thread currentThread;",
            "private volatile Thread currentThread;",
            58.0 / 67.0,
        );
        check("qabxcd", "abycdf", 2.0 / 3.0);
        check("größe", "grosse", 6.0 / 11.0);
    }

    #[test]
    fn work_is_bounded() {
        let text = "a".repeat(100_000);
        let other = "a".repeat(99_999) + "b";
        assert!(ratio(&text, &other, &mut Effort(1000)) < 0.1);
    }

    #[test]
    fn lengths_alone_can_say_no() {
        let mut effort = Effort(0);
        assert!(!alike("aaaaaaaaaa", "a", 0.8, &mut effort));
        assert!(alike("same", "same", 0.8, &mut effort));
    }
}
