//! One directory of skills: walked once, and afterwards only looked at whether it is still the same.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fstatat};
use serde::{Deserialize, Serialize};

use super::NO_CATEGORY;
use super::manifest::Manifest;
use crate::file::{self, NoText};
use crate::format::{Conditions, Document, FILE, split};

const CATEGORY_FILE: &str = "DESCRIPTION.md";
const MAX_DEPTH: usize = 8;
/// Front matter is nearly always within this.
const HEAD: usize = 2 * 1024;
/// A directory of more skills, or of more directories without one, is no directory of skills.
const MAX_SKILLS: usize = 5_000;
const MAX_DIRS: usize = 2_000;

/// A skill as the index needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    #[serde(rename = "skill_name")]
    pub dir_name: String,
    /// The directories between it and its root.
    pub category: String,
    #[serde(rename = "frontmatter_name")]
    pub name: String,
    pub description: String,
    pub platforms: Vec<String>,
    pub conditions: Conditions,
    /// Its directory, from the root.
    #[serde(default)]
    pub path: String,
}

/// What is in one root, and how it looked when that was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shelf {
    pub root: PathBuf,
    /// Files that were read, in their order.
    pub(super) manifest: Manifest,
    /// Directories that were looked through. What is new in one changes its time; 0: it was not there.
    pub(super) dirs: BTreeMap<String, i64>,
    pub skills: Vec<Found>,
    pub category_descriptions: BTreeMap<String, String>,
    #[serde(default)]
    pub troubles: Vec<String>,
    /// Something could not be read, for a reason that may go away without a trace.
    #[serde(default)]
    pub(super) is_partial: bool,
}

impl Shelf {
    pub fn walk(root: &Path) -> Self {
        let mut walk = Walk {
            shelf: Self {
                root: root.to_owned(),
                ..Self::default()
            },
            seen: HashSet::new(),
            links: Vec::new(),
        };
        walk.enter("", 0);
        // Links last: what is reachable without one is filed where it really lies.
        while let Some((path, depth)) = walk.links.pop() {
            walk.enter(&path, depth);
        }
        let is_full = walk.is_full();
        let mut shelf = walk.shelf;
        shelf.skills.sort_by(|a, b| a.path.cmp(&b.path));
        shelf.manifest.0.sort();
        let twins = shelf.twins();
        shelf.troubles.extend(twins);
        if is_full {
            shelf.troubles.push(format!(
                "{}: too much for a directory of skills; the rest was not looked at",
                root.display()
            ));
        }
        shelf
    }

    /// Names that more than one skill has.
    fn twins(&self) -> Vec<String> {
        let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for found in &self.skills {
            let path = format!("{}/{}", found.category, found.dir_name);
            named.entry(&found.name).or_default().push(path);
        }
        let named = named.into_iter().filter(|(_, paths)| paths.len() > 1);
        let told = |(name, paths): (&str, Vec<String>)| {
            format!(
                "{}: {} skills are called '{name}'; say which with {}",
                self.root.display(),
                paths.len(),
                paths.join(" or ")
            )
        };
        named.map(told).collect()
    }

    /// Whether every file and directory is as it was.
    pub fn still_holds(&self) -> bool {
        if self.is_partial {
            return false;
        }
        let Ok(root) = File::open(&self.root) else {
            return false;
        };
        let mut looks = Looks { root, near: None };
        let mut dirs = self.dirs.iter();
        let mut files = self.manifest.0.iter();
        dirs.all(|(path, time)| looks.at(path).map_or(0, |(time, _)| time) == *time)
            && files.all(|(path, (time, size))| {
                let now = looks.at(path);
                now.is_some_and(|(now, len)| now == *time && u64::try_from(len) == Ok(*size))
            })
    }
}

/// Looks at files of a shelf in their order, each from the category on it shares with the last one: the way there
/// would be most of the work.
struct Looks {
    root: File,
    near: Option<(String, OwnedFd)>,
}

impl Looks {
    /// Time of change and size.
    fn at(&mut self, path: &str) -> Option<(i64, i64)> {
        let own = path
            .rfind('/')
            .map_or(0, |end| path[..end].rfind('/').map_or(0, |at| at + 1));
        let (category, path) = path.split_at(own);
        let path = if path.is_empty() { "." } else { path };
        let stat = match category {
            "" => fstatat(&self.root, path, AtFlags::empty()),
            category => fstatat(self.category(category)?, path, AtFlags::empty()),
        };
        let stat = stat.ok()?;
        Some((nanos(stat.st_mtime, stat.st_mtime_nsec), stat.st_size))
    }

    fn category(&mut self, name: &str) -> Option<&OwnedFd> {
        if self.near.as_ref().is_none_or(|(near, _)| near != name) {
            let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            let opened = openat(&self.root, name, flags, Mode::empty()).ok()?;
            self.near = Some((name.to_owned(), opened));
        }
        self.near.as_ref().map(|(_, dir)| dir)
    }
}

fn changed(meta: &Metadata) -> i64 {
    nanos(meta.mtime(), meta.mtime_nsec())
}

