//! The format of a notes file: entries with a line `§` between them.

/// What stands between two entries.
const BETWEEN: &str = "\n§\n";

/// The entries of a file: trimmed, none empty, none twice.
pub fn parse(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for entry in split(text) {
        if !entries.iter().any(|known| known == entry) {
            entries.push(entry.to_owned());
        }
    }
    entries
}

pub fn join(entries: &[String]) -> String {
    entries.join(BETWEEN)
}

/// How much of the limit entries take: characters, with what stands between them.
pub fn length(entries: &[String]) -> usize {
    let own: usize = entries.iter().map(|entry| entry.chars().count()).sum();
    own + entries.len().saturating_sub(1) * BETWEEN.chars().count()
}

/// Whether reading and writing a file keeps all of it. One that was edited freely may have lost its shape.
pub fn survives(text: &str) -> bool {
    let entries: Vec<&str> = split(text).collect();
    // A line that only looks like the one between entries was meant as one: ends of lines differ between systems.
    let looks_alike = |entry: &&str| entry.lines().any(|line| line.trim() == BETWEEN.trim());
    entries.join(BETWEEN) == without_mark(text).trim() && !entries.iter().any(looks_alike)
}

/// Some editors begin a file with a mark that nobody sees.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    let entries = without_mark(text).split(BETWEEN).map(str::trim);
    entries.filter(|entry| !entry.is_empty())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entries_are_trimmed_and_stand_once() {
        let check = |text: &str, expected: &[&str], whole: bool| {
            assert_eq!(parse(text), expected, "{text:?}");
            assert_eq!(survives(text), whole, "{text:?}");
        };
        check("", &[], true);
        check("a", &["a"], true);
        check("a\n§\nb\n", &["a", "b"], true);
        check("two\nlines\n§\nb\n§\nb", &["two\nlines", "b"], true);
        check("a \n§\n b", &["a", "b"], false);
        check("a\n§\n\n§\nb", &["a", "b"], false);
        check("a § b", &["a § b"], true);
        check("\u{feff}a\n§\nb", &["a", "b"], true);
        check("a\r\n§\r\nb", &["a\r\n§\r\nb"], false);
        check("a\n § \nb", &["a\n § \nb"], false);
    }

    proptest! {
        #[test]
        fn what_was_joined_is_parsed_again(entries in proptest::collection::btree_set("[a-z你👩 ]{1,9}[a-z]", 0..6)) {
            let entries: Vec<String> = entries.iter().map(|entry| entry.trim().to_owned()).collect();
            let parsed = parse(&join(&entries));
            prop_assert_eq!(join(&parsed).chars().count(), length(&parsed));
            prop_assert!(survives(&join(&entries)));
        }
    }
}
