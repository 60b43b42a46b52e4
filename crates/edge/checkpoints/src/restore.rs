//! The way back: files get the content a snapshot holds. Nothing is deleted.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use crate::history::Checkpoint;
use crate::project::Project;
use crate::store::Checkpoints;
use crate::survey::pathspecs;
use crate::{Error, Result};

/// How much of a snapshot is brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'p> {
    Everything,
    /// One file, or what lies in one directory: relative to the project's.
    Path(&'p str),
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub dir: PathBuf,
    pub to: Checkpoint,
    /// Files that have the content of the snapshot again.
    pub written: Vec<PathBuf>,
    /// Files that were made after it; they stay.
    pub later: Vec<PathBuf>,
    /// Files that could not be brought back, because something else is in their place.
    pub blocked: Vec<PathBuf>,
}

/// A file that differs between now and then.
struct Change {
    path: PathBuf,
    /// Its mode then; `None`: it was not there.
    then: Option<u32>,
}

const NONE: u32 = 0;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

impl Checkpoints {
    /// Brings back the snapshot with this number or hash, after taking one of how things are.
    pub async fn restore(&self, dir: &Path, which: &str, scope: Scope<'_>) -> Result<Restored> {
        let wanted = match scope {
            Scope::Everything => None,
            Scope::Path(path) => Some(inside(path)?),
        };
        let project = self.fit(dir)?;
        let to = self.find(&project, which).await?;
        let _locks = self.enter(&project).await?;
        let unsaved = |error| Error::Unsaved(Box::new(error));
        self.stage(&project).await.map_err(unsaved)?;
        let changes = self.changes(&project, &to, wanted.as_deref()).await?;
        if let (Some(path), true) = (&wanted, changes.is_empty()) {
            self.is_in(&to, path).await?;
        }
        if changes.iter().all(|change| change.then.is_none()) {
            return Ok(sorted(&project, to, changes));
        }
        let reason = format!("pre-rollback snapshot (restoring to {})", to.short());
        self.snapshot(&project, &reason).await.map_err(unsaved)?;
        let restored = self.put_back(&project, to, changes).await;
        // Only now: the one that was wanted may be among the oldest.
        self.tidy(&project).await;
        restored
    }

    /// How the files of the index differ from a snapshot.
    async fn changes(
        &self,
        project: &Project,
        to: &Checkpoint,
        wanted: Option<&Path>,
    ) -> Result<Vec<Change>> {
        let diff = [
            "diff-index",
            "--cached",
            "-r",
            "-z",
            "--raw",
            "-R",
            "--no-renames",
            &to.hash,
        ];
        let said = self.on(project, &diff)?.run().await?;
        let mut changes = Vec::new();
        let mut parts = said.output.split(|byte| *byte == 0);
        while let (Some(head), Some(name)) =
            (parts.next().filter(|head| !head.is_empty()), parts.next())
        {
            // `:100644 100755 <from> <to> M`; turned round, so that `to` is then.
            let mode = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
            let mode = std::str::from_utf8(mode).unwrap_or_default();
            let mode = u32::from_str_radix(mode, 8).unwrap_or(NONE);
            changes.push(Change {
                path: PathBuf::from(OsStr::from_bytes(name)),
                then: Some(mode).filter(|mode| *mode != NONE),
            });
        }
        changes.retain(|change| wanted.is_none_or(|wanted| change.path.starts_with(wanted)));
        Ok(changes)
    }

    /// Whether a snapshot has this path at all.
    async fn is_in(&self, to: &Checkpoint, path: &Path) -> Result<()> {
        let file = path.to_string_lossy().into_owned();
        let ask = ["ls-tree", "--name-only", "-z", &to.hash, "--", &file];
        match self.git()?.call(&ask).line().await?.is_empty() {
            true => Err(Error::NotInIt {
                file,
                hash: to.short().to_owned(),
            }),
            false => Ok(()),
        }
    }

    async fn put_back(
        &self,
        project: &Project,
        to: Checkpoint,
        changes: Vec<Change>,
    ) -> Result<Restored> {
        let modes: Vec<_> = changes
            .iter()
            .filter_map(|change| kept_mode(&project.dir, change))
            .collect();
        let restored = sorted(project, to, changes);
        if restored.written.is_empty() {
            return Ok(restored);
        }
        // What is the same in both keeps what the index knows of it.
        let read = ["read-tree", "-m", &restored.to.hash];
        self.on(project, &read)?.run().await?;
        let write = self.on(project, &["checkout-index", "-f", "-u", "-z", "--stdin"])?;
        let write = write.fed(pathspecs("", &restored.written)).times(2);
        write.run().await?;
        for (path, mode) in modes {
            // Git makes files anew, as everybody may read them.
            fs::set_permissions(&path, mode).map_err(Error::io(&path))?;
        }
        Ok(restored)
    }
}

/// What is to be written, what stays, and what is in the way.
fn sorted(project: &Project, to: Checkpoint, changes: Vec<Change>) -> Restored {
    let mut sorted = Restored {
        dir: project.dir.clone(),
        to,
        written: Vec::new(),
        later: Vec::new(),
        blocked: Vec::new(),
    };
    for change in changes {
        let list = match change.then {
            None => &mut sorted.later,
            Some(_) if is_free(&project.dir, &change.path) => &mut sorted.written,
            Some(_) => &mut sorted.blocked,
        };
        list.push(change.path);
    }
    sorted
}

/// Whether a file can be put there without removing a directory, or writing through a link to somewhere else.
fn is_free(dir: &Path, path: &Path) -> bool {
    let above = path
        .ancestors()
        .skip(1)
        .filter(|part| !part.as_os_str().is_empty());
    let is_dir = |path: &Path| {
        fs::symlink_metadata(dir.join(path))
            .ok()
            .map(|meta| meta.is_dir())
    };
    above.map(is_dir).all(|found| found.unwrap_or(true)) && is_dir(path) != Some(true)
}

/// The permissions a file has now, with the right to run it as it was then.
fn kept_mode(dir: &Path, change: &Change) -> Option<(PathBuf, Permissions)> {
    if !is_free(dir, &change.path) {
        return None;
    }
    let path = dir.join(&change.path);
    let now = fs::symlink_metadata(&path)
        .ok()
        .filter(fs::Metadata::is_file)?;
    let (now, then) = (now.permissions().mode() & 0o7777, change.then?);
    if then == LINK {
        return None;
    }
    let plain = now & !0o111;
    let mode = match then == EXECUTABLE {
        true => plain | (plain & 0o444) >> 2,
        false => plain,
    };
    Some((path, Permissions::from_mode(mode)))
}

/// A path that stays inside, without `.` and `..`.
fn inside(path: &str) -> Result<PathBuf> {
    let mut clean = PathBuf::new();
    for part in Path::new(path).components() {
        let stays = match part {
            Component::Normal(name) => {
                clean.push(name);
                true
            }
            Component::ParentDir => clean.pop(),
            Component::CurDir => true,
            Component::RootDir | Component::Prefix(_) => false,
        };
        if !stays {
            return Err(Error::Outside(path.to_owned()));
        }
    }
    match clean.as_os_str().is_empty() {
        true => Err(Error::Outside(path.to_owned())),
        false => Ok(clean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(inside(path).ok(), expected.map(PathBuf::from), "{path}");
        };
        check("a/b", Some("a/b"));
        check("./a/../b", Some("b"));
        check("-x", Some("-x"));
        for path in ["", ".", "..", "a/../..", "../a", "/etc/passwd"] {
            check(path, None);
        }
    }
}
