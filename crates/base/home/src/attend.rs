//! Which conversation each running chat has open, so that whoever opens the same one can be told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use crate::{Error, FileLock, Home, Result};

/// A file that nobody holds is of a process that was killed; a younger one may be about to be held.
const STALE: Duration = Duration::from_secs(60);

/// As long as it lives, others see that this process has a conversation open: a file of its own in `<home>/open`,
/// locked, with the name of the conversation in it.
#[derive(Debug)]
pub struct Attendance {
    path: PathBuf,
    conversation: String,
    _lock: FileLock,
}

impl Attendance {
    pub fn begin(home: &Home, conversation: &str) -> Result<Self> {
        let dir = home.dir().join("open");
        home.modes()
            .create_dir(&dir)
            .map_err(Error::io("create", &dir))?;
        // Processes of two containers may have the same number.
        let path = dir.join(format!("{}-{:08x}", process::id(), fastrand::u32(..)));
        let lock = FileLock::acquire(&path)?;
        let attendance = Self {
            path,
            conversation: conversation.to_owned(),
            _lock: lock,
        };
        fs::write(&attendance.path, conversation).map_err(Error::io("write", &attendance.path))?;
        Ok(attendance)
    }

    /// The numbers of other processes that have the same conversation open.
    pub fn others(&self) -> Vec<String> {
        let dir = self.path.parent().unwrap_or(&self.path);
        // What cannot be read tells of nobody.
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let others = paths.filter(|path| *path != self.path && is_there(path));
        let same = others.filter(|path| {
            fs::read_to_string(path).is_ok_and(|conversation| conversation == self.conversation)
        });
        let number = |path: PathBuf| {
            let name = path.file_name()?.to_str()?;
            Some(name.split('-').next()?.to_owned())
        };
        same.filter_map(number).collect()
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        // Whoever looks next removes what is left.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether its process still runs. What one left behind that was killed is removed.
fn is_there(path: &Path) -> bool {
    if FileLock::is_held(path) {
        return true;
    }
    let written = fs::metadata(path).and_then(|meta| meta.modified());
    let age = written.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
    if age.is_ok_and(|age| age >= STALE) {
        // Somebody else may have been faster.
        let _ = fs::remove_file(path);
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::{Env, Resolved};

    #[test]
    fn who_opens_the_same_conversation_is_told_of_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_string_lossy().into_owned();
        let env = Env::from([("HERMES_HOME", path.as_str()), ("HERMES_CONTAINER", "0")]);
        let home = Resolved::from(None, &env).unwrap().home(&env);
        let first = Attendance::begin(&home, "one").unwrap();
        let other = Attendance::begin(&home, "two").unwrap();
        assert!(first.others().is_empty() && other.others().is_empty());
        let second = Attendance::begin(&home, "one").unwrap();
        assert_eq!(second.others(), [process::id().to_string()]);
        assert_eq!(first.others().len(), 1);
        drop(first);
        assert!(second.others().is_empty());

        // One that was killed is nobody, and forgotten in the end.
        let left = dir.path().join("open/4711-00000000");
        fs::write(&left, "one").unwrap();
        assert!(second.others().is_empty() && left.exists());
        let long_ago = SystemTime::now() - 2 * STALE;
        File::open(&left).unwrap().set_modified(long_ago).unwrap();
        assert!(second.others().is_empty() && !left.exists());
    }
}
