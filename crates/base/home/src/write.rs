//! Replacing a file so that a reader, or a crash, sees the old content or the new, never a part.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::{Error, Modes, Result};

/// Replaces `path`, keeping its permission bits; a new file gets `0600` unless the surroundings decide.
///
/// A symlink stays a symlink: people keep `config.yaml` and `.env` in dotfile repositories.
pub fn replace_file(path: &Path, content: impl AsRef<[u8]>, modes: &Modes) -> Result<()> {
    let target = real_target(path).map_err(Error::io("follow", path))?;
    let mode = match fs::metadata(&target) {
        Ok(existing) => Some(existing.permissions().mode() & 0o7777),
        Err(_) => modes.secret,
    };
    swap(&target, content.as_ref(), mode, Disk::Wait).map_err(Error::io("write", path))
}

/// Replaces a file that can be made anew: as [`replace_file`], but a power cut may lose it.
pub fn replace_cache(path: &Path, content: impl AsRef<[u8]>, modes: &Modes) -> Result<()> {
    swap(path, content.as_ref(), modes.secret, Disk::GoOn).map_err(Error::io("write", path))
}

/// Replaces a file that holds secrets: as [`replace_file`], and an existing loose mode is tightened.
pub fn replace_secret(path: &Path, content: impl AsRef<[u8]>, modes: &Modes) -> Result<()> {
    let target = real_target(path).map_err(Error::io("follow", path))?;
    let existing = fs::metadata(&target)
        .ok()
        .map(|meta| meta.permissions().mode() & 0o7777);
    let mode = modes.secret.or(existing);
    swap(&target, content.as_ref(), mode, Disk::Wait).map_err(Error::io("write", path))
}

/// Whether to wait until the disk has it.
#[derive(Clone, Copy, PartialEq)]
enum Disk {
    Wait,
    GoOn,
}

fn swap(target: &Path, content: &[u8], mode: Option<u32>, disk: Disk) -> io::Result<()> {
    let temp = temp_beside(target);
    let written = write_temp(&temp, content, mode, disk).and_then(|()| fs::rename(&temp, target));
    if written.is_err() {
        // The first error is the one worth telling; a temp file that can't be removed was likely never made.
        let _ = fs::remove_file(&temp);
        return written;
    }
    if disk == Disk::Wait {
        sync_dir(target);
    }
    Ok(())
}

fn write_temp(temp: &Path, content: &[u8], mode: Option<u32>, disk: Disk) -> io::Result<()> {
    // Created private, widened afterwards: there is no instant at which others could open a secret.
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temp)?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.write_all(content)?;
    match disk {
        Disk::Wait => file.sync_all(),
        Disk::GoOn => Ok(()),
    }
}

/// Makes the rename itself durable. Some file systems cannot sync a directory; the content is safe anyway.
fn sync_dir(target: &Path) {
    if let Some(dir) = target.parent().and_then(|dir| File::open(dir).ok()) {
        let _ = dir.sync_all();
    }
}

fn temp_beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{:08x}.tmp", fastrand::u32(..)))
}

/// Where a chain of symlinks ends, also when its last target doesn't exist yet.
fn real_target(path: &Path) -> io::Result<PathBuf> {
    const MAX_LINKS: usize = 40; // what Linux itself allows
    let mut current = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&current) {
            Ok(next) => current = current.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(current),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn modes() -> Modes {
        Modes {
            dir: 0o700,
            secret: Some(0o600),
        }
    }

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_is_private_and_an_existing_mode_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace_file(&path, "one", &modes()).unwrap();
        assert_eq!(mode_of(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        replace_file(&path, "two", &modes()).unwrap();
        assert_eq!(
            (mode_of(&path), fs::read_to_string(&path).unwrap().as_str()),
            (0o640, "two")
        );
        replace_secret(&path, "three", &modes()).unwrap();
        assert_eq!(mode_of(&path), 0o600);
    }

    #[test]
    fn a_symlink_stays_one_even_when_its_target_is_new() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dotfiles")).unwrap();
        let (link, target) = (
            dir.path().join("config.yaml"),
            dir.path().join("dotfiles/real.yaml"),
        );
        symlink("dotfiles/real.yaml", &link).unwrap();
        for text in ["first", "second"] {
            replace_file(&link, text, &modes()).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_temp_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gone/f");
        assert!(replace_file(&path, "x", &modes()).is_err());
        // Renaming a file onto a directory fails after the temp file was written.
        let taken = dir.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(replace_file(&taken, "x", &modes()).is_err());
        let names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, ["taken"]);
    }

    #[test]
    fn a_circle_of_links_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        symlink(&b, &a).unwrap();
        symlink(&a, &b).unwrap();
        assert!(replace_file(&a, "x", &modes()).is_err());
    }
}
