//! Which tool a model meant when it got the name wrong.

/// Closest tools must be at least this alike.
const ALIKE: f64 = 0.7;

/// The tool of `known` that `name` stands for, if one does.
pub fn resolve<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let exact = |candidate: &str| known.iter().copied().find(|tool| *tool == candidate);
    let cleaned = clean(name);
    exact(name)
        .or_else(|| exact(&cleaned))
        .or_else(|| exact(strip_suffix(&cleaned)))
        .or_else(|| exact(strip_suffix(strip_suffix(&cleaned))))
        .or_else(|| closest(&cleaned, known))
}

fn clean(name: &str) -> String {
    // Some models leave channel markup behind the name.
    let name = name.split("<|").next().unwrap_or_default().trim();
    let mut out = String::new();
    for (index, c) in name.chars().enumerate() {
        match c {
            '-' | ' ' => out.push('_'),
            c if c.is_uppercase() => {
                if index > 0 && !out.ends_with('_') && !out.ends_with(|c: char| c.is_uppercase()) {
                    out.push('_');
                }
                out.extend(c.to_lowercase());
            }
            c => out.push(c),
        }
    }
    out
}

fn strip_suffix(name: &str) -> &str {
    name.strip_suffix("_tool")
        .or_else(|| name.strip_suffix("tool"))
        .unwrap_or(name)
}

fn closest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let scored = known.iter().map(|tool| (ratio(name, tool), *tool));
    scored
        .filter(|(score, _)| *score >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, tool)| tool)
}

/// Twice the longest common subsequence over both lengths.
fn ratio(a: &str, b: &str) -> f64 {
    const LONGEST: usize = 128; // no tool name is longer; keeps hostile names cheap
    let (a, b): (Vec<char>, Vec<char>) = (
        a.chars().take(LONGEST).collect(),
        b.chars().take(LONGEST).collect(),
    );
    let mut row = vec![0_usize; b.len() + 1];
    for x in &a {
        let mut diagonal = 0;
        for (index, y) in b.iter().enumerate() {
            let above = row[index + 1];
            row[index + 1] = if x == y {
                diagonal + 1
            } else {
                above.max(row[index])
            };
            diagonal = above;
        }
    }
    let total = (a.len() + b.len()).max(1);
    2.0 * row[b.len()] as f64 / total as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_names_find_their_tool() {
        let known = ["terminal", "read_file", "search_files", "web_search"];
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(resolve(name, &known), expected, "{name}")
        };
        check("terminal", Some("terminal"));
        check("Terminal_tool", Some("terminal"));
        check("ReadFile", Some("read_file"));
        check("read-file", Some("read_file"));
        check("terminalTool", Some("terminal"));
        check("read_file<|channel|>x", Some("read_file"));
        check("search_file", Some("search_files"));
        check("frobnicate", None);
        check("", None);
    }
}
