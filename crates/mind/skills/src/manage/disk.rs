//! The file system side of a change: nothing outside the skill, nothing half, nothing unverified.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_home::{FileLock, Modes, replace_cache, replace_file};

use super::Refused;
use crate::format::{SUPPORT_DIRS, is_inside};
use crate::{Error, Result};

const STAGING: &str = ".staging-";
const ASIDE: &str = ".aside-";
const LOCK: &str = ".write.lock";
/// No name of a skill has it.
const SLASH: &str = "%";

/// How long another process may take to change a skill.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// Nobody else changes skills until this is dropped.
pub fn lock(own: &Path) -> Result<FileLock> {
    fs::create_dir_all(own).map_err(|error| Error::io("create", own, &error))?;
    let path = own.join(LOCK);
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(lock) = FileLock::try_acquire(&path)? {
            sweep(own);
            return Ok(lock);
        }
        if Instant::now() >= until {
            let busy = std::io::Error::other("another process is changing skills; try again");
            return Err(Error::io("lock", &path, &busy));
        }
        std::thread::sleep(LOOK);
    }
}

/// Only `references/x` and its like.
pub fn check_support_path(path: &str) -> std::result::Result<(), Refused> {
    let wrong = |why: &str| {
        Err(Refused::new(format!(
            "'{path}' {why}: use a file below {}/",
            SUPPORT_DIRS.join("/, ")
        )))
    };
    if path.ends_with('/') || !is_inside(path) {
        return wrong("is no path of a file inside the skill");
    }
    let mut parts = Path::new(path).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(first)), Some(Component::Normal(_))) => {
            match SUPPORT_DIRS.iter().any(|dir| first == *dir) {
                true => Ok(()),
                false => wrong("is not in one of the directories for files"),
            }
        }
        _ => wrong("is not in one of the directories for files"),
    }
}

/// A file of a skill, unless links on the way lead out of it.
pub fn inside(dir: &Path, file: &str) -> std::result::Result<PathBuf, Refused> {
    let path = dir.join(file);
    let root = fs::canonicalize(dir).map_err(|error| Error::io("find", dir, &error))?;
    // What exists of the path already; the rest cannot lead anywhere.
    let existing = path
        .ancestors()
        .find(|path| fs::symlink_metadata(path).is_ok());
    let real = existing.map(fs::canonicalize);
    match real {
        Some(Ok(real)) if real.starts_with(&root) => Ok(path),
        _ => Err(Refused::new(format!(
            "'{file}' leads out of the skill's directory"
        ))),
    }
}

/// Replaces a file or makes it, with the directories it needs.
pub fn replace(path: &Path, content: &str, modes: &Modes) -> Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, &error))?;
    }
    Ok(replace_file(path, content, modes)?)
}

/// Whether the disk has what was written.
pub fn verify(path: &Path, content: &str) -> std::result::Result<(), Refused> {
    match fs::read(path) {
        Ok(bytes) if bytes == content.as_bytes() => Ok(()),
        Ok(_) => Err(Refused::new(format!(
            "{} holds something else than was written; another program may have changed it",
            path.display()
        ))),
        Err(error) => Err(Error::io("read back", path, &error).into()),
    }
}

