//! Which rows fit what was typed.

/// How well `text` fits `typed`: less is better, `None` not at all. It comes first as it was typed, then with every
/// word somewhere, then with the letters in their order and little between them.
pub fn fit(typed: &str, text: &str) -> Option<usize> {
    let (typed, text) = (typed.trim().to_lowercase(), text.to_lowercase());
    if typed.is_empty() {
        return Some(0);
    }
    if text.starts_with(&typed) {
        return Some(0);
    }
    if text.contains(&typed) {
        return Some(1);
    }
    if has_words(&typed, &text) {
        return Some(2);
    }
    let letters: Vec<char> = typed.chars().filter(|c| !c.is_whitespace()).collect();
    let spread = spread(&letters, &text.chars().collect::<Vec<_>>())?;
    // Two letters are everywhere, and so is anything in a long text.
    (letters.len() > 2 && spread <= letters.len() * 2 + 2).then_some(3 + spread)
}

/// Whether every word that was typed is somewhere in `text`; both in lower case.
pub(super) fn has_words(typed: &str, text: &str) -> bool {
    typed.split_whitespace().all(|word| text.contains(word))
}

/// The length of the shortest piece of `text` that has all `letters` in their order.
fn spread(letters: &[char], text: &[char]) -> Option<usize> {
    let first = letters.first()?;
    let starts = text.iter().enumerate().filter(|(_, c)| *c == first);
    starts
        .filter_map(|(start, _)| {
            let mut wanted = letters.iter().peekable();
            for (at, c) in text.iter().enumerate().skip(start) {
                if wanted.peek() == Some(&c) {
                    wanted.next();
                }
                if wanted.peek().is_none() {
                    return Some(at - start + 1);
                }
            }
            None
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_better_counts_less() {
        let ranked = |typed: &str, texts: &[&str]| {
            let mut fitting: Vec<(usize, String)> = texts
                .iter()
                .filter_map(|text| Some((fit(typed, text)?, (*text).to_owned())))
                .collect();
            fitting.sort();
            fitting
                .into_iter()
                .map(|(_, text)| text)
                .collect::<Vec<_>>()
        };
        let models = ["gpt-5-mini", "claude-opus-4", "kimi-k2", "openai/gpt-5"];
        assert_eq!(ranked("gpt", &models), ["gpt-5-mini", "openai/gpt-5"]);
        assert_eq!(ranked("OPUS claude", &models), ["claude-opus-4"]);
        assert_eq!(ranked("gpt5", &models), ["gpt-5-mini", "openai/gpt-5"]);
        assert_eq!(ranked("会", &["会议", "x"]), ["会议"]);
        assert_eq!(ranked("zz", &models), [""; 0]);
        assert_eq!(ranked("gi", &["growing inside"]), [""; 0]);
    }
}