fn nanos(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

struct Walk {
    shelf: Shelf,
    /// Files and directories by device and number, so that circles of links end.
    seen: HashSet<(u64, u64)>,
    links: Vec<(String, usize)>,
}

impl Walk {
    /// Looks at a directory: a skill, or something that may hold skills.
    fn enter(&mut self, path: &str, depth: usize) {
        if depth > MAX_DEPTH || self.is_full() {
            return;
        }
        match self.skill(path) {
            Ok(true) if !path.is_empty() => {}
            Ok(_) => self.look_through(path, depth),
            Err(error) => self.trouble(path, FILE, &error),
        }
    }

    fn is_full(&self) -> bool {
        self.shelf.skills.len() >= MAX_SKILLS || self.shelf.dirs.len() >= MAX_DIRS
    }

    /// Reads the skill in this directory; false if there is none.
    fn skill(&mut self, path: &str) -> io::Result<bool> {
        let file = joined(path, FILE);
        let Some((bytes, meta)) = self.read(&file)? else {
            return Ok(false);
        };
        self.note(&file, &meta);
        if !self.seen.insert((meta.dev(), meta.ino())) {
            return Ok(true);
        }
        match file::judge(&bytes) {
            Ok(()) => {}
            Err(NoText::Binary) => {
                self.tell(&file, format_args!("{}; skipped", NoText::Binary));
                return Ok(true);
            }
            Err(odd) => self.tell(&file, format_args!("{odd}")),
        }
        if meta.len() > file::MOST {
            let (size, most) = (meta.len(), file::MOST);
            self.tell(
                &file,
                format_args!("it has {size} bytes; only {most} are read"),
            );
        }
        let document = Document::parse(&String::from_utf8_lossy(&bytes));
        if let Some(trouble) = &document.trouble {
            self.tell(&file, format_args!("{trouble}"));
        }
        self.file(path, &document);
        Ok(true)
    }

    /// Puts a skill on the shelf.
    fn file(&mut self, path: &str, document: &Document) {
        let own = path.rsplit('/').next().unwrap_or_default();
        let root_name = self
            .shelf
            .root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let dir_name = if own.is_empty() { &root_name } else { own };
        self.shelf.skills.push(Found {
            dir_name: dir_name.to_owned(),
            category: category_of(path).to_owned(),
            name: document.name(dir_name),
            description: document.description(),
            platforms: document.platforms(),
            conditions: document.conditions(),
            path: path.to_owned(),
        });
    }

    fn look_through(&mut self, path: &str, depth: usize) {
        let dir = self.shelf.root.join(path);
        let meta = match fs::metadata(&dir) {
            Ok(meta) if meta.is_dir() => meta,
            _ => return,
        };
        if !self.seen.insert((meta.dev(), meta.ino())) {
            return;
        }
        self.shelf.dirs.insert(path.to_owned(), changed(&meta));
        self.describe(path);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) => return self.trouble(path, "", &error),
        };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Sidecars, archives and repositories begin with a dot.
            if name.starts_with('.') {
                continue;
            }
            let below = joined(path, &name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.enter(&below, depth + 1),
                Ok(kind) if kind.is_symlink() => self.link(below, depth + 1),
                _ => {}
            }
        }
    }

    fn link(&mut self, path: String, depth: usize) {
        match fs::metadata(self.shelf.root.join(&path)) {
            Ok(meta) if meta.is_dir() => self.links.push((path, depth)),
            Ok(_) => {}
            Err(error) => {
                self.shelf.dirs.insert(path.clone(), 0);
                self.tell(
                    &path,
                    format_args!("the link leads nowhere ({error}); skipped"),
                );
            }
        }
    }

    /// What a category is for.
    fn describe(&mut self, path: &str) {
        let file = joined(path, CATEGORY_FILE);
        let Ok(Some((bytes, meta))) = self.read(&file) else {
            return;
        };
        self.note(&file, &meta);
        let description = Document::parse(&String::from_utf8_lossy(&bytes)).description();
        if !description.is_empty() && !path.is_empty() {
            self.shelf
                .category_descriptions
                .insert(path.to_owned(), description);
        }
    }

    /// A file was read: the shelf holds as long as it stays as it is.
    fn note(&mut self, file: &str, meta: &Metadata) {
        let stamp = (changed(meta), meta.len());
        self.shelf.manifest.0.push((file.to_owned(), stamp));
    }

    /// The beginning of a file, as far as its front matter goes; `None` if there is no such file.
    fn read(&self, path: &str) -> io::Result<Option<(Vec<u8>, Metadata)>> {
        let (mut file, meta) = match file::open(&self.shelf.root.join(path)) {
            Ok(opened) => opened,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = vec![0; HEAD];
        let mut size = file.read(&mut bytes)?;
        bytes.truncate(size);
        while size > 0 && (bytes.len() as u64) < file::MOST && is_unfinished(&bytes) {
            size = file.by_ref().take(file::MOST).read_to_end(&mut bytes)?;
        }
        Ok(Some((bytes, meta)))
    }

    fn trouble(&mut self, path: &str, file: &str, error: &io::Error) {
        self.shelf.is_partial = true;
        self.tell(&joined(path, file), format_args!("{error}; skipped"));
    }

    fn tell(&mut self, path: &str, what: fmt::Arguments<'_>) {
        let place = self.shelf.root.join(path);
        let place = place.display();
        self.shelf.troubles.push(format!("{place}: {what}"));
    }
}

/// Whether front matter begins but doesn't end here.
fn is_unfinished(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    bytes.len() >= HEAD
        && text.starts_with(b"---")
        && split(&String::from_utf8_lossy(text)).is_none()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

fn joined(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

fn category_of(path: &str) -> &str {
    path.rsplit_once('/')
        .map_or(NO_CATEGORY, |(category, _)| category)
}
