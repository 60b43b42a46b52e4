//! The files where commands run: on this machine or inside a backend.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use futures::future::BoxFuture;

/// File access for tools. Paths are absolute, in the workspace's own terms.
pub trait Workspace: Send + Sync {
    /// Where relative paths of this session begin; `cd` in the terminal moves it.
    fn cwd(&self) -> PathBuf;

    /// At most `max` bytes from `offset` on.
    fn read<'a>(
        &'a self,
        path: &'a Path,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>>;

    /// Replaces the file as a whole: a reader sees the old content or the new. Mode and symlink stay.
    fn write<'a>(
        &'a self,
        path: &'a Path,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), FileError>>;

    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Stat, FileError>>;

    /// Where throw-away files go.
    fn temp_dir(&self) -> PathBuf {
        PathBuf::from("/tmp")
    }

    /// Names in a directory, at most `max`.
    fn list<'a>(
        &'a self,
        path: &'a Path,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, FileError>>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub size: u64,
    pub modified: SystemTime,
    pub is_dir: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("File not found: {}", .0.display())]
    NotFound(PathBuf),
    #[error("Permission denied: {}", .0.display())]
    Denied(PathBuf),
    #[error("{}: {reason}", path.display())]
    Other { path: PathBuf, reason: String },
}
