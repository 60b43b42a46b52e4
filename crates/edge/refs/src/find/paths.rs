//! Words that look like paths, and what lies where they lead.

use std::fs;
use std::path::Path;

use hermes_home::paths::expand;

use super::score::fold;
use super::{Candidate, Kind};

/// More of a directory is not looked at.
const MAX_ENTRIES: usize = 10_000;

/// Whether a word says itself where it begins.
pub(super) fn is_rooted(word: &str) -> bool {
    ["./", "../", "~/", "/"]
        .iter()
        .any(|start| word.starts_with(start))
}

/// What a word with a `/` could become. Hidden names are offered to those who type their dot.
pub(super) fn complete(word: &str, root: &Path, user_home: &Path) -> Vec<Candidate> {
    let Some(slash) = word.rfind('/') else {
        return Vec::new();
    };
    let (dir, begun) = word.split_at(slash + 1);
    let begun: Vec<char> = begun.chars().map(fold).collect();
    let Ok(entries) = fs::read_dir(root.join(expand(dir, user_home))) else {
        return Vec::new();
    };
    let mut found: Vec<Candidate> = entries
        .flatten()
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && begun.first() != Some(&'.');
            let letters: Vec<char> = name.chars().map(fold).collect();
            if is_hidden || !letters.starts_with(&begun) {
                return None;
            }
            // A link is what it leads to.
            let (kind, end) = match entry.path().is_dir() {
                true => (Kind::Folder, "/"),
                false => (Kind::File, ""),
            };
            let marks = name.char_indices().take(begun.len());
            Some(Candidate {
                insert: format!("{dir}{name}{end}"),
                marked: marks.map(|(at, _)| at).collect(),
                label: format!("{name}{end}"),
                kind,
            })
        })
        .collect();
    found.sort_by(|a, b| {
        let key = |one: &Candidate| (one.kind != Kind::Folder, one.label.to_lowercase());
        key(a).cmp(&key(b))
    });
    found
}
