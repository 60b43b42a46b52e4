//! Bringing back a backup. It is unpacked beside the skills; then all that is there moves out, and all of the backup
//! moves in. Whoever is killed in between is made good by [`recover`]: back if not everything was out, else forward.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::Curator;
use super::backup::{self, ARCHIVE, Backup, DIR, is_left_out};
use crate::journal::{Author, By};
use crate::manage::disk;
use crate::usage::Record;
use crate::{Error, Result};

const SWAP: &str = ".swap";

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RolledBack {
    /// Where what was there before went.
    pub safety: String,
    pub came_back: Vec<String>,
    pub went: Vec<String>,
}

impl Curator {
    /// Packs all skills as they are.
    pub(super) fn back_up(&self, reason: &str, keep: usize, spared: &[&str]) -> Result<String> {
        let _lock = disk::lock(&self.home.skills_dir())?;
        backup::take(&self.home, reason, keep, spared)
    }

    pub fn backups(&self) -> Vec<Backup> {
        backup::list(&self.home)
    }

    pub(super) fn roll_back(&self, backup: &Backup) -> Result<RolledBack> {
        let _claimed = self.claim()?;
        let own = self.home.skills_dir();
        let before = self.names();
        self.journal.keep_all(&Author::of(By::Outside))?;
        let safety = {
            let _lock = disk::lock(&own)?;
            let keep = self.config.keep.unwrap_or(usize::MAX);
            let safety = backup::take(&self.home, "pre-rollback", keep, &[&backup.id])?;
            let dir = own.join(DIR);
            let swap = Swap::of(&own);
            if swap.dir.exists() {
                let unfinished =
                    io::Error::other("an earlier rollback could not be finished; see the log");
                return Err(Error::io("replace", &swap.dir, &unfinished));
            }
            if let Err(error) = unpack(&dir.join(&backup.id).join(ARCHIVE), &swap.incoming()) {
                swap.dispose();
                return Err(Error::io("unpack", &dir.join(&backup.id), &error));
            }
            swap.carry_out()
                .map_err(|error| Error::io("replace", &own, &error))?;
            safety
        };
        self.skills.library.forget();
        let after = self.names();
        let came_back: Vec<String> = after.difference(&before).cloned().collect();
        for name in &came_back {
            if self.skills.usage.record(name).is_some() {
                // Its owner wanted it back: it is not due to go with the next run.
                self.skills.usage.edit(name, Record::brought_back)?;
            }
        }
        self.journal.keep_all(&Author::of(By::Owner))?;
        let went = before.difference(&after).cloned().collect();
        Ok(RolledBack {
            safety,
            came_back,
            went,
        })
    }

    /// The names of the home's own skills.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let standing = self.standing().into_iter();
        standing.map(|one| one.skill.found.name).collect()
    }
}

/// Whether a killed process left a rollback half done.
pub(crate) fn is_cut_off(own: &Path) -> bool {
    Swap::of(own).dir.is_dir()
}

/// Finishes or takes back what a killed process began. Only under the lock of the skills.
pub(crate) fn recover(own: &Path) {
    let swap = Swap::of(own);
    if !swap.dir.is_dir() {
        return;
    }
    let moved = match swap.is_out() {
        true => move_all(&swap.incoming(), own),
        false => move_all(&swap.outgoing(), own),
    };
    match moved {
        Ok(()) => swap.dispose(),
        // Tried again with the next change.
        Err(error) => tracing::warn!("{}: {error}", swap.dir.display()),
    }
}

fn unpack(archive: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut tar = tar::Archive::new(GzDecoder::new(File::open(archive)?));
    tar.set_preserve_permissions(true);
    // Refuses what would lie outside.
    tar.unpack(to)
}

struct Swap {
    own: PathBuf,
    dir: PathBuf,
}

impl Swap {
    fn of(own: &Path) -> Self {
        Self {
            own: own.to_owned(),
            dir: own.join(DIR).join(SWAP),
        }
    }

    /// What is to be in place.
    fn incoming(&self) -> PathBuf {
        self.dir.join("new")
    }

    /// What was in place.
    fn outgoing(&self) -> PathBuf {
        self.dir.join("old")
    }

    /// Whether all of the old is out: from there on there is only forward.
    fn is_out(&self) -> bool {
        self.dir.join("out").exists()
    }

    fn carry_out(&self) -> io::Result<()> {
        fs::create_dir_all(self.outgoing())?;
        move_all(&self.own, &self.outgoing())?;
        File::create(self.dir.join("out"))?.sync_all()?;
        move_all(&self.incoming(), &self.own)?;
        self.dispose();
        Ok(())
    }

    fn dispose(&self) {
        if let Some(backups) = self.dir.parent() {
            backup::discard(&self.dir, backups);
        }
    }
}

/// Moves what is in a backup from one directory to another; what is in the way of a directory stays.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        // When the curator last ran is not undone: it would run at once and do it all again.
        if is_left_out(Path::new(&name)) || name == ".curator_state" {
            continue;
        }
        let target = to.join(&name);
        match fs::rename(from.join(&name), &target) {
            Err(_) if target.is_dir() => {} // somebody made it anew
            moved => moved?,
        }
    }
    Ok(())
}
