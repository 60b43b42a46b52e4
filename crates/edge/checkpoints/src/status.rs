//! What the store holds, whether it can work, and throwing it all away.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_types::Finding;
use jiff::Timestamp;
use serde::Serialize;

use crate::store::Checkpoints;
use crate::{Error, Result};

/// The store at a glance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    pub dir: PathBuf,
    /// Bytes, archives included.
    pub size: u64,
    /// Latest first.
    pub projects: Vec<ProjectStatus>,
    /// From before there was one store.
    pub archives: Vec<Archive>,
    pub last_prune: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectStatus {
    pub dir: PathBuf,
    pub exists: bool,
    pub snapshots: usize,
    pub last_touch: Timestamp,
}

/// Repositories of the time when every project had one of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Archive {
    pub path: PathBuf,
}

impl Status {
    /// Directories that are there now.
    pub fn existing(&self) -> Vec<PathBuf> {
        let there = self.projects.iter().filter(|project| project.exists);
        there.map(|project| project.dir.clone()).collect()
    }
}

impl Archive {
    pub(crate) async fn remove(&self) -> Result<()> {
        let removed = tokio::fs::remove_dir_all(&self.path).await;
        removed.map_err(Error::io(&self.path))
    }
}

impl Checkpoints {
    pub async fn status(&self) -> Result<Status> {
        let mut projects = Vec::new();
        if self.exists() {
            // Without git nobody can count them, but they can still be removed.
            let refs = match self.has_git() {
                true => self.references().await?,
                false => HashMap::new(),
            };
            for (hash, record) in self.records() {
                let snapshots = match refs.contains_key(&hash) {
                    true => self.count(&hash).await?,
                    false => 0,
                };
                let dir = PathBuf::from(record.workdir);
                projects.push(ProjectStatus {
                    exists: dir.is_dir(),
                    dir,
                    snapshots,
                    last_touch: at(record.last_touch),
                });
            }
        }
        projects.sort_by(|a, b| (b.last_touch, &a.dir).cmp(&(a.last_touch, &b.dir)));
        Ok(Status {
            dir: self.base.clone(),
            size: size_of(&self.base).await,
            projects,
            archives: self.archives(),
            last_prune: self.last_prune().map(at),
        })
    }

    async fn count(&self, hash: &str) -> Result<usize> {
        let reference = format!("refs/hermes/{hash}");
        let count = self.git()?.call(&["rev-list", "--count", &reference]);
        Ok(count.line().await?.parse().unwrap_or(0))
    }

    /// Removes all checkpoints of all projects, archives too; gives how many bytes that were.
    pub async fn clear(&self) -> Result<u64> {
        if !self.base.exists() {
            return Ok(0);
        }
        let _alone = self.alone().await?;
        let size = size_of(&self.base).await;
        let store = self.store();
        if store.exists() {
            // Gone at once for everybody; what a crash leaves of it is an archive like others.
            let aside = self
                .base
                .join(format!("legacy-cleared-{}", std::process::id()));
            fs::rename(&store, &aside).map_err(Error::io(&store))?;
        }
        for archive in self.archives() {
            archive.remove().await?;
        }
        // Whatever else is there is not ours.
        let _ = fs::remove_file(self.base.join(".last_prune"));
        Ok(size)
    }

    /// Removes what is left from before there was one store; gives how many bytes that were.
    pub async fn clear_legacy(&self) -> Result<u64> {
        let mut size = 0;
        for archive in self.archives() {
            size += size_of(&archive.path).await;
            archive.remove().await?;
        }
        Ok(size)
    }

    /// A line for `hermes doctor`, for those who have turned checkpoints on. Blocks.
    pub fn finding(&self) -> Finding {
        if !self.has_git() {
            return Finding::warning(
                "checkpoints are on, but there is no git",
                "files that are changed cannot be brought back",
                "install git, or run `hermes config set checkpoints.enabled false`",
            );
        }
        match self.exists() {
            false => Finding::ok("checkpoints are on; none were needed yet"),
            true => Finding::ok(format!(
                "checkpoints are on: {} projects, {} MB",
                self.records().len(),
                size(&self.base) >> 20
            )),
        }
    }
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_millisecond((seconds * 1000.0) as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// All bytes below a directory.
pub(crate) async fn size_of(dir: &Path) -> u64 {
    let dir = dir.to_owned();
    let counted = tokio::task::spawn_blocking(move || size(&dir)).await;
    // Only a runtime that shuts down refuses the work; nobody reads the answer then.
    counted.unwrap_or(0)
}

fn size(dir: &Path) -> u64 {
    let mut waiting = vec![dir.to_owned()];
    let mut total = 0;
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => waiting.push(entry.path()),
                Ok(meta) => total += meta.len(),
                // It went away meanwhile.
                Err(_) => {}
            }
        }
    }
    total
}
