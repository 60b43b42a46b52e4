//! References in a text: `@file:path[:a[-b]]`, `@folder:path`, `@diff`, `@staged`, `@git:N`, `@url:…`. Nothing is
//! looked up here.

use std::fmt;
use std::ops::Range;

/// One reference, and where in the text it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub at: Range<usize>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    File {
        path: String,
        lines: Option<Lines>,
    },
    Folder(String),
    Diff,
    Staged,
    /// How many commits, as it was typed.
    Git(String),
    Url(String),
}

/// Lines of a file, counted from one, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    pub first: usize,
    pub last: usize,
}

const QUOTES: [char; 3] = ['`', '"', '\''];
/// Ends a sentence, not a name.
const ENDS: [char; 6] = [',', '.', ';', '!', '?', ':'];
/// These end a name wherever they stand: no space follows them.
const WIDE_ENDS: &str = "，。；：！？、（）「」『』【】《》";
const PAIRS: [(char, char); 4] = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')];

/// All references of a text, in their order.
pub fn references(text: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let is_inside = found.last().is_some_and(|last| at < last.at.end);
        if is_inside || text[..at].chars().next_back().is_some_and(binds) {
            continue;
        }
        if let Some((what, length)) = reference(&text[at + 1..]) {
            let at = at..at + 1 + length;
            found.push(Reference { at, what });
        }
    }
    found
}

/// The text without its references, and without the gaps they leave.
pub fn without(text: &str, found: &[Reference]) -> String {
    let mut kept = String::new();
    let mut from = 0;
    for one in found {
        kept.push_str(&text[from..one.at.start]);
        from = one.at.end;
        let next = text[from..].chars().next();
        let closes = next.is_none_or(|c| c == '\n' || ENDS.contains(&c) || closer(c));
        if closes {
            kept.truncate(kept.trim_end_matches([' ', '\t']).len());
        } else if kept.is_empty() || kept.ends_with([' ', '\t', '\n']) {
            let rest = text[from..].trim_start_matches([' ', '\t']);
            from = text.len() - rest.len();
        }
    }
    kept.push_str(&text[from..]);
    kept.trim().to_owned()
}

/// What begins after an `@`, and how long it is.
fn reference(rest: &str) -> Option<(What, usize)> {
    for (word, what) in [("diff", What::Diff), ("staged", What::Staged)] {
        if let Some(after) = rest.strip_prefix(word) {
            let goes_on = |c: char| is_word(c) || matches!(c, '-' | '/' | ':');
            // `@diff:` at the end of a clause, but not `@diff:x`.
            let is_whole = match after.strip_prefix(':') {
                Some(more) => more.chars().next().is_none_or(char::is_whitespace),
                None => !after.chars().next().is_some_and(goes_on),
            };
            return is_whole.then_some((what, word.len()));
        }
    }
    let (kind, rest) = rest.split_once(':')?;
    let head = kind.len() + 1;
    let (what, length) = match kind {
        "file" => file(rest)?,
        "folder" => value(rest).map(|(path, length)| (What::Folder(path.to_owned()), length))?,
        "git" => value(rest).map(|(count, length)| (What::Git(count.to_owned()), length))?,
        "url" => value(rest).map(|(url, length)| (What::Url(url.to_owned()), length))?,
        _ => return None,
    };
    Some((what, head + length))
}

fn file(rest: &str) -> Option<(What, usize)> {
    let (path, lines, length) = match quoted(rest) {
        Some((path, length)) => {
            let (lines, more) = match rest[length..].strip_prefix(':').and_then(lines_at) {
                Some((lines, more)) => (Some(lines), more + 1),
                None => (None, 0),
            };
            (path, lines, length + more)
        }
        None => {
            let whole = bare(rest)?;
            let range = whole.rsplit_once(':').and_then(|(path, range)| {
                let (lines, length) = lines_at(range)?;
                (length == range.len() && !path.is_empty()).then_some((path, lines))
            });
            match range {
                Some((path, lines)) => (path, Some(lines), whole.len()),
                None => (whole, None, whole.len()),
            }
        }
    };
    let path = path.to_owned();
    Some((What::File { path, lines }, length))
}

/// `10` or `10-25` at the beginning of a text, and how long that is.
fn lines_at(text: &str) -> Option<(Lines, usize)> {
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = text[..digits].parse().ok()?;
        Some((number, digits))
    };
    let (first, length) = number(text)?;
    let last = text[length..].strip_prefix('-').and_then(number);
    Some(match last {
        Some((last, more)) => (Lines { first, last }, length + 1 + more),
        None => (Lines { first, last: first }, length),
    })
}

/// What a reference names, and how long that is with its quotes.
fn value(rest: &str) -> Option<(&str, usize)> {
    quoted(rest).or_else(|| bare(rest).map(|value| (value, value.len())))
}

fn quoted(rest: &str) -> Option<(&str, usize)> {
    let quote = rest.chars().next().filter(|c| QUOTES.contains(c))?;
    let inner = &rest[1..];
    let end = inner.find([quote, '\n']).filter(|end| *end > 0)?;
    inner[end..]
        .starts_with(quote)
        .then(|| (&inner[..end], end + 2))
}

