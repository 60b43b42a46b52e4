//! Names a mistyped one may have meant.

use std::collections::HashSet;
use std::path::Path;

use hermes_types::Workspace;

const LOOKED_AT: usize = 50;
const SHOWN: usize = 5;

/// Files beside a missing one that have a name like it, best first.
pub(super) async fn beside(missing: &Path, workspace: &dyn Workspace) -> Vec<String> {
    let (Some(dir), Some(name)) = (missing.parent(), missing.file_name()) else {
        return Vec::new();
    };
    // A directory that cannot be listed has nothing to suggest.
    let names = workspace.list(dir, LOOKED_AT).await.unwrap_or_default();
    best(&name.to_string_lossy(), &names)
        .into_iter()
        .map(|name| dir.join(name).to_string_lossy().into_owned())
        .collect()
}

fn best<'n>(wanted: &str, names: &'n [String]) -> Vec<&'n str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(u32, &str)> = names
        .iter()
        .map(|name| (score(&wanted, &name.to_lowercase()), name.as_str()))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored
        .into_iter()
        .take(SHOWN)
        .map(|(_, name)| name)
        .collect()
}

fn score(wanted: &str, name: &str) -> u32 {
    let stem = |name| Path::new(name).file_stem();
    let extension = |name| Path::new(name).extension();
    if name == wanted {
        100
    } else if stem(name) == stem(wanted) {
        90
    } else if name.starts_with(wanted) || wanted.starts_with(name) {
        70
    } else if name.contains(wanted) {
        60
    } else if name.len() > 2 && wanted.contains(name) {
        40
    } else if extension(wanted).is_some() && extension(name) == extension(wanted) {
        if shares_letters(wanted, name) { 30 } else { 0 }
    } else {
        0
    }
}

/// At least 40 % of the longer name's length in common letters.
fn shares_letters(a: &str, b: &str) -> bool {
    let letters = |text: &str| text.chars().collect::<HashSet<_>>();
    let common = letters(a).intersection(&letters(b)).count();
    let longer = a.chars().count().max(b.chars().count());
    common * 5 >= longer * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_names_come_first() {
        let check = |wanted: &str, names: &[&str], expected: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(best(wanted, &names), expected, "{wanted}");
        };
        check(
            "config.yml",
            &["my.config.yml", "zzz.txt", "config.yaml", "config.yml.bak"],
            &["config.yaml", "config.yml.bak", "my.config.yml"],
        );
        check("readme.md", &["README.md"], &["README.md"]);
        check("mian.py", &["main.py", "quux_controller.py"], &["main.py"]);
        check("abc", &["xyz"], &[]);
        check(
            "a.txt",
            &["a.1", "a.2", "a.3", "a.4", "a.5", "a.6"],
            &["a.1", "a.2", "a.3", "a.4", "a.5"],
        );
    }
}
