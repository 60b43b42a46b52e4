//! What the agents of this process know about files: who read what, who wrote what, who repeats itself.

mod locks;
mod repeats;
mod stamps;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hermes_types::{SessionId, Stat};
use tokio::sync::OwnedMutexGuard;

use self::locks::Locks;
use self::repeats::Repeats;
pub(super) use self::repeats::{Region, Seen};
use self::stamps::Stamps;

/// Shared by all file tools of the process.
#[derive(Debug)]
pub struct FileState {
    watch: Watch,
    locks: Locks,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    stamps: Stamps,
    repeats: Repeats,
}

/// Whether agents are warned about each other's writes; `HERMES_DISABLE_FILE_STATE_GUARD` turns it off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    #[default]
    On,
    Off,
}

/// How a file was when somebody looked: two of these differ when the file was changed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    modified: SystemTime,
    size: u64,
}

impl From<Stat> for Version {
    fn from(stat: Stat) -> Self {
        Self {
            modified: stat.modified,
            size: stat.size,
        }
    }
}

/// How much of a file a read has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Whole,
    Partial,
}

impl FileState {
    pub fn new(watch: Watch) -> Self {
        Self {
            watch,
            locks: Locks::default(),
            inner: Mutex::default(),
        }
    }

    /// A tool other than `read_file` and `search_files` runs: what looked like a loop isn't one.
    pub fn other_tool_called(&self, session: &SessionId) {
        self.lock_inner().repeats.interrupted(session);
    }

    /// The session is over.
    pub fn closed(&self, session: &SessionId) {
        let mut inner = self.lock_inner();
        inner.repeats.forget(session);
        inner.stamps.forget(session);
    }

    /// What `session` has read and others have written since then: what it knows of these files is old.
    pub fn stale(&self, session: &SessionId, since: SystemTime) -> Vec<PathBuf> {
        match self.watch {
            Watch::On => self.lock_inner().stamps.changed_by_others(session, since),
            Watch::Off => Vec::new(),
        }
    }

    /// The conversation was made shorter: what was read is gone from it and may be asked for again.
    pub(super) fn compacted(&self, session: &SessionId) {
        self.lock_inner().repeats.forget(session);
    }

    /// Waits until nobody else changes these files. Sorted, so that two callers cannot wait for each other.
    pub(super) async fn lock(&self, paths: Vec<PathBuf>) -> Vec<OwnedMutexGuard<()>> {
        self.locks.take(paths).await
    }

    /// Whether this region was delivered before and is still current.
    pub(super) fn seen(&self, session: &SessionId, region: &Region, now: Version) -> Seen {
        self.lock_inner().repeats.seen(session, region, now)
    }

    /// A read has delivered its region.
    pub(super) fn was_read(
        &self,
        session: &SessionId,
        region: Region,
        version: Version,
        view: View,
    ) {
        let mut inner = self.lock_inner();
        let path = region.path.clone();
        inner.stamps.was_read(session, path, version, view);
        inner.repeats.delivered(session, region, version);
    }

    /// A script has read it, so that its session knows the file; the model was not shown any of it.
    pub(super) fn was_read_unseen(
        &self,
        session: &SessionId,
        path: PathBuf,
        version: Version,
        view: View,
    ) {
        let mut inner = self.lock_inner();
        inner.stamps.was_read(session, path, version, view);
    }

    /// How often in a row this request has had this answer.
    pub(super) fn times_in_a_row(&self, session: &SessionId, request: &str, answer: &str) -> u32 {
        self.lock_inner()
            .repeats
            .times_in_a_row(session, request, answer)
    }

    pub(super) fn was_written(&self, session: &SessionId, path: &Path, version: Version) {
        let mut inner = self.lock_inner();
        inner
            .stamps
            .was_written(session, path.to_owned(), version, SystemTime::now());
        inner.repeats.was_written(path);
    }

    /// The file is gone; if another takes its place, nobody has read that one.
    pub(super) fn was_removed(&self, path: &Path) {
        let mut inner = self.lock_inner();
        inner.stamps.was_removed(path);
        inner.repeats.was_written(path);
    }

    /// Why a write to an existing file may go wrong; it is never refused for that.
    pub(super) fn warning(&self, session: &SessionId, path: &Path, now: Version) -> Option<String> {
        match self.watch {
            Watch::On => self.lock_inner().stamps.warning(session, path, now),
            Watch::Off => None,
        }
    }

    fn lock_inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
