//! Into the archive and out of it. A skill is moved with one rename, so whoever is killed leaves it in one place or
//! the other; its record follows, and [`Curator::mend`] makes good what was missed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;

use super::{Curator, Standing, decide};
use crate::find::Skill;
use crate::format::{Document, FILE};
use crate::journal::{Author, By, Subject};
use crate::manage::Refused;
use crate::manage::{archive, disk};
use crate::usage::{Record, now};
use crate::{Error, Result};

/// A skill in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    pub name: String,
    /// Its directory in the archive: the name it had, perhaps with a time.
    pub folder: String,
    pub path: PathBuf,
    pub at: Option<Timestamp>,
}

impl Curator {
    /// Moves a skill to the archive.
    pub(super) fn put_away(&self, skill: &Skill, by: By) -> std::result::Result<PathBuf, Refused> {
        let _lock = disk::lock(self.skills.library.own())?;
        let name = skill.name();
        if self
            .skills
            .usage
            .record(name)
            .unwrap_or_default()
            .is_pinned()
        {
            return Err(Refused::new(format!(
                "'{name}' is pinned; `hermes curator unpin {name}` lets it go"
            )));
        }
        let dir = archive::movable(skill)?;
        let subject = Subject::Skill(skill.found.path.clone());
        self.journal.keep(&subject, &Author::of(By::Outside))?;
        // Noted before: whoever is killed after the move has still said where it belongs.
        let leaving = |record: &mut Record| record.leaves(&skill.found.path);
        self.skills.usage.edit(name, leaving)?;
        let kept = archive::put_away(&dir, &skill.root)?;
        self.skills.usage.edit(name, Record::put_away)?;
        self.skills.library.forget();
        self.journal.keep(&subject, &Author::of(by))?;
        Ok(kept)
    }

    /// Moves a skill back to where it was.
    pub(super) fn bring_back(&self, archived: &Archived) -> std::result::Result<PathBuf, Refused> {
        let own = self.skills.library.own();
        let _lock = disk::lock(own)?;
        let record = self.skills.usage.record(&archived.name);
        let from = record
            .as_ref()
            .and_then(|record| record.text("archived_from"));
        let from = from.filter(|folder| is_below(folder));
        let folder = from.unwrap_or(&archived.name).to_owned();
        let target = own.join(&folder);
        let taken = self.skills.library.skills().into_iter();
        let taken = taken.map(|skill| (skill.is_called(&archived.name), skill.dir()));
        let taken = taken.filter(|(is_called, dir)| *is_called || *dir == target);
        if let Some((_, dir)) = taken.into_iter().next() {
            return Err(Refused::new(format!(
                "there is a skill '{}' again, at {}: move it away first",
                archived.name,
                dir.display()
            )));
        }
        if target.exists() {
            return Err(Refused::new(format!("{} is in the way", target.display())));
        }
        let subject = Subject::Skill(folder);
        self.journal.keep(&subject, &Author::of(By::Outside))?;
        if let Some(category) = target.parent() {
            fs::create_dir_all(category).map_err(|error| Error::io("create", category, &error))?;
        }
        fs::rename(&archived.path, &target)
            .map_err(|error| Error::io("move", &archived.path, &error))?;
        if record.is_some() {
            self.skills
                .usage
                .edit(&archived.name, Record::brought_back)?;
        }
        self.skills.library.forget();
        self.journal.keep(&subject, &Author::of(By::Owner))?;
        Ok(target)
    }

    /// What is in the archive, newest first.
    pub fn archived(&self) -> Vec<Archived> {
        let dir = self.skills.library.own().join(".archive");
        let records: BTreeMap<String, Record> = self.skills.usage.all().into_iter().collect();
        let mut all: Vec<Archived> = Vec::new();
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(text) = fs::read(path.join(FILE)) else {
                continue;
            };
            let folder = entry.file_name().to_string_lossy().into_owned();
            let name = Document::parse(&String::from_utf8_lossy(&text)).name(&folder);
            let noted = records
                .get(&name)
                .and_then(|record| record.text("archived_at"));
            let noted = noted.and_then(decide::moment);
            // A move changes the directory above, and the time of the last change of the inode.
            let moved = fs::metadata(&path).ok().and_then(|meta| {
                use std::os::unix::fs::MetadataExt;
                Timestamp::from_second(meta.ctime()).ok()
            });
            all.push(Archived {
                name,
                folder,
                path,
                at: moved.or(noted),
            });
        }
        all.sort_by(|a, b| (b.at, &b.folder).cmp(&(a.at, &a.folder)));
        all
    }

    /// Makes the records say what the disk says: somebody was killed in between, or moved skills by hand.
    pub(super) fn mend(&self) -> Result<()> {
        let standing = self.standing();
        let present: BTreeSet<&str> = standing.iter().map(|one| one.skill.name()).collect();
        let archived: BTreeSet<String> = self.archived().into_iter().map(|one| one.name).collect();
        for (name, record) in self.skills.usage.all() {
            let is_here = present.contains(name.as_str());
            let is_away = record.text("state") == Some("archived");
            if is_here && is_away {
                self.skills.usage.edit(&name, Record::brought_back)?;
            } else if !is_here && !is_away && archived.contains(&name) {
                self.skills.usage.edit(&name, Record::put_away)?;
            }
        }
        // What has no beginning would never end.
        let is_ageless =
            |one: &&Standing| one.is_managed() && decide::anchor(&one.record).is_none();
        for one in standing.iter().filter(is_ageless) {
            let born = |record: &mut Record| record.set("created_at", now().into());
            self.skills.usage.edit(one.skill.name(), born)?;
        }
        Ok(())
    }
}

/// Whether a note of where a skill was leads nowhere else.
fn is_below(folder: &str) -> bool {
    let parts = std::path::Path::new(folder).components();
    let mut parts = parts.peekable();
    parts.peek().is_some()
        && parts.all(|part| {
            matches!(part, std::path::Component::Normal(name) if !name.to_string_lossy().starts_with('.'))
        })
}
