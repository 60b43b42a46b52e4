//! What could be meant while a reference is being typed: the kinds there are, then files of the project. Everything
//! here blocks and belongs on a thread that may.

mod paths;
mod score;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio_util::sync::CancellationToken;

use crate::read::walk;
use score::{Match, rank};

/// More of a project is not looked at.
const MAX_WALKED: usize = 50_000;
const MAX_SHOWN: usize = 50;

/// What can be typed as it is.
const WORDS: [(&str, Kind); 6] = [
    ("diff", Kind::Word),
    ("staged", Kind::Word),
    ("file:", Kind::Word),
    ("folder:", Kind::Word),
    ("git:", Kind::Word),
    ("url:", Kind::Word),
];

/// One line of the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Replaces what was typed, the `@` included.
    pub insert: String,
    pub label: String,
    pub kind: Kind,
    /// Where in the label the characters begin that match what was typed, in bytes.
    pub marked: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A kind of reference: more has to be typed, or nothing.
    Word,
    File,
    Folder,
}

/// The files of one project, as they were when it was last looked at.
#[derive(Clone, Debug)]
pub struct Finder {
    root: PathBuf,
    user_home: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Below the root; a folder's ends with `/`.
    path: String,
    kind: Kind,
    modified: SystemTime,
}

impl Finder {
    /// Knows no files yet, and what `~` means.
    pub fn new(root: impl Into<PathBuf>, user_home: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            user_home: user_home.into(),
            entries: Vec::new(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Looks at the project. Whoever cancels `stop` gets what was known before.
    pub fn refresh(&mut self, stop: &CancellationToken) {
        let mut entries = Vec::new();
        for entry in walk(&self.root).filter_map(Result::ok).skip(1) {
            if stop.is_cancelled() {
                return;
            }
            let Some(kind) = entry.file_type() else {
                continue;
            };
            let Some(inner) = relative(entry.path(), &self.root) else {
                continue; // no name that could be typed
            };
            let (path, kind) = match kind.is_dir() {
                true => (format!("{inner}/"), Kind::Folder),
                false => (inner.to_owned(), Kind::File),
            };
            let modified = entry.metadata().ok().and_then(|meta| meta.modified().ok());
            entries.push(Entry {
                path,
                kind,
                modified: modified.unwrap_or(SystemTime::UNIX_EPOCH),
            });
            if entries.len() == MAX_WALKED {
                break;
            }
        }
        // Whatever else is equal, what was changed last is meant.
        entries.sort_by(|a, b| (Reverse(a.modified), &a.path).cmp(&(Reverse(b.modified), &b.path)));
        self.entries = entries;
    }

    /// What could be meant by what follows an `@`.
    pub fn candidates(&self, typed: &str) -> Vec<Candidate> {
        let only = [("file:", Kind::File), ("folder:", Kind::Folder)];
        for (prefix, kind) in only {
            if let Some(rest) = typed.strip_prefix(prefix) {
                let rest = rest.trim_start_matches(['`', '"', '\'']);
                return self.below(rest, |found| found == kind);
            }
        }
        let words = WORDS.iter().filter(|(word, _)| word.starts_with(typed));
        let words = words.map(|(word, kind)| Candidate {
            insert: format!("@{word}"),
            label: format!("@{word}"),
            kind: *kind,
            marked: (1..=typed.len()).collect(),
        });
        let mut found: Vec<Candidate> = words.collect();
        let is_wanted = |kind| match typed.is_empty() {
            true => kind == Kind::File,
            false => true,
        };
        found.extend(self.below(typed, is_wanted));
        found.truncate(MAX_SHOWN);
        found
    }

    /// How a word that looks like a path (`./`, `../`, `~/`, `/`, or with a `/` in it) could go on.
    pub fn paths(&self, word: &str) -> Vec<Candidate> {
        let mut found = paths::complete(word, &self.root, &self.user_home);
        found.truncate(MAX_SHOWN);
        found
    }

    /// Files and folders that match: the best first.
    fn below(&self, typed: &str, is_wanted: impl Fn(Kind) -> bool) -> Vec<Candidate> {
        if paths::is_rooted(typed) {
            let all = paths::complete(typed, &self.root, &self.user_home).into_iter();
            let wanted = all.filter(|one| one.kind == Kind::Folder || is_wanted(one.kind));
            // Whoever looks for a file goes through folders.
            let word = |kind| if is_wanted(kind) { kind } else { Kind::File };
            let named = wanted.map(|one| Candidate {
                insert: inserted(word(one.kind), &one.insert),
                ..one
            });
            return named.take(MAX_SHOWN).collect();
        }
        let entries = self.entries.iter().filter(|entry| is_wanted(entry.kind));
        let mut best: Vec<(Match, &Entry)> = entries
            .filter_map(|entry| Some((rank(&entry.path, typed)?, entry)))
            .collect();
        // Stable: equals stay in the order of their age.
        best.sort_by_key(|(found, _)| Reverse(found.rank));
        best.truncate(MAX_SHOWN);
        let shown = best.into_iter().map(|(found, entry)| Candidate {
            insert: inserted(entry.kind, &entry.path),
            label: entry.path.clone(),
            kind: entry.kind,
            marked: found.marked,
        });
        shown.collect()
    }
}

fn relative<'p>(path: &'p Path, root: &Path) -> Option<&'p str> {
    path.strip_prefix(root).ok()?.to_str()
}

/// The reference to a path, in quotes where it would otherwise end early.
fn inserted(kind: Kind, path: &str) -> String {
    let word = if kind == Kind::Folder {
        "folder"
    } else {
        "file"
    };
    let plain = format!("@{word}:{path}");
    let is_whole = |text: &str| {
        let found = crate::parse::references(text);
        let label = found.first().map(|one| one.what.to_string());
        found.len() == 1 && found[0].at == (0..text.len()) && label.as_deref() == Some(&plain)
    };
    if is_whole(&plain) && !plain.contains(|c: char| c == ':' && path.contains(c)) {
        return plain;
    }
    let quotes = ['"', '`', '\''].into_iter();
    let mut quoted = quotes.map(|quote| format!("@{word}:{quote}{path}{quote}"));
    quoted.find(|text| is_whole(text)).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_is_inserted_is_read_back_as_the_same_path() {
        let check = |path: &str, expected: &str| {
            assert_eq!(inserted(Kind::File, path), expected, "{path}");
        };
        check("src/a.rs", "@file:src/a.rs");
        check("a b.rs", "@file:\"a b.rs\"");
        check("say \"hi\" now", "@file:`say \"hi\" now`");
        check("log.", "@file:\"log.\"");
        check("at:10", "@file:\"at:10\"");
        check("界面/主.rs", "@file:界面/主.rs");
        check("第一章。txt", "@file:\"第一章。txt\"");
        assert_eq!(inserted(Kind::Folder, "my dir/"), "@folder:\"my dir/\"");
    }
}
