//! Finding a text and putting another in its place: the rules around the nine strategies. Pure.

use crate::fold::plain;
use crate::indent::reindent;
use crate::ratio::{Effort, blocks};
use crate::strategies::{CHAIN, Span, Strategy, unescape};

/// How many places may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrences {
    /// Exactly one, or it is unclear which was meant.
    One,
    All,
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("old_string must not be empty")]
    Empty,
    #[error("old_string and new_string are identical: there is nothing to change")]
    Identical,
    #[error("Could not find old_string in the file")]
    NotFound,
    #[error(
        "Found {0} matches for old_string. Add surrounding lines until it is unique, or set replace_all=true"
    )]
    Ambiguous(usize),
    #[error(
        "Escape drift: old_string and new_string hold {0} but the text they match in the file doesn't. A backslash \
         was added on the way. Read the file again and send quotes without backslashes"
    )]
    EscapeDrift(&'static str),
}

/// `content` with `new` in place of `old`.
pub fn replace(
    content: &str,
    old: &str,
    new: &str,
    occurrences: Occurrences,
) -> Result<String, Mismatch> {
    if old.is_empty() {
        return Err(Mismatch::Empty);
    }
    if old == new {
        return Err(Mismatch::Identical);
    }
    let (strategy, mut found) = find(content, old)?;
    match occurrences {
        Occurrences::One if found.len() > 1 => return Err(Mismatch::Ambiguous(found.len())),
        Occurrences::One => {}
        Occurrences::All => drop_overlaps(&mut found),
    }
    if strategy != Strategy::Exact {
        refuse_drift(content, &found, old, new)?;
    }
    let mut result = content.to_owned();
    for span in found.into_iter().rev() {
        let fitted = fit(strategy, &content[span.clone()], old, new);
        result.replace_range(span, &fitted);
    }
    Ok(result)
}

fn find(content: &str, old: &str) -> Result<(Strategy, Vec<Span>), Mismatch> {
    for (strategy, find) in CHAIN {
        // Blank text is like any other blank text.
        if strategy != Strategy::Exact && old.trim().is_empty() {
            break;
        }
        let found = find(content, old);
        if !found.is_empty() {
            return Ok((strategy, found));
        }
    }
    Err(Mismatch::NotFound)
}

fn drop_overlaps(found: &mut Vec<Span>) {
    let mut end = 0;
    found.retain(|span| {
        let apart = span.start >= end;
        if apart {
            end = span.end;
        }
        apart
    });
}

/// A backslash before a quote, in both texts but not in the file, was put there by a broken transport; written, it
/// would be wrong code.
fn refuse_drift(content: &str, found: &[Span], old: &str, new: &str) -> Result<(), Mismatch> {
    let in_file = |text: &str| {
        found
            .iter()
            .any(|span| content[span.clone()].contains(text))
    };
    ["\\'", "\\\""]
        .into_iter()
        .find(|escape| new.contains(escape) && old.contains(escape) && !in_file(escape))
        .map_or(Ok(()), |escape| Err(Mismatch::EscapeDrift(escape)))
}

/// The new text as the model would have written it, had it quoted `region` exactly.
fn fit(strategy: Strategy, region: &str, old: &str, new: &str) -> String {
    match strategy {
        Strategy::Exact => new.to_owned(),
        // All of the old text's escapes were too many, so the new one's are, too.
        Strategy::EscapeNormalized => unescape(new),
        Strategy::UnicodeNormalized => keep_typography(region, old, &unescape_like(region, new)),
        _ => reindent(region, old, &unescape_like(region, new)),
    }
}

/// `\t` and `\r` become what they mean where the file has the real character, and only that.
fn unescape_like(region: &str, new: &str) -> String {
    let mut new = new.to_owned();
    for (escape, real) in [("\\t", "\t"), ("\\r", "\r")] {
        if region.contains(real) && !region.contains(escape) {
            new = new.replace(escape, real);
        }
    }
    new
}