/// How much is lost with a file.
#[derive(Clone, Copy, Debug)]
pub enum Care<'m> {
    /// Somebody's work: on the disk before anybody is told.
    Precious(&'m Modes),
    /// Can be made anew: not worth waiting for the disk.
    Remakable(&'m Modes),
}

/// Makes a directory with these files appear at once: it is built beside, then renamed.
pub fn create_dir(
    target: &Path,
    files: &[(&str, &[u8])],
    care: Care<'_>,
    own: &Path,
) -> Result<()> {
    let staging = stage(files, care, own)?;
    let put = || {
        if let Some(category) = target.parent() {
            fs::create_dir_all(category).map_err(|error| Error::io("create", category, &error))?;
        }
        fs::rename(&staging, target).map_err(|error| Error::io("create", target, &error))
    };
    put().inspect_err(|_| drop_staged(&staging))
}

/// Puts other files in place of a directory's.
pub fn replace_dir(
    target: &Path,
    files: &[(&str, &[u8])],
    care: Care<'_>,
    own: &Path,
) -> Result<()> {
    let staging = stage(files, care, own)?;
    swap_in(&staging, target, own)
}

/// Builds a directory beside the skills.
pub fn stage(files: &[(&str, &[u8])], care: Care<'_>, own: &Path) -> Result<PathBuf> {
    let staging = own.join(format!("{STAGING}{:08x}", fastrand::u32(..)));
    build(&staging, files, care).inspect_err(|_| drop_staged(&staging))?;
    Ok(staging)
}

/// Puts a directory that was built in the place of another. Whoever is killed in between is made good by [`sweep`].
pub fn swap_in(staging: &Path, target: &Path, own: &Path) -> Result<()> {
    let aside = own.join(format!("{ASIDE}{}", aside_name(target, own)));
    let swapped = fs::rename(target, &aside)
        .map_err(|error| Error::io("move", target, &error))
        .and_then(|()| {
            let put = fs::rename(staging, target);
            put.map_err(|error| match fs::rename(&aside, target) {
                Ok(()) => Error::io("replace", target, &error),
                Err(worse) => Error::io("restore", target, &worse),
            })
        });
    match &swapped {
        Ok(()) => drop(fs::remove_dir_all(&aside)), // else the next change sweeps it
        Err(_) => drop_staged(staging),
    }
    swapped
}

/// If somebody was killed while a directory or all of them changed places, puts it in order. Never waits: whoever changes something
/// now does the same.
pub fn settle(own: &Path) {
    let is_left = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with(ASIDE);
    let mut entries = fs::read_dir(own).into_iter().flatten().flatten();
    if !entries.any(is_left) && !crate::curator::is_cut_off(own) {
        return;
    }
    match FileLock::try_acquire(&own.join(LOCK)) {
        Ok(Some(_lock)) => sweep(own),
        Ok(None) => {}
        Err(error) => tracing::warn!("{error}"),
    }
}

/// Keeps what a directory has and one that was built lacks.
pub fn carry(from: &Path, staging: &Path, names: &[String]) -> Result<()> {
    for name in names {
        let (old, new) = (from.join(name), staging.join(name));
        if let Some(dir) = new.parent() {
            fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, &error))?;
        }
        fs::hard_link(&old, &new).map_err(|error| Error::io("keep", &old, &error))?;
    }
    Ok(())
}

/// The first error is the one worth telling; the next change sweeps.
pub fn drop_staged(staging: &Path) {
    let _ = fs::remove_dir_all(staging);
}

fn build(staging: &Path, files: &[(&str, &[u8])], care: Care<'_>) -> Result<()> {
    fs::create_dir_all(staging).map_err(|error| Error::io("create", staging, &error))?;
    for (path, content) in files {
        let file = staging.join(path);
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, &error))?;
        }
        match care {
            Care::Precious(modes) => replace_file(&file, content, modes)?,
            Care::Remakable(modes) => replace_cache(&file, content, modes)?,
        }
        if content.starts_with(b"#!") {
            let runs = Permissions::from_mode(0o755);
            fs::set_permissions(&file, runs).map_err(|error| Error::io("mark", &file, &error))?;
        }
    }
    Ok(())
}

/// Clears up after a killed process: what was half built goes, what was put aside comes back if nothing took its
/// place. Only under the lock: nobody is building now.
fn sweep(own: &Path) {
    crate::curator::recover(own);
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(STAGING) {
            let _ = fs::remove_dir_all(entry.path()); // harmless where it is
        } else if let Some(path) = name.strip_prefix(ASIDE) {
            let target = own.join(path.replace(SLASH, "/"));
            let _ = match target.exists() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::rename(entry.path(), target), // tried again with the next change
            };
        }
    }
}

/// A path as one name.
fn aside_name(target: &Path, own: &Path) -> String {
    let path = target.strip_prefix(own).unwrap_or(target);
    path.to_string_lossy().replace('/', SLASH)
}

/// Removes the directories of a file that are empty without it.
pub fn remove_empty(file: &Path, skill: &Path) {
    let above = file.ancestors().skip(1).take_while(|dir| *dir != skill);
    for dir in above {
        if fs::remove_dir(dir).is_err() {
            break; // not empty
        }
    }
}
