//! Where a session is: one record that the terminal moves and the file tools follow.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A session's current directory. Clones are the same record.
#[derive(Clone, Debug)]
pub struct Cwd(Arc<Mutex<PathBuf>>);

impl Cwd {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Mutex::new(dir.into())))
    }

    /// Begins at the first candidate that names a place. Settings may also hold words (`auto`, `cwd`, `.`) that
    /// mean "wherever you are"; those and other relative paths are passed over.
    pub fn first_of<'a>(candidates: impl IntoIterator<Item = &'a str>, otherwise: &Path) -> Self {
        let named = candidates
            .into_iter()
            .map(Path::new)
            .find(|dir| dir.is_absolute());
        Self::new(named.unwrap_or(otherwise))
    }

    pub fn get(&self) -> PathBuf {
        self.lock().clone()
    }

    pub fn set(&self, dir: impl Into<PathBuf>) {
        *self.lock() = dir.into();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_no_place_are_passed_over() {
        let check = |candidates: &[&str], expected: &str| {
            let cwd = Cwd::first_of(candidates.iter().copied(), Path::new("/process"));
            assert_eq!(cwd.get(), Path::new(expected), "{candidates:?}");
        };
        check(&["", ".", "auto", "cwd", "src", "/work", "/other"], "/work");
        check(&["auto"], "/process");
    }

    #[test]
    fn clones_move_together() {
        let cwd = Cwd::new("/a");
        cwd.clone().set("/b");
        assert_eq!(cwd.get(), Path::new("/b"));
    }
}
