//! Which candidates fit what was typed, and which come first.

use super::Candidate;

/// How well something fits; the smaller, the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    Exact,
    Prefix,
    /// Its letters are there in this order; less is better.
    Loose(i32),
}

/// A candidate that fits.
#[derive(Clone, Debug)]
pub struct Item {
    pub candidate: Candidate,
    pub fit: Fit,
    /// Which characters of the label were typed.
    pub matched: Vec<usize>,
}

/// Those that fit, best first; equally good ones in the order given.
pub fn ranked(candidates: Vec<Candidate>, typed: &str) -> Vec<Item> {
    let mut items: Vec<Item> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let (fit, matched) = fit(&candidate.label, typed)?;
            Some(Item {
                candidate,
                fit,
                matched,
            })
        })
        .collect();
    items.sort_by_key(|item| item.fit);
    items
}

/// A candidate somebody else has found; only what to highlight is looked for.
pub fn as_given(candidate: Candidate, typed: &str) -> Item {
    let wanted = typed.rsplit(['@', ':', '"', '\'', '`']).next();
    let matched = match wanted.unwrap_or_default() {
        "" => Vec::new(),
        wanted => fit(&candidate.label, wanted).map_or(Vec::new(), |(_, matched)| matched),
    };
    let fit = match candidate.insert == typed {
        true => Fit::Exact,
        false => Fit::Prefix,
    };
    Item {
        candidate,
        fit,
        matched,
    }
}

/// How `typed` fits `name`, whatever the case, and where.
pub fn fit(name: &str, typed: &str) -> Option<(Fit, Vec<usize>)> {
    // The slash of a command says nothing about which one.
    if let (Some(name), Some(typed)) = (name.strip_prefix('/'), typed.strip_prefix('/')) {
        let (fit, matched) = fit(name, typed)?;
        return Some((fit, matched.into_iter().map(|at| at + 1).collect()));
    }
    let (name, typed) = (letters(name), letters(typed));
    if name.starts_with(&typed) {
        let fit = match name.len() == typed.len() {
            true => Fit::Exact,
            false => Fit::Prefix,
        };
        return Some((fit, (0..typed.len()).collect()));
    }
    let starts = (0..name.len()).filter(|at| Some(&name[*at]) == typed.first());
    starts
        .filter_map(|start| loose(&name, &typed, start))
        .min_by_key(|(fit, _)| *fit)
}

/// Letters in order from `start`. Inside of a word only as one piece, or everything would fit everything.
fn loose(name: &[char], typed: &[char], start: usize) -> Option<(Fit, Vec<usize>)> {
    let whole = name[start..].starts_with(typed);
    if whole {
        let cost = if begins_word(name, start) { 0 } else { 10 };
        return Some((Fit::Loose(cost), (start..start + typed.len()).collect()));
    }
    if !begins_word(name, start) {
        return None;
    }
    let mut matched = vec![start];
    let mut cost = 20;
    for wanted in &typed[1..] {
        let from = matched.last()? + 1;
        let same = |at: &usize| name[*at] == *wanted;
        let next = (from..name.len()).find(same)?;
        let boundary = (from..name.len()).find(|at| same(at) && begins_word(name, *at));
        // The beginning of a word is meant rather than a letter far inside of one.
        let at = match boundary {
            Some(boundary) if next != from => boundary,
            _ => next,
        };
        let gap = i32::try_from(at - from).unwrap_or(i32::MAX / 64);
        cost += if begins_word(name, at) {
            gap.min(1)
        } else {
            gap * 3
        };
        matched.push(at);
    }
    Some((Fit::Loose(cost), matched))
}

fn begins_word(name: &[char], at: usize) -> bool {
    at == 0 || !name[at - 1].is_alphanumeric()
}

/// Lower case, one character for each.
fn letters(text: &str) -> Vec<char> {
    text.chars()
        .map(|c| c.to_lowercase().next().unwrap_or(c))
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn fitting() {
        let check = |name: &str, typed: &str, expected: Option<&[usize]>| {
            let matched = fit(name, typed).map(|(_, matched)| matched);
            assert_eq!(matched.as_deref(), expected, "{name} {typed}");
        };
        check("resume", "re", Some(&[0, 1]));
        check("Resume", "rE", Some(&[0, 1]));
        check("reload-mcp", "rm", Some(&[0, 7]));
        check("reload-mcp", "mcp", Some(&[7, 8, 9]));
        check("compress", "press", Some(&[3, 4, 5, 6, 7]));
        check("compress", "rss", None);
        check("help", "hp", Some(&[0, 3]));
        check("help", "hx", None);
        check("a", "ab", None);
        check("any", "", Some(&[]));
        check("/any", "/", Some(&[]));
        check("/compress", "/press", Some(&[4, 5, 6, 7, 8]));
        check("/compress", "/rss", None);
    }

    #[test]
    fn exact_before_prefix_before_loose() {
        let names = ["compact", "xc", "c-act", "act", "action"];
        let candidates = names.iter().map(|name| Candidate::word(*name, ""));
        let ranked = ranked(candidates.collect(), "act");
        let order: Vec<&str> = ranked
            .iter()
            .map(|item| item.candidate.label.as_str())
            .collect();
        assert_eq!(order, ["act", "action", "c-act", "compact"]);
    }
}
