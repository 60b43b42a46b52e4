//! Taking back what was learned.

use std::path::Path;

use hermes_home::{FileLock, replace_file};

use super::{Author, By, Entry, Journal, Subject, Tree};
use crate::Result;
use crate::manage::archive::put_away;
use crate::manage::disk::{self, Care};
use crate::memory::Memory;

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
        let mut known = self.entries()?.into_iter();
        let Some(entry) = known.find(|entry| entry.number == number) else {
            return Ok(Undo::Unknown);
        };
        // First the lock of what is changed, then our own, as everybody does who changes something and has it noted.
        let _theirs = self.hold(&entry.subject)?;
        let _lock = self.lock()?;
        let entries = self.entries()?;
        // What an editor did a moment ago counts too.
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
        Ok(Undo::Done(Undone { entry, noted }))
    }

    /// Nobody else of us changes it until this is dropped.
    fn hold(&self, subject: &Subject) -> Result<FileLock> {
        match subject {
            Subject::Memory(_) => Memory::lock(&subject.root(&self.home)),
            Subject::Skill(_) => disk::lock(&self.home.join("skills")),
        }
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

    /// The whole folder changes places with a new one: a reader sees the old or the new, and so does whoever comes
    /// after a kill.
    fn restore_folder(&self, root: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
        let own = self.home.join("skills");
        if files.is_empty() {
            // It may hold more than the journal knows.
            return match root.exists() {
                true => put_away(root, &own).map(drop),
                false => Ok(()),
            };
        }
        let files = files.iter();
        let files: Vec<(&str, &[u8])> = files
            .map(|(name, content)| (name.as_str(), content.as_slice()))
            .collect();
        let care = Care::Precious(&self.modes);
        if !root.exists() {
            return disk::create_dir(root, &files, care, &own);
        }
        let staging = disk::stage(&files, care, &own)?;
        let left_out = Tree::left_out(root);
        let kept = left_out.and_then(|names| disk::carry(root, &staging, &names));
        kept.inspect_err(|_| disk::drop_staged(&staging))?;
        disk::swap_in(&staging, root, &own)
    }
}
