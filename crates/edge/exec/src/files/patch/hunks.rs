//! Applying the hunks of a patch to a text, without touching any file. Pure.

use hermes_text::{Mismatch, Occurrences, did_you_mean, replace};

use super::v4a::Hunk;

/// How far around its hint a hunk is looked for, in characters.
const BEFORE_HINT: usize = 500;
const AFTER_HINT: usize = 2000;

/// The text after all hunks, in order. Every hunk that doesn't fit is reported, so that one answer is enough to
/// mend them all.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, Vec<String>> {
    let mut text = text.to_owned();
    let mut errors = Vec::new();
    for (index, hunk) in hunks
        .iter()
        .enumerate()
        .filter(|(_, hunk)| !hunk.is_inert())
    {
        match apply_one(&text, hunk) {
            Ok(changed) => text = changed,
            Err(error) => errors.push(match &hunk.hint {
                Some(hint) => format!("hunk {} ('{hint}'): {error}", index + 1),
                None => format!("hunk {}: {error}", index + 1),
            }),
        }
    }
    if errors.is_empty() {
        Ok(text)
    } else {
        Err(errors)
    }
}

fn apply_one(text: &str, hunk: &Hunk) -> Result<String, String> {
    let (old, new) = hunk.sides();
    if hunk.only_adds() {
        return insert(text, hunk.hint.as_deref(), &new);
    }
    let missed = match replace(text, &old, &new, Occurrences::One) {
        Ok(changed) => return Ok(changed),
        Err(missed) => missed,
    };
    let near = hunk.hint.as_deref().and_then(|hint| {
        let (start, end) = window(text, hint)?;
        let changed = replace(&text[start..end], &old, &new, Occurrences::One).ok()?;
        Some(format!("{}{changed}{}", &text[..start], &text[end..]))
    });
    near.ok_or_else(|| tell(&missed, &old, text))
}

fn tell(missed: &Mismatch, old: &str, text: &str) -> String {
    match missed {
        Mismatch::NotFound => {
            let excerpt = did_you_mean(old, text);
            format!("Could not find its lines in the file{excerpt}")
        }
        Mismatch::Ambiguous(count) => {
            format!("its lines occur {count} times; add context lines or a hint (@@ text @@)")
        }
        other => other.to_string(),
    }
}

/// New lines go below the line of the hint, or to the end of the file.
fn insert(text: &str, hint: Option<&str>, new: &str) -> Result<String, String> {
    let Some(hint) = hint else {
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        return Ok(format!("{text}{gap}{new}\n"));
    };
    match text.matches(hint).count() {
        1 => {}
        0 => return Err("its hint does not occur in the file".to_owned()),
        count => return Err(format!("its hint occurs {count} times; it must be unique")),
    }
    let at = text.find(hint).unwrap_or_default() + hint.len();
    Ok(match text[at..].find('\n') {
        Some(end) => {
            let (above, below) = text.split_at(at + end + 1);
            format!("{above}{new}\n{below}")
        }
        None => format!("{text}\n{new}"),
    })
}

fn window(text: &str, hint: &str) -> Option<(usize, usize)> {
    let at = text.find(hint)?;
    let start = text[..at].char_indices().rev().nth(BEFORE_HINT - 1);
    let end = text[at..].char_indices().nth(AFTER_HINT);
    Some((
        start.map_or(0, |(start, _)| start),
        end.map_or(text.len(), |(end, _)| at + end),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::v4a::{Change, parse};
    use super::*;

    fn check(text: &str, body: &str, expected: Result<&str, &str>) {
        let changes = parse(&format!("*** Update File: f\n{body}")).unwrap();
        let [Change::Update { hunks, .. }] = changes.as_slice() else {
            panic!("{changes:?}");
        };
        match (apply(text, hunks), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
            (Err(found), Err(part)) => assert!(found.join("\n").contains(part), "{found:?}"),
            (found, _) => panic!("{body}: {found:?}"),
        }
    }

    #[test]
    fn hunks_in_order() {
        check("a\nb\nc\n", " a\n-b\n+x\n", Ok("a\nx\nc\n"));
        check("a\nb\n", "-a\n+b\n@@\n-b\n-b\n+c", Ok("c\n"));
        check("a\nb\n", " a\n@@\n-b\n+c", Ok("a\nc\n"));
        check("a\n\nb\n", " a\n\n-b\n+c", Ok("a\n\nc\n"));
        check("    a\n    b\n", " a\n-b\n+c", Ok("    a\n    c\n"));
        check("a\nb\n", "-zzzz\n+c", Err("hunk 1: Could not find"));
        check(
            "let total = 1;\n",
            "-let subtotal = 99; // sum\n+c",
            Err("Did you mean"),
        );
        check("x\nx\n", "-x\n+y", Err("occur 2 times"));
        check("a\n", "-q1\n@@ h @@\n-q2", Err("hunk 2 ('h')"));
    }

    #[test]
    fn a_hint_narrows_the_search() {
        let far = "filler line\n".repeat(200);
        let text = format!("fn a() {{\n    go();\n}}\n{far}fn b() {{\n    go();\n}}\n");
        let expected = text.replacen("fn b() {\n    go();", "fn b() {\n    stop();", 1);
        check(
            &text,
            "@@ fn b() @@\n-    go();\n+    stop();",
            Ok(&expected),
        );
    }

    #[test]
    fn lines_are_added_below_the_hint_or_at_the_end() {
        check("a\nb\n", "+c\n+d", Ok("a\nb\nc\nd\n"));
        check("a", "+b", Ok("a\nb\n"));
        check("", "+b", Ok("b\n"));
        check("a\nb\n", "@@ a @@\n+x", Ok("a\nx\nb\n"));
        check("a\nb", "@@ b @@\n+x", Ok("a\nb\nx"));
        check("a\nb\n", "@@ q @@\n+x", Err("does not occur"));
        check("a\na\n", "@@ a @@\n+x", Err("occurs 2 times"));
    }
}
