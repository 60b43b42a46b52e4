//! A log file that several processes append to, and that starts anew when it is full.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::FileLock;

/// When a log starts anew, and how many old ones stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// A line that would make the file larger goes into a new one. Zero lets it grow.
    pub max_bytes: u64,
    pub backups: u32,
}

impl Rotation {
    pub const fn megabytes(size: u64, backups: u32) -> Self {
        Self {
            max_bytes: size << 20,
            backups,
        }
    }
}

/// Who may read the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Mode 0600.
    #[default]
    Owner,
    /// Mode 0660: a managed home is shared by the service and its administrators.
    Group,
}

impl Access {
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Group => 0o660,
        }
    }

    fn dir_mode(self) -> u32 {
        match self {
            Self::Owner => 0o700,
            Self::Group => 0o770,
        }
    }
}

/// One log file, opened with its first line.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    access: Access,
    /// The file we append to, until somebody else moves it away.
    open: Mutex<Option<(FileId, File)>>,
}

impl LogFile {
    pub(super) fn new(path: PathBuf, rotation: Rotation, access: Access) -> Self {
        Self {
            path,
            rotation,
            access,
            open: Mutex::new(None),
        }
    }

    /// Appends whole lines.
    pub(super) fn append(&self, lines: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk or a vanished directory must not stop the agent, and there is nowhere left to report
        // it: an event about a failed log write would come straight back here.
        let _ = self.try_append(&mut open, lines.as_bytes());
    }

    fn try_append(&self, open: &mut Option<(FileId, File)>, lines: &[u8]) -> io::Result<()> {
        let (mut file, size) = self.current(open)?;
        if size > 0 && self.overflows(size, lines) {
            self.rotate(lines);
            (file, _) = self.current(open)?;
        }
        // In one write: the kernel then keeps lines of different processes apart.
        file.write_all(lines)
    }

    /// The file now at our path, and its size. Another process may have rotated since the last line.
    fn current<'o>(&self, open: &'o mut Option<(FileId, File)>) -> io::Result<(&'o File, u64)> {
        let on_disk = fs::metadata(&self.path).ok();
        let usable = open
            .take()
            .filter(|(id, _)| on_disk.as_ref().is_some_and(|meta| FileId::of(meta) == *id));
        let (id, file, size) = match (usable, on_disk) {
            (Some((id, file)), Some(meta)) => (id, file, meta.len()),
            _ => {
                let file = self.create()?;
                let meta = file.metadata()?;
                (FileId::of(&meta), file, meta.len())
            }
        };
        let (_, file) = open.insert((id, file));
        Ok((file, size))
    }

    fn create(&self) -> io::Result<File> {
        let open = || {
            OpenOptions::new()
                .append(true)
                .create(true)
                .mode(self.access.mode())
                .open(&self.path)
        };
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = self.path.parent().unwrap_or(Path::new("."));
                DirBuilder::new()
                    .recursive(true)
                    .mode(self.access.dir_mode())
                    .create(dir)?;
                open()?
            }
            opened => opened?,
        };
        // The umask may have taken the group's bits, and an older program may have left too many. Only the
        // owner can mend that; for everybody else the file is good enough as it is.
        if file.metadata()?.permissions().mode() & 0o777 != self.access.mode() {
            let _ = file.set_permissions(Permissions::from_mode(self.access.mode()));
        }
        Ok(file)
    }

    fn overflows(&self, size: u64, lines: &[u8]) -> bool {
        let max = self.rotation.max_bytes;
        max > 0 && size + lines.len() as u64 > max
    }

    /// Moves the full file out of the way. Failing is fine: the log grows until the next attempt.
    fn rotate(&self, lines: &[u8]) {
        let lock = FileLock::try_acquire(&rotation_lock(&self.path));
        // Somebody else is at it; waiting could hang us behind a stopped process. Without any locking on this
        // file system we go on: a lost backup is better than a log that fills the disk.
        if matches!(lock, Ok(None)) {
            return;
        }
        // Somebody else may have been at it just before we got the lock.
        if !fs::metadata(&self.path).is_ok_and(|meta| self.overflows(meta.len(), lines)) {
            return;
        }
        // Up to the first number that is free, or over the oldest.
        let free = (1..self.rotation.backups).find(|number| !backup(&self.path, *number).exists());
        for number in (1..free.unwrap_or(self.rotation.backups)).rev() {
            let _ = fs::rename(backup(&self.path, number), backup(&self.path, number + 1));
        }
        let _ = match self.rotation.backups {
            0 => fs::remove_file(&self.path),
            _ => fs::rename(&self.path, backup(&self.path, 1)),
        };
    }
}

/// One lock for all logs of a directory.
fn rotation_lock(path: &Path) -> PathBuf {
    path.with_file_name(".rotate.lock")
}

/// `agent.log.1` is the newest backup.
fn backup(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(format!(".{number}"));
    name.into()
}

/// Tells whether two handles are the same file, wherever it was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
        }
    }
}

/// The log and its backups, newest first.
pub(super) fn generations(path: &Path) -> Vec<(FileId, File)> {
    const MAX_BACKUPS: u32 = 100;
    let open = |path: &Path| {
        let file = File::open(path).ok()?;
        let id = FileId::of(&file.metadata().ok()?);
        Some((id, file))
    };
    // So that nobody renames them meanwhile. Whoever may only read the directory does without.
    let _lock = FileLock::acquire(&rotation_lock(path));
    let backups = (1..=MAX_BACKUPS).map_while(|number| open(&backup(path, number)));
    open(path).into_iter().chain(backups).collect()
}
