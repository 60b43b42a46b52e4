//! Taking back what was learned.

use std::fs;
use std::path::Path;

use hermes_home::replace_file;

use super::{Author, By, Entry, Journal, Subject};
use crate::memory::Memory;
use crate::{Error, Result};

/// What came of an undo.
#[derive(Debug, PartialEq)]
pub enum Undo {
    Done(Undone),
    Unknown,
    /// It has changed since: undo the later entries first.
    ChangedSince(Entry),
}

#[derive(Debug, PartialEq)]
pub struct Undone {
    pub entry: Entry,
    /// The line about it, unless nothing had to be changed.
    pub noted: Option<Entry>,
}

impl Journal {
    /// Makes a subject what it was before entry `number`, if nobody has changed it since.
    pub fn undo(&self, number: u64) -> Result<Undo> {
        let entries = self.entries()?;
        let Some(entry) = entries.iter().find(|entry| entry.number == number) else {
            return Ok(Undo::Unknown);
        };
        // What an editor did a moment ago counts too.
        let _lock = self.lock()?;
        self.append(&entries, &entry.subject, &Author::of(By::Outside), None)?;
        let entries = self.entries()?;
        let last = entries
            .iter()
            .rev()
            .find(|last| last.subject == entry.subject);
        match last {
            Some(last) if last.after != entry.after => return Ok(Undo::ChangedSince(last.clone())),
            _ => {}
        }
        self.restore(&entry.subject, entry.before.as_deref())?;
        let owner = Author::of(By::Owner);
        let noted = self.append(&entries, &entry.subject, &owner, Some(number))?;
        let entry = entry.clone();
        Ok(Undo::Done(Undone { entry, noted }))
    }

    fn restore(&self, subject: &Subject, tree: Option<&str>) -> Result<()> {
        // All of it is read before anything is touched.
        let files = self.files(tree)?;
        let root = subject.root(&self.home);
        match subject {
            Subject::Memory(_) => {
                let content = files.into_iter().next().map(|(_, content)| content);
                match content {
                    Some(content) => Ok(replace_file(&root, content, &self.modes)?),
                    None => Memory::remove(&root),
                }
            }
            Subject::Skill(_) => self.restore_folder(&root, &files),
        }
    }

    /// The whole folder changes places with a new one: a reader sees the old or the new.
    fn restore_folder(&self, root: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
        let aside = |kind: &str| {
            let name = root.file_name().unwrap_or_default().to_string_lossy();
            root.with_file_name(format!(".{name}.{kind}-{}", std::process::id()))
        };
        let (new, old) = (aside("new"), aside("old"));
        for (name, content) in files {
            let path = new.join(name);
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, &error))?;
            }
            replace_file(&path, content, &self.modes)?;
        }
        let failed = |error| Error::io("replace", root, &error);
        if root.exists() {
            fs::rename(root, &old).map_err(failed)?;
        }
        if !files.is_empty() {
            fs::rename(&new, root).map_err(failed)?;
        }
        // What was there is in the journal.
        fs::remove_dir_all(&old).or_else(|error| match old.exists() {
            true => Err(failed(error)),
            false => Ok(()),
        })
    }
}
