//! A subject as it is at one moment: the names of its files, and what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::blobs::Blobs;
use crate::{Error, Result};

/// Bigger files are no skill.
const LARGEST: u64 = 1 << 20;
const MOST: usize = 200;
/// Folders of skills are not deeper.
const DEEPEST: usize = 6;

/// Names relative to the subject's root (empty for a single file), with the hash of the content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree {
    pub files: BTreeMap<String, String>,
}

/// The same with the contents themselves.
#[derive(Debug, Default)]
pub struct Contents {
    files: BTreeMap<String, Vec<u8>>,
    /// Links, and what is too much or too large to be kept.
    left_out: Vec<String>,
}

impl Tree {
    /// What is at `root`; `None` if nothing is.
    pub fn of(root: &Path) -> Result<Option<Contents>> {
        let meta = match fs::metadata(root) {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", root, &error)),
        };
        let mut contents = Contents::default();
        match meta.is_dir() {
            true => contents.collect(root, root, DEEPEST)?,
            false => contents.take(String::new(), root)?,
        }
        Ok((!contents.files.is_empty()).then_some(contents))
    }

    /// What there is in a directory but in no tree of it.
    pub fn left_out(root: &Path) -> Result<Vec<String>> {
        let mut contents = Contents::default();
        contents.collect(root, root, DEEPEST)?;
        Ok(contents.left_out)
    }

    pub fn read(blobs: &Blobs, hash: &str) -> Result<Self> {
        let bytes = blobs.get(hash)?;
        serde_json::from_slice(&bytes).map_err(|_| Error::Gone(hash.to_owned()))
    }
}

impl Contents {
    /// Keeps all of it; gives the tree's own name.
    pub fn save(self, blobs: &Blobs) -> Result<String> {
        let files = self.files.into_iter();
        let files = files.map(|(name, content)| Ok((name, blobs.put(&content)?)));
        let tree = Tree {
            files: files.collect::<Result<_>>()?,
        };
        blobs.put(&serde_json::to_vec(&tree).unwrap_or_default())
    }

    fn collect(&mut self, root: &Path, dir: &Path, depth: usize) -> Result<()> {
        let entries = fs::read_dir(dir).map_err(|error| Error::io("read", dir, &error))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = path.strip_prefix(root).unwrap_or(&path);
            let name = name.to_string_lossy().into_owned();
            match kind.is_dir() {
                true if depth > 0 => self.collect(root, &path, depth - 1)?,
                // What a link leads to belongs to somebody else.
                false if kind.is_file() && self.files.len() < MOST => self.take(name, &path)?,
                _ => self.left_out.push(name),
            }
        }
        Ok(())
    }

    fn take(&mut self, name: String, path: &Path) -> Result<()> {
        let size = fs::metadata(path).map_or(0, |meta| meta.len());
        if size > LARGEST {
            self.left_out.push(name);
            return Ok(());
        }
        let content = fs::read(path).map_err(|error| Error::io("read", path, &error))?;
        self.files.insert(name, content);
        Ok(())
    }
}

/// The folders of all skills below `dir`, relative to it.
pub fn skills(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    walk(dir, dir, DEEPEST, &mut found);
    found
}

fn walk(root: &Path, dir: &Path, depth: usize, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_hidden = name.to_string_lossy().starts_with('.');
        if is_hidden || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if path.join("SKILL.md").is_file() {
            let folder = path.strip_prefix(root).unwrap_or(&path);
            found.push(folder.to_string_lossy().into_owned());
        } else if depth > 0 {
            walk(root, &path, depth - 1, found);
        }
    }
}
