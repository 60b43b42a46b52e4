//! The table of patterns, and the lines of a text held against it.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::{Finding, Severity};

/// Longer lines are looked at only this far.
const MAX_LINE: usize = 10_000;
/// Characters of a match that are told.
const MAX_SHOWN: usize = 120;
/// What nobody sees but a model reads.
const INVISIBLE: [char; 17] = [
    '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{2062}', '\u{2063}', '\u{2064}', '\u{feff}',
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}',
    '\u{2069}',
];

struct Pattern {
    category: &'static str,
    id: &'static str,
    severity: Severity,
    regex: &'static str,
    description: &'static str,
}

struct Table {
    patterns: Vec<Pattern>,
    /// All at once: most lines match none.
    any: Option<RegexSet>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::of(|_| true));
/// Orders to the reader only: looked for whenever a skill is read, so it should cost little.
static ORDERS: LazyLock<Table> = LazyLock::new(|| Table::of(|pattern| pattern.category == ORDER));

const ORDER: &str = "injection";

impl Table {
    fn of(wanted: impl Fn(&Pattern) -> bool) -> Self {
        let rows = include_str!("patterns.tsv").lines();
        let patterns: Vec<Pattern> = rows.filter_map(row).filter(wanted).collect();
        let mut set = RegexSetBuilder::new(patterns.iter().map(|pattern| pattern.regex));
        let any = set.case_insensitive(true).unicode(false).build();
        if let Err(error) = &any {
            tracing::error!("the guard's patterns cannot be used: {error}");
        }
        Self {
            patterns,
            any: any.ok(),
        }
    }

    fn lines(&self, file: &str, text: &str) -> Vec<Finding> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let numbered = text.lines().enumerate();
        numbered
            .flat_map(|(at, line)| self.line(file, at + 1, line))
            .collect()
    }
}

fn row(line: &'static str) -> Option<Pattern> {
    let mut fields = line.split('\t');
    let (category, id) = (fields.next()?, fields.next()?);
    let severity = match fields.next()? {
        "C" => Severity::Critical,
        "H" => Severity::High,
        "M" => Severity::Medium,
        "L" => Severity::Low,
        _ => return None,
    };
    Some(Pattern {
        category,
        id,
        severity,
        regex: fields.next()?,
        description: fields.next()?,
    })
}

/// What the lines of a file match.
pub(super) fn lines(file: &str, text: &str) -> Vec<Finding> {
    TABLE.lines(file, text)
}

/// Lines that give orders to whoever reads them.
pub(crate) fn orders(file: &str, text: &str) -> Vec<Finding> {
    ORDERS.lines(file, text)
}

impl Table {
    fn line(&self, file: &str, number: usize, line: &str) -> Vec<Finding> {
        let line = &line[..line.floor_char_boundary(MAX_LINE)];
        let mut found = Vec::new();
        if let Some(hidden) = line.chars().find(|c| INVISIBLE.contains(c)) {
            found.push(Finding {
                id: "invisible_unicode",
                severity: Severity::High,
                category: ORDER,
                file: file.to_owned(),
                line: number,
                text: format!("U+{:04X}", u32::from(hidden)),
                description: "a character nobody sees",
            });
        }
        let Some(any) = &self.any else {
            return found;
        };
        for at in any.matches(line.as_bytes()) {
            let pattern = &self.patterns[at];
            found.push(Finding {
                id: pattern.id,
                severity: pattern.severity,
                category: pattern.category,
                file: file.to_owned(),
                line: number,
                text: matched(pattern, line),
                description: pattern.description,
            });
        }
        found
    }
}

/// The part that matched; compiled again because it is rarely asked for.
fn matched(pattern: &Pattern, line: &str) -> String {
    let mut builder = RegexBuilder::new(pattern.regex);
    let regex: Option<Regex> = builder.case_insensitive(true).unicode(false).build().ok();
    let found = regex.and_then(|regex| regex.find(line.as_bytes()).map(|found| found.range()));
    let text = found.map_or_else(String::new, |range| {
        String::from_utf8_lossy(&line.as_bytes()[range]).into_owned()
    });
    text.trim().chars().take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_compiles() {
        let rows = include_str!("patterns.tsv")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count();
        assert_eq!(TABLE.patterns.len(), rows);
        assert!(TABLE.any.is_some());
        let mut ids: Vec<&str> = TABLE.patterns.iter().map(|pattern| pattern.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rows);
    }
}
