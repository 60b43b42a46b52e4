//! Which of the newest matches says most about what was asked.
//!
//! The usual bm25 needs the frequency of every word in the whole file, which for a common word means
//! reading its whole index. Here only the candidates are compared with each other.

/// A message that matched.
pub(super) struct Candidate {
    pub id: i64,
    pub text: String,
}

/// Enough of a long text to judge it by.
const JUDGED_BYTES: usize = 16 * 1024;
/// How soon more of the same word stops to count, and how much length counts against it.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;
/// The newest candidate is worth this much more than the oldest.
const RECENCY_WEIGHT: f64 = 0.5;

/// Ids of `candidates`, which come newest first, the best first. `terms` are in lower case.
pub(super) fn rank(terms: &[String], candidates: &[Candidate]) -> Vec<i64> {
    let total = candidates.len() as f64;
    let counts: Vec<Vec<f64>> = candidates
        .iter()
        .map(|candidate| count(terms, beginning(&candidate.text)))
        .collect();
    // Words that few of the candidates have tell more than words all of them have.
    let weights: Vec<f64> = (0..terms.len())
        .map(|term| {
            let having = counts.iter().filter(|c| c[term] > 0.0).count() as f64;
            (1.0 + (total - having + 0.5) / (having + 0.5))
                .ln()
                .max(0.1)
        })
        .collect();
    let lengths = candidates.iter().map(|c| c.text.len() as f64);
    let average = (lengths.sum::<f64>() / total).max(1.0);
    let mut scored: Vec<(f64, i64)> = candidates
        .iter()
        .zip(&counts)
        .enumerate()
        .map(|(age, (candidate, counts))| {
            let length = candidate.text.len() as f64 / average;
            let slowing = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
            let pairs = counts.iter().zip(&weights);
            let relevance: f64 = pairs
                .map(|(count, weight)| weight * count * (SATURATION + 1.0) / (count + slowing))
                .sum();
            let youth = 1.0 - age as f64 / total;
            (relevance * (1.0 + RECENCY_WEIGHT * youth), candidate.id)
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    scored.into_iter().map(|(_, id)| id).collect()
}

fn count(terms: &[String], text: &str) -> Vec<f64> {
    let text = text.to_lowercase();
    terms
        .iter()
        .map(|term| text.matches(term.as_str()).count() as f64)
        .collect()
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(JUDGED_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(terms: &[&str], newest_first: &[(i64, &str)], expected: &[i64]) {
        let terms: Vec<String> = terms.iter().map(|t| (*t).to_owned()).collect();
        let candidates: Vec<Candidate> = newest_first
            .iter()
            .map(|(id, text)| Candidate {
                id: *id,
                text: (*text).to_owned(),
            })
            .collect();
        assert_eq!(rank(&terms, &candidates), expected);
    }

    #[test]
    fn frequent_short_rare_and_new_come_first() {
        check(&["x"], &[], &[]);
        check(&["cat"], &[(2, "cat"), (1, "cat")], &[2, 1]);
        check(&["cat"], &[(2, "a cat"), (1, "cat cat cat")], &[1, 2]);
        let long = format!("cat {}", "filler ".repeat(200));
        check(&["cat"], &[(2, &long), (1, "a cat")], &[1, 2]);
        check(
            &["the", "zebra"],
            &[(3, "the the the"), (2, "the the"), (1, "the zebra")],
            &[1, 3, 2],
        );
        check(&["图书"], &[(2, "图"), (1, "图书馆")], &[1, 2]);
    }
}
