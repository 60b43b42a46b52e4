//! How well a path fits what was typed: exact name, beginning of the name, part of the name, part of the path,
//! letters in their order. Pure.

/// How a path matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub rank: Rank,
    /// Where the matching characters begin, in bytes.
    pub marked: Vec<usize>,
}

/// Larger is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    way: Way,
    /// Among paths that match in the same way.
    points: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// Its letters, in their order.
    Letters,
    InPath,
    InName,
    NameBegins,
    Name,
}

/// At the beginning of a word.
const BOUNDARY: i32 = 8;
/// Right after the letter before it.
const ADJACENT: i32 = 5;
/// How many places for the first letter are tried.
const TRIED: usize = 12;

/// `None`: it does not match at all. Upper and lower case are the same; a `/` at the end is no part of the name.
pub(crate) fn rank(path: &str, typed: &str) -> Option<Match> {
    let wanted: Vec<char> = typed.chars().map(fold).collect();
    // Most paths of a project end here, and it is asked about all of them with every key.
    if !holds(path.chars().map(fold), &wanted) {
        return None;
    }
    let letters: Vec<(usize, char)> = path.char_indices().map(|(at, c)| (at, fold(c))).collect();
    let length = letters.len() - usize::from(path.ends_with('/'));
    let shorter = -i32::try_from(length).unwrap_or(i32::MAX);
    if wanted.is_empty() {
        let rank = Rank {
            way: Way::InPath,
            points: 0,
        };
        return Some(Match {
            rank,
            marked: Vec::new(),
        });
    }
    let slash = letters[..length].iter().rposition(|(_, c)| *c == '/');
    let name = slash.map_or(0, |at| at + 1);
    let plain: Vec<char> = letters.iter().map(|(_, c)| *c).collect();
    let marked = |chars: Vec<usize>| chars.into_iter().map(|at| letters[at].0).collect();
    let run = |way, start: usize| Match {
        rank: Rank {
            way,
            points: shorter,
        },
        marked: marked((start..start + wanted.len()).collect()),
    };
    if plain[name..length] == wanted[..] || plain[..length] == wanted[..] {
        return Some(run(Way::Name, length - wanted.len()));
    }
    if plain[name..length].starts_with(&wanted) {
        return Some(run(Way::NameBegins, name));
    }
    if let Some(at) = position(&plain[name..length], &wanted) {
        return Some(run(Way::InName, name + at));
    }
    if let Some(at) = position(&plain, &wanted) {
        return Some(run(Way::InPath, at));
    }
    let original: Vec<char> = path.chars().collect();
    let (points, chars) = in_order(&original, &plain, &wanted)?;
    let rank = Rank {
        way: Way::Letters,
        points: points.saturating_mul(4).saturating_add(shorter),
    };
    Some(Match {
        rank,
        marked: marked(chars),
    })
}

