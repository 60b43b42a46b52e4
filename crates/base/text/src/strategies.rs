//! Nine ways to find a text in a file, from exact to generous. Each gives the byte ranges it found.

use std::ops::Range;

use crate::fold::{collapse, plain};
use crate::ratio::{Effort, alike, ratio};

pub(crate) type Span = Range<usize>;

/// How a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Exact,
    LineTrimmed,
    WhitespaceNormalized,
    IndentationFlexible,
    EscapeNormalized,
    TrimmedBoundary,
    UnicodeNormalized,
    BlockAnchor,
    ContextAware,
}

type Find = fn(&str, &str) -> Vec<Span>;

/// In the order they are tried; the first that finds anything wins.
pub(crate) const CHAIN: [(Strategy, Find); 9] = [
    (Strategy::Exact, exact),
    (Strategy::LineTrimmed, line_trimmed),
    (Strategy::WhitespaceNormalized, whitespace_normalized),
    (Strategy::IndentationFlexible, indentation_flexible),
    (Strategy::EscapeNormalized, escape_normalized),
    (Strategy::TrimmedBoundary, trimmed_boundary),
    (Strategy::UnicodeNormalized, unicode_normalized),
    (Strategy::BlockAnchor, block_anchor),
    (Strategy::ContextAware, context_aware),
];

/// Every place the pattern begins, also where two overlap: that is ambiguous, too.
fn exact(content: &str, pattern: &str) -> Vec<Span> {
    let step = pattern.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = content[from..].find(pattern) {
        let start = from + at;
        found.push(start..start + pattern.len());
        from = start + step;
    }
    found
}

fn line_trimmed(content: &str, pattern: &str) -> Vec<Span> {
    blocks_where(content, pattern, |_, line, wanted| {
        line.trim() == wanted.trim()
    })
}

fn whitespace_normalized(content: &str, pattern: &str) -> Vec<Span> {
    let folded = collapse(content);
    let found = exact(&folded.text, &collapse(pattern).text);
    found
        .iter()
        .filter_map(|part| folded.original(part))
        .collect()
}

fn indentation_flexible(content: &str, pattern: &str) -> Vec<Span> {
    blocks_where(content, pattern, |_, line, wanted| {
        line.trim_start() == wanted.trim_start()
    })
}

fn escape_normalized(content: &str, pattern: &str) -> Vec<Span> {
    let unescaped = unescape(pattern);
    if unescaped == pattern {
        return Vec::new();
    }
    exact(content, &unescaped)
}

/// The two characters `\n`, `\t`, `\r` as what they mean.
pub(crate) fn unescape(text: &str) -> String {
    text.replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\r", "\r")
}

fn trimmed_boundary(content: &str, pattern: &str) -> Vec<Span> {
    let last = Wanted::of(pattern).lines.len() - 1;
    blocks_where(content, pattern, |index, line, wanted| {
        if index == 0 || index == last {
            line.trim() == wanted.trim()
        } else {
            line == wanted
        }
    })
}

fn unicode_normalized(content: &str, pattern: &str) -> Vec<Span> {
    let (folded, wanted) = (plain(content), plain(pattern).text);
    if folded.text == content && wanted == pattern {
        return Vec::new();
    }
    let mut found = exact(&folded.text, &wanted);
    if found.is_empty() {
        found = line_trimmed(&folded.text, &wanted);
    }
    found
        .iter()
        .filter_map(|part| folded.original(part))
        .collect()
}

/// First and last line are right and what lies between is alike, more so where there is a choice.
fn block_anchor(content: &str, pattern: &str) -> Vec<Span> {
    let pattern = plain(pattern).text;
    let wanted = Wanted::of(&pattern);
    let count = wanted.lines.len();
    let [first, middle @ .., last] = wanted.lines.as_slice() else {
        return Vec::new();
    };
    let lines = Lines::of(content);
    let plain_content = plain(content).text;
    let plain_lines: Vec<&str> = plain_content.split('\n').collect();
    let candidates: Vec<usize> = lines
        .starts(count)
        .filter(|start| {
            plain_lines[*start].trim() == first.trim()
                && plain_lines[start + count - 1].trim() == last.trim()
        })
        .collect();
    let least = if candidates.len() == 1 { 0.50 } else { 0.70 };
    let mut effort = Effort::default();
    let middle = middle.join("\n");
    candidates
        .into_iter()
        .filter(|start| {
            let inner = &plain_lines[start + 1..start + count - 1];
            ratio(&inner.join("\n"), &middle, &mut effort) >= least
        })
        .map(|start| lines.block(start, &wanted))
        .collect()
}

/// At least half of the lines are alike. Blank lines have no vote: they are alike everywhere.
fn context_aware(content: &str, pattern: &str) -> Vec<Span> {
    let wanted = Wanted::of(pattern);
    let voters: Vec<(usize, &str)> = wanted
        .lines
        .iter()
        .map(|line| line.trim())
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let lines = Lines::of(content);
    let mut effort = Effort::default();
    lines
        .starts(wanted.lines.len())
        .filter(|start| {
            let mut misses = 0;
            voters.iter().all(|(index, line)| {
                let found = lines.get(start + index).trim();
                misses += usize::from(!alike(found, line, 0.80, &mut effort));
                misses * 2 <= voters.len()
            })
        })
        .map(|start| lines.block(start, &wanted))
        .collect()
}