/// Up to a space, without what belongs to the sentence around it.
fn bare(rest: &str) -> Option<&str> {
    let end = rest.find(|c: char| c.is_whitespace() || WIDE_ENDS.contains(c));
    let mut value = &rest[..end.unwrap_or(rest.len())];
    while let Some(last) = value.chars().next_back() {
        let count = |c: char| value.matches(c).count();
        let open = PAIRS.iter().find(|(_, close)| *close == last);
        // `.` and `..` are names themselves.
        let is_dots = value
            .rsplit('/')
            .next()
            .is_some_and(|name| matches!(name, "." | ".."));
        let is_stray = match open {
            _ if is_dots => false,
            Some((open, close)) => count(*close) > count(*open),
            None => ENDS.contains(&last) || QUOTES.contains(&last),
        };
        if !is_stray {
            break;
        }
        value = &value[..value.len() - last.len_utf8()];
    }
    (!value.is_empty()).then_some(value)
}

/// Whether an `@` after this belongs to it, as in an address or a path.
fn binds(c: char) -> bool {
    c == '/' || (is_word(c) && !is_unspaced(c))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Scripts that put no space before a reference.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

fn closer(c: char) -> bool {
    WIDE_ENDS.contains(c) || PAIRS.iter().any(|(_, close)| *close == c)
}

/// As it is shown, whatever quotes it was typed with.
impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, lines: None } => write!(f, "@file:{path}"),
            Self::File {
                path,
                lines: Some(lines),
            } if lines.first == lines.last => write!(f, "@file:{path}:{}", lines.first),
            Self::File {
                path,
                lines: Some(lines),
            } => write!(f, "@file:{path}:{}-{}", lines.first, lines.last),
            Self::Folder(path) => write!(f, "@folder:{path}"),
            Self::Diff => f.write_str("@diff"),
            Self::Staged => f.write_str("@staged"),
            Self::Git(count) => write!(f, "@git:{count}"),
            Self::Url(url) => write!(f, "@url:{url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    /// What is found, as it is shown, and what is left of the text.
    #[track_caller]
    fn check(text: &str, expected: &[&str], left: &str) {
        let found = references(text);
        let shown: Vec<String> = found.iter().map(|one| one.what.to_string()).collect();
        assert_eq!(shown, expected, "{text}");
        assert_eq!(without(text, &found), left, "{text}");
    }

    #[test]
    fn every_kind_is_found_and_leaves_no_gap() {
        check(
            "explain @file:src/a.rs:2-3",
            &["@file:src/a.rs:2-3"],
            "explain",
        );
        check("@file:a.rs:7 why?", &["@file:a.rs:7"], "why?");
        check("look at @folder:src/ now", &["@folder:src/"], "look at now");
        check("@diff and @staged", &["@diff", "@staged"], "and");
        check("the last @git:3 commits", &["@git:3"], "the last commits");
        check(
            "read @url:https://x.test/a?b=1#c",
            &["@url:https://x.test/a?b=1#c"],
            "read",
        );
        check("a\n@file:b\nc", &["@file:b"], "a\n\nc");
    }

    #[test]
    fn what_belongs_to_the_sentence_stays_in_it() {
        check(
            "see @file:a.rs, then @diff.",
            &["@file:a.rs", "@diff"],
            "see, then.",
        );
        check("(in @file:a.rs)", &["@file:a.rs"], "(in)");
        check("is it @file:a.rs:3?!", &["@file:a.rs:3"], "is it?!");
        check("[@file:f(x).rs]", &["@file:f(x).rs"], "[]");
        check(
            "@url:https://x.test/a_(b)",
            &["@url:https://x.test/a_(b)"],
            "",
        );
        check("@diff: what changed?", &["@diff"], ": what changed?");
        check("`@file:a.rs`", &["@file:a.rs"], "``");
        check("list @folder:.", &["@folder:."], "list");
        check("list @folder:../.., now", &["@folder:../.."], "list, now");
    }

    #[test]
    fn quotes_hold_names_together() {
        check("@file:\"a b.rs\":2-3 x", &["@file:a b.rs:2-3"], "x");
        check("@file:`a b.rs` x", &["@file:a b.rs"], "x");
        check("@folder:'my dir', ok", &["@folder:my dir"], ", ok");
        check("@file:`a:10`", &["@file:a:10"], "");
        check("@file:\"open", &["@file:\"open"], "");
        check("@file:\"\"", &[], "@file:\"\"");
    }

    #[test]
    fn what_only_looks_like_one_is_left_alone() {
        for text in [
            "me@file:x.test",
            "src/@file:x",
            "@difference",
            "@staged/pkg",
            "@diff-so-fancy",
            "@diff:x",
            "@file",
            "@file: x",
            "@files:x",
            "@File:x",
            "@url:",
            "a_@diff",
        ] {
            check(text, &[], text);
        }
    }

    #[test]
    fn scripts_without_spaces() {
        check(
            "解释@file:源/主.rs，谢谢",
            &["@file:源/主.rs"],
            "解释，谢谢",
        );
        check("看@diff。", &["@diff"], "看。");
        check("@file:日本.txtを見て", &["@file:日本.txtを見て"], "");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_ranges_are_references(text in "[ -~\\n@:`\"'界é（。]{0,60}|(@(file|folder|git|url|diff|staged):?[ -~界]{0,9}){0,6}") {
            let found = references(&text);
            let mut end = 0;
            for one in &found {
                prop_assert!(one.at.start >= end && one.at.end <= text.len());
                prop_assert!(text[one.at.clone()].starts_with('@'));
                end = one.at.end;
            }
            let left = without(&text, &found);
            prop_assert!(left.len() <= text.len());
            if found.is_empty() {
                prop_assert_eq!(left, text.trim());
            }
        }
    }
}
