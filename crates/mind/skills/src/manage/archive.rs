//! Deleting a skill without losing it: it moves to `.archive` beside the others.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Changed, Origin, Outcome, Refused};
use crate::find::Skill;
use crate::service::Skills;
use crate::usage::Record;
use crate::{Error, Result};

impl Skills {
    pub(super) fn archive(
        &self,
        skill: &Skill,
        absorbed_into: Option<&str>,
        origin: Origin,
    ) -> Outcome {
        let name = skill.found.name.clone();
        let record = self.usage.record(&name).unwrap_or_default();
        if record.is_pinned() {
            return Err(Refused::new(format!(
                "'{name}' is pinned and cannot be deleted; its owner can unpin it with `hermes curator unpin {name}`"
            )));
        }
        if let Some(umbrella) = absorbed_into.map(str::trim).filter(|into| !into.is_empty()) {
            let target = self
                .resolve(umbrella)
                .map_err(|missing| Refused::new(format!("absorbed_into: {missing}")))?;
            if target.dir() == skill.dir() {
                return Err(Refused::new("absorbed_into names the skill itself"));
            }
        }
        let dir = movable(skill)?;
        let folder = &skill.found.path;
        if origin == Origin::Curator {
            // What it takes away can come back as what it was, to where it was; also if it is killed on the way.
            self.usage.edit(&name, |record| record.leaves(folder))?;
        }
        let kept = put_away(&dir, &skill.root)?;
        let noted = match origin {
            Origin::Curator => self.usage.edit(&name, Record::put_away),
            Origin::Foreground | Origin::Review => self.usage.forget(&name),
        };
        if let Err(error) = noted {
            tracing::warn!("{name}: {error}");
        }
        Ok(Changed {
            kind: "deleted",
            message: format!("Skill '{name}' deleted; kept at {}.", kept.display()),
            name,
            path: dir,
        })
    }
}

/// The skill's directory, unless moving it would move something else.
pub(crate) fn movable(skill: &Skill) -> std::result::Result<PathBuf, Refused> {
    let dir = skill.dir();
    let real = fs::canonicalize(&dir).map_err(|error| Error::io("find", &dir, &error))?;
    let root =
        fs::canonicalize(&skill.root).map_err(|error| Error::io("find", &skill.root, &error))?;
    if real == root {
        return Err(Refused::new(format!(
            "{} is a whole directory of skills",
            dir.display()
        )));
    }
    if real != root.join(&skill.found.path) {
        return Err(Refused::new(format!(
            "{} is reached through a link to {}; remove the link or the directory by hand",
            dir.display(),
            real.display()
        )));
    }
    Ok(dir)
}

/// Moves a directory to the archive of its root, under its own name or one with the time.
pub(crate) fn put_away(dir: &Path, root: &Path) -> Result<PathBuf> {
    let archive = root.join(".archive");
    fs::create_dir_all(&archive).map_err(|error| Error::io("create", &archive, &error))?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let stamp = Timestamp::now().strftime("%Y%m%d%H%M%S");
    let names = std::iter::once(name.to_string())
        .chain(std::iter::once(format!("{name}-{stamp}")))
        .chain((2..100).map(|n| format!("{name}-{stamp}-{n}")));
    let free = names
        .map(|name| archive.join(name))
        .find(|path| !path.exists());
    let target = free.unwrap_or_else(|| archive.join(format!("{name}-{:08x}", fastrand::u32(..))));
    fs::rename(dir, &target).map_err(|error| Error::io("move", dir, &error))?;
    // A category that is empty now says nothing any more.
    if let Some(category) = dir.parent().filter(|category| *category != root) {
        let _ = fs::remove_dir(category); // not empty: it stays
    }
    Ok(target)
}
