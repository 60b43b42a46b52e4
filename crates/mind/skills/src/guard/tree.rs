//! The files of a skill as the guard sees them: read once, so that a change can be judged before it is made.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What may hold text worth reading.
const TEXT: [&str; 24] = [
    "md", "txt", "py", "sh", "bash", "js", "ts", "rb", "yaml", "yml", "json", "toml", "cfg", "ini",
    "conf", "html", "css", "xml", "tex", "r", "jl", "pl", "php", "",
];
/// More of one file is not read; that it is larger is a finding of its own.
const MAX_TEXT: u64 = 1024 * 1024;
/// More files than anybody would look at.
const MAX_ENTRIES: usize = 2_000;
const MAX_DEPTH: usize = 12;

/// A skill's files by their paths.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File {
        size: u64,
        executable: bool,
        /// `None` where it is of no kind that is read.
        text: Option<String>,
    },
    /// A link out of the skill.
    Escaping(String),
    /// A link to nothing.
    Broken(String),
}

impl Tree {
    /// Reads a directory. What cannot be read is left out: it cannot be used, either.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let real = fs::canonicalize(dir)?;
        let mut tree = Self::default();
        tree.add_dir(&real, &real, "", 0)?;
        Ok(tree)
    }

    /// One file alone.
    pub fn of(path: &str, text: &str) -> Self {
        let mut tree = Self::default();
        tree.put(path, text);
        tree
    }

    /// As it would be with this file.
    pub fn put(&mut self, path: &str, text: &str) {
        let entry = Entry::File {
            size: text.len() as u64,
            executable: false,
            text: is_text(path).then(|| text.to_owned()),
        };
        self.entries.insert(path.to_owned(), entry);
    }

    pub fn total(&self) -> u64 {
        let size = |entry: &Entry| match entry {
            Entry::File { size, .. } => *size,
            _ => 0,
        };
        self.entries.values().map(size).sum()
    }

    fn add_dir(&mut self, root: &Path, dir: &Path, path: &str, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Ok(());
        }
        for entry in fs::read_dir(dir)?.flatten() {
            if self.entries.len() >= MAX_ENTRIES {
                return Ok(());
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let below = if path.is_empty() {
                name
            } else {
                format!("{path}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                self.add_link(root, &entry.path(), below);
            } else if kind.is_dir() {
                self.add_dir(root, &entry.path(), &below, depth + 1)?;
            } else if kind.is_file() {
                self.add_file(&entry.path(), below)?;
            }
        }
        Ok(())
    }

    fn add_link(&mut self, root: &Path, link: &Path, path: String) {
        let target = fs::read_link(link)
            .unwrap_or_default()
            .display()
            .to_string();
        match fs::canonicalize(link) {
            // What it leads to is looked at where it lies.
            Ok(real) if real.starts_with(root) => {}
            Ok(_) => {
                self.entries.insert(path, Entry::Escaping(target));
            }
            Err(_) => {
                self.entries.insert(path, Entry::Broken(target));
            }
        }
    }

    fn add_file(&mut self, file: &Path, path: String) -> io::Result<()> {
        let meta = fs::metadata(file)?;
        let text = if is_text(&path) {
            let mut bytes = Vec::new();
            fs::File::open(file)?
                .take(MAX_TEXT)
                .read_to_end(&mut bytes)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        } else {
            None
        };
        let entry = Entry::File {
            size: meta.len(),
            executable: meta.permissions().mode() & 0o111 != 0,
            text,
        };
        self.entries.insert(path, entry);
        Ok(())
    }
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name
        .rsplit_once('.')
        .map_or("", |(_, end)| end)
        .to_lowercase();
    TEXT.contains(&end.as_str())
}
