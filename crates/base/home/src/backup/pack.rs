//! `hermes backup`: the root with all profiles as one zip.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::{CopyDatabase, Progress, is_database};
use crate::{Error, Result};

/// What went into the archive.
#[derive(Debug)]
pub struct Packed {
    pub path: PathBuf,
    pub files: usize,
    pub bytes: u64,
    /// What could not be read, with the reason; the rest is in.
    pub skipped: Vec<String>,
}

/// Programs, caches and other backups: big, and not the owner's data.
const SKIPPED_DIRS: &[&str] = &[
    "hermes-agent",
    "__pycache__",
    ".git",
    "node_modules",
    "backups",
    "checkpoints",
    ".venv",
    "venv",
    ".cache",
];
const SKIPPED_ENDINGS: &[&str] = &[
    ".pyc",
    ".pyo",
    ".db-wal",
    ".db-shm",
    ".db-journal",
    ".sock",
    ".partial",
];
const SKIPPED_FILES: &[&str] = &["gateway.pid", "cron.pid"];

/// `hermes-backup-YYYY-MM-DD-HHMMSS.zip`
pub fn default_name(now: &Zoned) -> String {
    format!("hermes-backup-{}.zip", now.strftime("%Y-%m-%d-%H%M%S"))
}

/// Writes the archive beside its final name first, so that a backup is whole or not there.
pub fn pack(
    root: &Path,
    target: &Path,
    copy: CopyDatabase<'_>,
    progress: Progress<'_>,
) -> Result<Packed> {
    let partial = PathBuf::from(format!("{}.partial", target.display()));
    let packed = write(root, &partial, target, copy, progress).and_then(|mut packed| {
        fs::rename(&partial, target).map_err(Error::io("write", target))?;
        packed.path = target.to_owned();
        Ok(packed)
    });
    if packed.is_err() {
        let _ = fs::remove_file(&partial); // the failure itself is reported
    }
    packed
}

fn write(
    root: &Path,
    partial: &Path,
    target: &Path,
    copy: CopyDatabase<'_>,
    progress: Progress<'_>,
) -> Result<Packed> {
    // It holds every secret of the home.
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(partial)
        .map_err(Error::io("create", partial))?;
    let mut writer = Writer {
        root,
        zip: ZipWriter::new(file),
        copy,
        packed: Packed {
            path: target.to_owned(),
            files: 0,
            bytes: 0,
            skipped: Vec::new(),
        },
    };
    if let Err(error) = writer.add_all(partial, target, progress) {
        // Dropping an unfinished archive prints to stderr; one descriptor until the process ends is cheaper.
        std::mem::forget(writer.zip);
        return Err(error);
    }
    let Writer { zip, packed, .. } = writer;
    let file = zip
        .finish()
        .map_err(|error| Error::io("write", partial)(error.into()))?;
    file.sync_all().map_err(Error::io("write", partial))?;
    Ok(packed)
}

struct Writer<'a> {
    root: &'a Path,
    zip: ZipWriter<File>,
    copy: CopyDatabase<'a>,
    packed: Packed,
}

impl Writer<'_> {
    fn add_all(&mut self, partial: &Path, target: &Path, progress: Progress<'_>) -> Result<()> {
        let mut pending = vec![PathBuf::new()];
        while let Some(dir) = pending.pop() {
            for (relative, is_dir) in self.read_dir(&dir).unwrap_or_default() {
                let path = self.root.join(&relative);
                if is_dir {
                    pending.push(relative);
                } else if path != target && path != partial {
                    progress(&relative);
                    self.add(&relative)?;
                }
            }
        }
        Ok(())
    }

    /// What is wanted of a directory, in name order; symlinks are not followed and not kept.
    fn read_dir(&mut self, dir: &Path) -> Option<Vec<(PathBuf, bool)>> {
        let entries = match fs::read_dir(self.root.join(dir)) {
            Ok(entries) => entries,
            Err(error) => {
                self.packed
                    .skipped
                    .push(format!("{}: {error}", dir.display()));
                return None;
            }
        };
        let mut wanted: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let kind = entry.file_type().ok()?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let keep = if kind.is_dir() {
                    !SKIPPED_DIRS.contains(&name.as_str())
                } else {
                    kind.is_file()
                        && !SKIPPED_FILES.contains(&name.as_str())
                        && !SKIPPED_ENDINGS.iter().any(|end| name.ends_with(end))
                };
                keep.then(|| (dir.join(entry.file_name()), kind.is_dir()))
            })
            .collect();
        wanted.sort();
        Some(wanted)
    }

    fn add(&mut self, relative: &Path) -> Result<()> {
        let path = self.root.join(relative);
        let copied = is_database(&path)
            .then(|| self.database_copy(&path))
            .flatten();
        let source = copied.as_deref().unwrap_or(&path);
        let opened = File::open(source).and_then(|file| file.metadata().map(|meta| (file, meta)));
        let added = match opened {
            Ok((mut file, meta)) => self.store(relative, &mut file, &meta),
            Err(error) => {
                self.packed
                    .skipped
                    .push(format!("{}: {error}", relative.display()));
                Ok(())
            }
        };
        if let Some(copied) = copied {
            let _ = fs::remove_file(copied); // a leftover in the temp directory harms nobody
        }
        added
    }

    /// A consistent copy of a live database; `None` (and a raw copy) if SQLite can't make one.
    fn database_copy(&mut self, path: &Path) -> Option<PathBuf> {
        let temp =
            std::env::temp_dir().join(format!("hermes-backup-{:016x}.db", fastrand::u64(..)));
        match (self.copy)(path, &temp) {
            Ok(()) => Some(temp),
            Err(reason) => {
                let _ = fs::remove_file(&temp); // may not have been created
                self.packed
                    .skipped
                    .push(format!("{}: copied as it is ({reason})", path.display()));
                None
            }
        }
    }

    fn store(&mut self, relative: &Path, file: &mut File, meta: &fs::Metadata) -> Result<()> {
        const FOUR_GIB: u64 = u32::MAX as u64;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(meta.permissions().mode() & 0o777)
            .large_file(meta.len() >= FOUR_GIB)
            .last_modified_time(modified(meta));
        let failed = Error::io("write", &self.packed.path);
        let stored = self
            .zip
            .start_file(relative.to_string_lossy(), options)
            .map_err(io::Error::from)
            .and_then(|()| io::copy(file, &mut self.zip));
        self.packed.bytes += stored.map_err(failed)?;
        self.packed.files += 1;
        Ok(())
    }
}

fn modified(meta: &fs::Metadata) -> DateTime {
    meta.modified()
        .ok()
        .and_then(|time| jiff::Timestamp::try_from(time).ok())
        .map(crate::clock::local)
        .and_then(|t| {
            let year = u16::try_from(t.year()).ok()?;
            let part = |n: i8| u8::try_from(n).ok();
            let (month, day) = (part(t.month())?, part(t.day())?);
            DateTime::from_date_and_time(
                year,
                month,
                day,
                part(t.hour())?,
                part(t.minute())?,
                part(t.second())?,
            )
            .ok()
        })
        .unwrap_or_default()
}
