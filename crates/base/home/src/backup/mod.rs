//! Backups of a whole root: a zip to keep elsewhere, and quick snapshots beside the data.

mod pack;
mod restore;
mod snapshot;

use std::path::Path;

pub use pack::{Packed, default_name, pack};
pub use restore::{Restored, restore};
pub use snapshot::{
    Snapshot, list as snapshots, restore as restore_snapshot, take as take_snapshot,
};

/// Copies a SQLite file consistently, also over an existing one and while others write; the store knows how.
pub type CopyDatabase<'a> = &'a dyn Fn(&Path, &Path) -> Result<(), String>;

/// Told of each file before it is handled, so that long runs can show where they are.
pub type Progress<'a> = &'a mut dyn FnMut(&Path);

/// Files that describe a running process, not state worth keeping.
const RUNTIME: &[&str] = &[
    "gateway.pid",
    "gateway.lock",
    "gateway_state.json",
    "cron.pid",
    "processes.json",
    "auth.lock",
];

fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "db")
}