fn position(letters: &[char], wanted: &[char]) -> Option<usize> {
    letters
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// The best of the places where the wanted letters stand in their order.
fn in_order(original: &[char], letters: &[char], wanted: &[char]) -> Option<(i32, Vec<usize>)> {
    let first = *wanted.first()?;
    let starts = (0..letters.len()).filter(|at| letters[*at] == first);
    let found = starts
        .take(TRIED)
        .filter_map(|start| from(original, letters, wanted, start));
    found.max_by(|a, b| (a.0, &b.1).cmp(&(b.0, &a.1)))
}

/// Beginning at one of them, each letter is taken at the next beginning of a word, if there is one in time, or
/// where it comes next.
fn from(
    original: &[char],
    letters: &[char],
    wanted: &[char],
    start: usize,
) -> Option<(i32, Vec<usize>)> {
    let mut taken = vec![start];
    let mut points = if is_boundary(original, start) {
        BOUNDARY
    } else {
        0
    };
    let mut at = start;
    for (index, c) in wanted.iter().enumerate().skip(1) {
        let rest = &wanted[index..];
        let next = (at + 1..letters.len()).find(|next| letters[*next] == *c)?;
        let bound = (next..letters.len()).find(|next| {
            letters[*next] == *c
                && is_boundary(original, *next)
                && holds(letters[*next..].iter().copied(), rest)
        });
        let chosen = match bound {
            _ if next == at + 1 => next,
            Some(bound) => bound,
            None => next,
        };
        points += match (chosen == at + 1, is_boundary(original, chosen)) {
            (true, _) => ADJACENT,
            (false, true) => BOUNDARY,
            (false, false) => -1,
        };
        at = chosen;
        taken.push(at);
    }
    Some((points, taken))
}

/// Whether all of `wanted` comes, in its order.
fn holds(letters: impl Iterator<Item = char>, wanted: &[char]) -> bool {
    let mut wanted = wanted.iter().peekable();
    for c in letters {
        wanted.next_if(|next| **next == c);
        if wanted.peek().is_none() {
            return true;
        }
    }
    wanted.peek().is_none()
}

/// Whether a word begins here: after a separator, at a capital, at the first digit.
fn is_boundary(letters: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| letters[at]) else {
        return true;
    };
    let here = letters[at];
    matches!(before, '/' | '_' | '-' | '.' | ' ')
        || (before.is_lowercase() && here.is_uppercase())
        || (!before.is_numeric() && here.is_numeric())
}

/// One character for one, so that places stay what they are.
pub(super) fn fold(c: char) -> char {
    match c.is_ascii() {
        true => c.to_ascii_lowercase(),
        false => c.to_lowercase().next().unwrap_or(c),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_better_way_wins() {
        // Each list is in order, the best first; the last ones don't match.
        let check = |typed: &str, paths: &[&str], none: &[&str]| {
            let mut ranked: Vec<&str> = paths.to_vec();
            ranked.sort();
            ranked.sort_by_key(|path| std::cmp::Reverse(rank(path, typed).unwrap().rank));
            assert_eq!(ranked, paths, "{typed}");
            for path in none {
                assert_eq!(rank(path, typed), None, "{typed} in {path}");
            }
        };
        check(
            "main.rs",
            &[
                "src/main.rs",
                "src/main.rs.orig",
                "old/domain.rs",
                "main.rs.d/x",
                "my/align.rs",
            ],
            &["main.py"],
        );
        check("src", &["src/", "srclib/x/src.c", "src/b.rs"], &["lib/a.c"]);
        check("AB", &["ab", "x/Ab.txt", "x/cab", "ab/c", "a/b"], &["b/a"]);
        check("界", &["主/界.rs", "主界", "界/主"], &["主"]);
        // Beginnings of words count more than letters anywhere.
        check("fb", &["x/fooBar.rs", "x/foo_bar.rs", "x/fozzzzb.rs"], &[]);
        check("st", &["src/tests.rs", "list/a.xt"], &[]);
    }

    #[test]
    fn matches_are_marked_where_they_are() {
        let check = |path: &str, typed: &str, expected: &str| {
            let found = rank(path, typed).unwrap();
            let marked: String = found
                .marked
                .iter()
                .map(|at| path[*at..].chars().next().unwrap())
                .collect();
            assert_eq!(marked, expected, "{typed} in {path}");
            assert_eq!(found.marked.len(), typed.chars().count());
        };
        check("src/Main.rs", "main", "Main");
        check("源/界面.rs", "面", "面");
        check("src/score.rs", "sore", "sore");
        check("a/foo_bar.rs", "fb", "fb");
        assert_eq!(rank("x/foo_bar", "fb").unwrap().marked, [2, 6]);
        assert_eq!(rank("lib/b/ab/", "ab").unwrap().marked, [6, 7]);
    }

    proptest! {
        #[test]
        fn marks_lie_on_characters(path in "[a-cA-C/_.界é]{0,20}", typed in "[a-cA-C/.界é]{0,6}") {
            if let Some(found) = rank(&path, &typed) {
                prop_assert!(found.marked.iter().all(|at| path.is_char_boundary(*at)));
                prop_assert!(found.marked.windows(2).all(|two| two[0] < two[1]));
            }
        }
    }
}
