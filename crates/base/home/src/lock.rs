//! Cross-process exclusion by `flock`, on the same lock files the Python program uses.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// How often a held lock is tried again.
const POLL: Duration = Duration::from_millis(10);

/// Held until dropped. The lock file itself stays: removing it would let two processes lock two files.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the sibling `<path>.lock` of the file about to be changed.
    pub fn for_file(path: &Path) -> Result<Self> {
        Self::acquire(&sibling(path))
    }

    /// Waits for this lock file itself.
    pub fn acquire(lock_path: &Path) -> Result<Self> {
        let file = open(lock_path)?;
        file.lock().map_err(Error::io("lock", lock_path))?;
        Ok(Self { _file: file })
    }

    /// Waits for the sibling `<path>.lock`, but not for ever: its holder may hang.
    pub fn within(path: &Path, patience: Duration) -> Result<Self> {
        let lock_path = sibling(path);
        let end = Instant::now() + patience;
        loop {
            if let Some(lock) = Self::try_acquire(&lock_path)? {
                return Ok(lock);
            }
            if Instant::now() >= end {
                let held = io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another program holds it for too long",
                );
                return Err(Error::io("lock", &lock_path)(held));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Takes the lock if nobody holds it; `None` if somebody does.
    pub fn try_acquire(lock_path: &Path) -> Result<Option<Self>> {
        Self::attempt(lock_path, File::try_lock)
    }

    /// Takes it together with others who share it; `None` if somebody has it alone.
    pub fn try_share(lock_path: &Path) -> Result<Option<Self>> {
        Self::attempt(lock_path, File::try_lock_shared)
    }

    fn attempt(
        lock_path: &Path,
        lock: fn(&File) -> std::result::Result<(), TryLockError>,
    ) -> Result<Option<Self>> {
        let file = open(lock_path)?;
        match lock(&file) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(Error::io("lock", lock_path)(source)),
        }
    }

    /// Whether some process holds this lock file. A file that isn't there is held by nobody.
    pub fn is_held(lock_path: &Path) -> bool {
        File::open(lock_path)
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

fn sibling(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(".lock");
    name.into()
}

fn open(lock_path: &Path) -> Result<File> {
    fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(lock_path)
        .map_err(Error::io("open", lock_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_seen_and_released() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("config.yaml");
        let lock_path = dir.path().join("config.yaml.lock");
        assert!(!FileLock::is_held(&lock_path));
        let lock = FileLock::for_file(&target).unwrap();
        assert!(FileLock::is_held(&lock_path));
        assert!(FileLock::try_acquire(&lock_path).unwrap().is_none());
        drop(lock);
        assert!(FileLock::try_acquire(&lock_path).unwrap().is_some());
    }

    #[test]
    fn a_shared_lock_keeps_out_only_who_wants_it_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let one = FileLock::try_share(&path).unwrap();
        let two = FileLock::try_share(&path).unwrap();
        assert!(one.is_some() && two.is_some());
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop((one, two));
        let alone = FileLock::try_acquire(&path).unwrap();
        assert!(alone.is_some() && FileLock::try_share(&path).unwrap().is_none());
    }
}