/// Applies the difference between old and new to the file's own text, so that dashes and quotes nobody touched stay.
fn keep_typography(region: &str, old: &str, new: &str) -> String {
    let (file, wanted) = (plain(region), plain(old).text);
    if file.text != wanted {
        return reindent(region, old, new);
    }
    let starts: Vec<usize> = wanted
        .char_indices()
        .map(|(at, _)| at)
        .chain([wanted.len()])
        .collect();
    let (before, after): (Vec<char>, Vec<char>) = (wanted.chars().collect(), new.chars().collect());
    let mut result = String::new();
    let mut done = 0;
    for block in blocks(&before, &after, &mut Effort::default()) {
        result.extend(&after[done..block.b]);
        done = block.b + block.len;
        let same = starts[block.a]..starts[block.a + block.len];
        match file.original(&same) {
            Some(own) => result.push_str(&region[own]),
            // The change cuts through a dash: what the model wrote is all there is.
            None => result.extend(&after[block.b..done]),
        }
    }
    result.extend(&after[done..]);
    result
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn check(content: &str, old: &str, new: &str, expected: Result<&str, Mismatch>) {
        let found = replace(content, old, new, Occurrences::One);
        assert_eq!(
            found.as_deref(),
            expected.as_ref().map(|text| *text),
            "{old:?}"
        );
    }

    fn check_all(content: &str, old: &str, new: &str, expected: &str) {
        let found = replace(content, old, new, Occurrences::All);
        assert_eq!(found.as_deref(), Ok(expected), "{old:?}");
    }

    #[test]
    fn one_place_or_none() {
        check("a b c", "b", "x", Ok("a x c"));
        check("a b c", "b", "", Ok("a  c"));
        check("x x x", "x", "y", Err(Mismatch::Ambiguous(3)));
        check("aaa", "aa", "b", Err(Mismatch::Ambiguous(2)));
        check("a", "", "b", Err(Mismatch::Empty));
        check("a", "a", "a", Err(Mismatch::Identical));
        check("a", "nothere zzz", "b", Err(Mismatch::NotFound));
        check("a\n\n\nb", "  \n", "b", Err(Mismatch::NotFound));
    }

    #[test]
    fn all_places() {
        check_all("x x x", "x", "y", "y y y");
        check_all("aaaa", "aa", "b", "bb");
        check_all("aaa", "aa", "b", "ba");
        check_all("  a\n    a\n", "a\n", "b\n", "  b\n    b\n");
        check_all("f( 1 )\nf(  1 )", "f(   1 )", "g", "g\ng");
    }

    #[test]
    fn new_text_fits_in() {
        check(
            "def f():\n    return 1\n",
            "def f():\n  return 1",
            "def f():\n  return 2",
            Ok("def f():\n    return 2\n"),
        );
        // The file has a real tab, the model sent two characters.
        check(
            "\tx = 1",
            "    x = 1",
            "    x = 2\\t# c",
            Ok("\tx = 2\t# c"),
        );
        check(
            "  s = '\\t'",
            "s =  '\\t'",
            "s =  '\\t\\t'",
            Ok("  s =  '\\t\\t'"),
        );
        check(
            "\tsplit('\\t')",
            "    split('\\t')",
            "    split('\\t', 1)",
            Ok("\tsplit('\\t', 1)"),
        );
        // Everything was escaped once too often.
        check("a\nb\nc", "a\\nb", "a\\nx", Ok("a\nx\nc"));
        // Typography that isn't part of the change stays.
        check("“a” — b…", "\"a\" -- b...", "\"a\" -- c...", Ok("“a” — c…"));
        check("a — b", "a -- b", "a - b", Ok("a - b"));
    }

    #[test]
    fn escapes_that_drifted_in_are_refused() {
        check(
            "  print('it')",
            "print(\\'it\\')",
            "print(\\'at\\')",
            Err(Mismatch::EscapeDrift("\\'")),
        );
        check(
            "  p(\\'a\\')\n",
            "p(\\'a\\')",
            "p(\\'b\\')",
            Ok("  p(\\'b\\')\n"),
        );
    }

    proptest! {
        #[test]
        fn what_is_replaced_exactly_can_be_put_back(
            before in "[ab \n]{0,20}",
            old in "[c-e ]{1,8}x",
            new in "[f-h \n]{0,8}y",
            after in "[ab \n]{0,20}",
        ) {
            let content = format!("{before}{old}{after}");
            let changed = replace(&content, &old, &new, Occurrences::One).unwrap();
            prop_assert_eq!(&changed, &format!("{before}{new}{after}"));
            prop_assert_eq!(replace(&changed, &new, &old, Occurrences::One).unwrap(), content);
        }

        #[test]
        fn any_text_is_taken(content in "\\PC{0,60}", old in "\\PC{0,12}", new in "\\PC{0,12}") {
            for occurrences in [Occurrences::One, Occurrences::All] {
                let _ = replace(&content, &old, &new, occurrences);
            }
        }
    }
}
