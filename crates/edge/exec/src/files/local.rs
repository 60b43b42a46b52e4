//! The files of this machine.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_types::{FileError, Stat, Workspace};

use super::{Cwd, atomic, real_path};

/// A directory with more entries than this is only looked at in part.
const MAX_NAMES: usize = 10_000;

/// Files where Hermes itself runs.
#[derive(Clone, Debug)]
pub struct LocalWorkspace {
    cwd: Cwd,
}

impl LocalWorkspace {
    pub fn new(cwd: Cwd) -> Self {
        Self { cwd }
    }
}

impl Workspace for LocalWorkspace {
    fn cwd(&self) -> PathBuf {
        self.cwd.get()
    }

    fn read<'a>(
        &'a self,
        path: &'a Path,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        blocking(path, move |path| read(path, offset, max)).boxed()
    }

    fn write<'a>(
        &'a self,
        path: &'a Path,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), FileError>> {
        let content = content.to_vec();
        blocking(path, move |path| {
            atomic::replace(&real_path(path), &content)
        })
        .boxed()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Stat, FileError>> {
        blocking(path, |path| {
            let meta = fs::metadata(path)?;
            Ok(Stat {
                size: meta.len(),
                modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                is_dir: meta.is_dir(),
            })
        })
        .boxed()
    }

    fn list<'a>(
        &'a self,
        path: &'a Path,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, FileError>> {
        blocking(path, move |path| list(path, max)).boxed()
    }
}

/// Deletes a file; a symlink goes, not its target.
// Not part of `Workspace` yet: the seam has no way to remove or rename.
pub(super) async fn remove(path: &Path) -> Result<(), FileError> {
    blocking(path, |path| fs::remove_file(path)).await
}

/// Moves a file, making the directories above its new place.
pub(super) async fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    let to = to.to_owned();
    blocking(from, move |from| {
        fs::create_dir_all(to.parent().unwrap_or(Path::new("/")))?;
        match fs::rename(from, &to) {
            Err(error) if error.kind() == ErrorKind::CrossesDevices => {
                fs::copy(from, &to)?;
                fs::remove_file(from)
            }
            done => done,
        }
    })
    .await
}

/// Files are slow and may hang: never on a thread that drives other sessions.
async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, FileError> {
    let owned = path.to_owned();
    let result = tokio::task::spawn_blocking(move || work(&owned)).await;
    let result = result.unwrap_or_else(|gone| Err(io::Error::other(gone)));
    result.map_err(|error| tell(path, &error))
}

fn read(path: &Path, offset: u64, max: usize) -> io::Result<Vec<u8>> {
    // Opening a pipe or a terminal can wait for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn list(path: &Path, max: usize) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(path)?.take(MAX_NAMES);
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names.truncate(max);
    Ok(names)
}

fn tell(path: &Path, error: &io::Error) -> FileError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => FileError::NotFound(path),
        ErrorKind::PermissionDenied => FileError::Denied(path),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FileError::Other {
            path,
            reason: "the disk is full".to_owned(),
        },
        _ => FileError::Other {
            path,
            reason: error.to_string(),
        },
    }
}
