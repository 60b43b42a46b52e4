//! Things to do once per process and file: a warning, an automatic repair.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

/// The one process-wide state of the crate: it belongs to the process, not to any handle, because
/// the same file may be opened again and again.
static DONE: LazyLock<Mutex<HashSet<(&'static str, PathBuf)>>> = LazyLock::new(Mutex::default);

/// True for the first caller with this `what` and `path`, false for all others.
pub(crate) fn first_time(what: &'static str, path: &Path) -> bool {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    done.insert((what, path.to_owned()))
}
