//! Gives new text the indentation of the lines it replaces, when the model wrote another one.

/// How the model's indentation and the file's belong together, learnt from the lines that matched.
struct Mapping<'t> {
    /// The model's indent of each matched line, and the file's.
    pairs: Vec<(&'t str, &'t str)>,
}

/// `new` as it would look had the model written `old` exactly as `region`, the text it matched.
pub(crate) fn reindent(region: &str, old: &str, new: &str) -> String {
    let mapping = Mapping::of(old, region);
    if mapping.pairs.iter().all(|(ours, file)| ours == file) {
        return new.to_owned();
    }
    let same_shape = new.matches('\n').count() == old.matches('\n').count();
    let lines = new.split('\n').enumerate().map(|(index, line)| {
        if line.trim().is_empty() {
            return line.to_owned();
        }
        let indent = indent_of(line);
        // The line at the same place says it best.
        let beside = (old
            .split('\n')
            .nth(index)
            .zip(region.split('\n').nth(index)))
        .filter(|(old, _)| same_shape && !old.trim().is_empty() && indent_of(old) == indent)
        .map(|(_, file)| indent_of(file).to_owned());
        beside.unwrap_or_else(|| mapping.translate(indent)) + &line[indent.len()..]
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl<'t> Mapping<'t> {
    fn of(old: &'t str, region: &'t str) -> Self {
        let filled = |(old, file): &(&str, &str)| !old.trim().is_empty() && !file.trim().is_empty();
        Self {
            pairs: old
                .split('\n')
                .zip(region.split('\n'))
                .filter(filled)
                .map(|(old, file)| (indent_of(old), indent_of(file)))
                .collect(),
        }
    }

    /// An indent the model used before means the same again; a deeper one is that plus some steps; a shallower one
    /// stays with the first line.
    fn translate(&self, indent: &str) -> String {
        let known = self
            .pairs
            .iter()
            .filter(|(ours, _)| indent.starts_with(ours))
            .rev()
            .max_by_key(|(ours, _)| ours.len());
        match known {
            Some((ours, file)) => (*file).to_owned() + &self.deepen(&indent[ours.len()..]),
            None => self.pairs.first().map_or("", |(_, file)| file).to_owned(),
        }
    }

    /// Additional indentation, in the file's steps if it is known how the two correspond.
    fn deepen(&self, mut extra: &str) -> String {
        let Some((ours, file)) = self.step() else {
            return extra.to_owned();
        };
        let mut deeper = String::new();
        while let Some(rest) = extra.strip_prefix(ours) {
            deeper.push_str(file);
            extra = rest;
        }
        deeper + extra
    }

    /// What one level is for the model and for the file: the first line that is deeper than another.
    fn step(&self) -> Option<(&'t str, &'t str)> {
        self.pairs.windows(2).find_map(|two| {
            let ours = two[1].0.strip_prefix(two[0].0)?;
            let file = two[1].1.strip_prefix(two[0].1)?;
            (!ours.is_empty() && !file.is_empty()).then_some((ours, file))
        })
    }
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(region: &str, old: &str, new: &str, expected: &str) {
        assert_eq!(
            reindent(region, old, new),
            expected,
            "{old:?} as {region:?}"
        );
    }

    #[test]
    fn indentation_follows_the_file() {
        // Two spaces for four.
        check(
            "def f():\n    return 1",
            "def f():\n  return 1",
            "def f():\n  return 2",
            "def f():\n    return 2",
        );
        // Another base.
        check("        a", "a", "b\nc", "        b\n        c");
        check(
            "    a\n    b",
            "  a\n  b",
            "  a\n    x\n  b",
            "    a\n      x\n    b",
        );
        // A deeper level than any that matched, in the file's steps.
        check(
            "if x:\n\ta()",
            "if x:\n    a()",
            "if x:\n    if y:\n        a()",
            "if x:\n\tif y:\n\t\ta()",
        );
        // The model left the indentation away: same place, same indent.
        check(
            "f() {\n    a\n}",
            "f() {\na\n}",
            "f() {\nb\n}",
            "f() {\n    b\n}",
        );
        // A dedent stays with the first line; blank lines stay as they are.
        check("        a", "    a", "b\n\n    a", "        b\n\n        a");
        // Nothing to learn.
        check("  a", "  a", "b\n      c", "b\n      c");
        check("  a", "a", "", "");
    }
}