/// Blocks of whole lines, each of which is the `same` as its line of the pattern.
fn blocks_where(
    content: &str,
    pattern: &str,
    same: impl Fn(usize, &str, &str) -> bool,
) -> Vec<Span> {
    let wanted = Wanted::of(pattern);
    let lines = Lines::of(content);
    lines
        .starts(wanted.lines.len())
        .filter(|start| {
            let mut wanted = wanted.lines.iter().enumerate();
            wanted.all(|(index, wanted)| same(index, lines.get(start + index), wanted))
        })
        .map(|start| lines.block(start, &wanted))
        .collect()
}

/// A pattern by lines. A newline at its end belongs to the last line: it isn't an empty line of its own that could
/// stand for whatever comes next.
struct Wanted<'p> {
    lines: Vec<&'p str>,
    ends_line: bool,
}

impl<'p> Wanted<'p> {
    fn of(pattern: &'p str) -> Self {
        let inner = pattern.strip_suffix('\n');
        Self {
            lines: inner.unwrap_or(pattern).split('\n').collect(),
            ends_line: inner.is_some(),
        }
    }
}

/// The lines of a text and where they are.
struct Lines<'t> {
    text: &'t str,
    spans: Vec<Span>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let mut start = 0;
        let spans = text
            .split('\n')
            .map(|line| {
                let span = start..start + line.len();
                start = span.end + 1;
                span
            })
            .collect();
        Self { text, spans }
    }

    fn get(&self, index: usize) -> &'t str {
        &self.text[self.spans[index].clone()]
    }

    /// Where a block of `count` lines can begin.
    fn starts(&self, count: usize) -> Range<usize> {
        0..(self.spans.len() + 1).saturating_sub(count)
    }

    fn block(&self, start: usize, wanted: &Wanted<'_>) -> Span {
        let end = self.spans[start + wanted.lines.len() - 1].end;
        let newline = usize::from(wanted.ends_line && end < self.text.len());
        self.spans[start].start..end + newline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of `content` that `find` takes for `pattern`.
    fn check(find: Find, content: &str, pattern: &str, expected: &[&str]) {
        let found = find(content, pattern);
        let found: Vec<&str> = found.into_iter().map(|span| &content[span]).collect();
        assert_eq!(found, expected, "{pattern:?} in {content:?}");
    }

    #[test]
    fn exact_and_its_near_relatives() {
        check(exact, "x x x", "x", &["x", "x", "x"]);
        check(exact, "aaa", "aa", &["aa", "aa"]);
        check(exact, "äää", "ä", &["ä", "ä", "ä"]);
        check(line_trimmed, "  a \n\tb\nc", "a\nb", &["  a \n\tb"]);
        check(line_trimmed, "ab", "a", &[]);
        check(line_trimmed, "  a\n  b\nc", "a\nb\n", &["  a\n  b\n"]);
        check(line_trimmed, "  a", "a\n", &["  a"]);
        check(
            whitespace_normalized,
            "f( a,\t  b )",
            "f( a, b )",
            &["f( a,\t  b )"],
        );
        check(whitespace_normalized, "a  b c", "a b", &["a  b"]);
        check(whitespace_normalized, "a\n b", "a b", &[]);
        check(
            indentation_flexible,
            "    a \n  b",
            "a \nb",
            &["    a \n  b"],
        );
        check(indentation_flexible, "    a", "a ", &[]);
        check(escape_normalized, "a\n\tb", "a\\n\\tb", &["a\n\tb"]);
        check(escape_normalized, "a", "a", &[]);
        check(
            trimmed_boundary,
            " a\n  b\nc ",
            "a\n  b\nc",
            &[" a\n  b\nc "],
        );
        check(trimmed_boundary, " a\n b\nc ", "a\n  b\nc", &[]);
    }

    #[test]
    fn typography() {
        check(
            unicode_normalized,
            "say “hi” — now",
            "\"hi\" -- now",
            &["“hi” — now"],
        );
        check(unicode_normalized, "a -- b", "a — b", &["a -- b"]);
        check(
            unicode_normalized,
            "  it’s\n  so",
            "it's\nso",
            &["  it’s\n  so"],
        );
        check(unicode_normalized, "a—b", "a-", &[]);
        check(unicode_normalized, "ab", "ab", &[]);
    }

    #[test]
    fn alike_blocks() {
        let content = "fn a() {\n    let total = 1;\n}\nfn b() {\n    other();\n}";
        check(
            block_anchor,
            content,
            "fn a() {\n    let totals = 2;\n}",
            &["fn a() {\n    let total = 1;\n}"],
        );
        check(block_anchor, content, "fn a() {\n    xyz\n}", &[]);
        check(block_anchor, content, "fn a() {", &[]);
        check(block_anchor, "a\nb\nc", "a\nb", &["a\nb"]);
        // Two candidates: half alike is not enough.
        let twice = "begin\nabcdef\nend\nbegin\nabcxyz\nend";
        check(
            block_anchor,
            twice,
            "begin\nabcdef\nend",
            &["begin\nabcdef\nend"],
        );

        let content = "let alpha = compute(1);\nlet beta = 2;\nprint(alpha);";
        check(
            context_aware,
            content,
            "let alpha = compute(10);\nsomething else",
            &["let alpha = compute(1);\nlet beta = 2;"],
        );
        check(context_aware, content, "nothing alike at all here", &[]);
        check(context_aware, "a\n\n\nb", "\n\nzzz", &[]);
        // The newline at the end doesn't stand for the line after.
        check(
            context_aware,
            "let alpha = 1;\nkept",
            "let  alpha = 2;\n",
            &["let alpha = 1;\n"],
        );
    }
}
