//! What the store forgets: projects that are gone or were left, garbage, and the oldest when it is too large.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::project::{Record, now};
use crate::status::{Archive, size_of};
use crate::store::Checkpoints;
use crate::{Limits, Orphans, Result};

/// There is garbage in the store.
const GARBAGE: &str = ".gc-pending";
/// How often one more is taken from every project before the store stays as large as it is.
const MAX_ROUNDS: usize = 20;

/// What was forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Directories that are gone.
    pub orphans: Vec<PathBuf>,
    /// Directories nobody worked in for long.
    pub stale: Vec<PathBuf>,
    /// Archives from before there was one store.
    pub archives: usize,
    /// Snapshots that were too many for the store.
    pub dropped: usize,
    pub before: u64,
    pub after: u64,
}

impl Pruned {
    /// What became of each, a line each.
    pub fn lines(&self) -> Vec<String> {
        let forgotten = |what: &'static str, dirs: &[PathBuf]| -> Vec<String> {
            let line = |dir: &PathBuf| format!("forgotten ({what}): {}", dir.display());
            dirs.iter().map(line).collect()
        };
        let mut lines = forgotten("gone", &self.orphans);
        lines.extend(forgotten("left", &self.stale));
        for (what, count) in [
            ("archives removed", self.archives),
            ("oldest checkpoints dropped", self.dropped),
        ] {
            lines.extend((count > 0).then(|| format!("{what}: {count}")));
        }
        lines
    }
}

impl Checkpoints {
    /// Looks after the store for as long as it is polled: tidies up at most once in a while, and when it was told
    /// that the store has become too large. Does nothing if checkpoints are off.
    pub async fn tend(self: Arc<Self>) {
        if !self.is_on {
            return;
        }
        if let Err(error) = self.prune_if_due().await {
            tracing::warn!("the checkpoints were not tidied up: {error}");
        }
        loop {
            self.full.notified().await;
            let mut pruned = Pruned::default();
            if let Err(error) = self.shrink_alone(&mut pruned).await {
                tracing::warn!("the checkpoints stay larger than they should be: {error}");
            }
        }
    }

    /// Tidies up, unless that was done lately.
    pub async fn prune_if_due(&self) -> Result<Option<Pruned>> {
        match self.is_due() {
            true => self.prune(&self.limits).await.map(Some),
            false => Ok(None),
        }
    }

    /// Forgets what these limits don't allow.
    pub async fn prune(&self, limits: &Limits) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        if !self.base.exists() {
            return Ok(pruned);
        }
        let _alone = self.alone().await?;
        pruned.before = size_of(&self.base).await;
        if self.exists() {
            self.forget(limits, &mut pruned).await?;
            self.shrink(limits.total, &mut pruned).await?;
        }
        for archive in self.archives() {
            if is_older(&archive.path, limits.retention) && archive.remove().await.is_ok() {
                pruned.archives += 1;
            }
        }
        pruned.after = size_of(&self.base).await;
        let text = format!("{:.3}", now());
        hermes_home::replace_file(&self.base.join(".last_prune"), text, &self.modes)?;
        tracing::info!("checkpoints tidied up: {pruned:?}");
        Ok(pruned)
    }

    /// When the store was last tidied up, in seconds since 1970.
    pub(crate) fn last_prune(&self) -> Option<f64> {
        let path = self.base.join(".last_prune");
        let written = fs::read_to_string(&path).ok()?;
        written.trim().parse().ok().or_else(|| {
            let changed = fs::metadata(&path).ok()?.modified().ok()?;
            let since = changed.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(since.as_secs_f64())
        })
    }

    fn is_due(&self) -> bool {
        let Some(interval) = self.limits.interval.filter(|_| self.base.exists()) else {
            return false;
        };
        // A clock that was set back must not keep it from ever happening again.
        let passed = self.last_prune().map(|last| (now() - last).abs());
        self.has_git() && passed.is_none_or(|passed| passed >= interval.as_secs_f64())
    }

    /// Projects that are gone, or that nobody worked in.
    async fn forget(&self, limits: &Limits, pruned: &mut Pruned) -> Result<()> {
        let refs = self.references().await?;
        let known = self.records();
        let mut hashes: Vec<&String> = refs.keys().chain(known.keys()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        for hash in hashes {
            let record = known.get(hash);
            let touched = record.map(|record| record.last_touch);
            let touched = touched.or_else(|| refs.get(hash).copied()).unwrap_or(0.0);
            let stale = limits
                .retention
                .is_some_and(|most| now() - touched > most.as_secs_f64());
            let orphan = limits.orphans == Orphans::Delete && record.is_some_and(Record::is_orphan);
            let dir = record
                .map(|record| PathBuf::from(&record.workdir))
                .unwrap_or_default();
            match (orphan, stale) {
                (true, _) => pruned.orphans.push(dir),
                (_, true) => pruned.stale.push(dir),
                _ => continue,
            }
            self.forget_one(hash).await?;
        }
        Ok(())
    }

    async fn forget_one(&self, hash: &str) -> Result<()> {
        let reference = format!("refs/hermes/{hash}");
        self.git()?
            .call(&["update-ref", "-d", &reference])
            .run()
            .await?;
        self.mark_garbage();
        let index = self.store().join("indexes").join(hash);
        let record = self.record(hash);
        for path in [index, record.with_extension("lock"), record] {
            // Not all of them need to be there.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// Every project with snapshots, and when the latest was taken.
    pub(crate) async fn references(&self) -> Result<HashMap<String, f64>> {
        let ask = [
            "for-each-ref",
            "--format=%(refname:lstrip=2) %(committerdate:unix)",
            "refs/hermes",
        ];
        let text = self.git()?.call(&ask).run().await?.text();
        let pair = |line: &str| {
            let (hash, at) = line.split_once(' ')?;
            Some((hash.to_owned(), at.parse().ok()?))
        };
        Ok(text.lines().filter_map(pair).collect())
    }

    pub(crate) fn records(&self) -> HashMap<String, Record> {
        let entries = fs::read_dir(self.store().join("projects")).into_iter();
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .filter_map(|path| {
                let hash = path.file_stem()?.to_str()?.to_owned();
                Some((hash, Record::read(&path)?))
            })
            .collect()
    }

    async fn shrink_alone(&self, pruned: &mut Pruned) -> Result<()> {
        let _alone = self.alone().await?;
        self.shrink(self.limits.total, pruned).await
    }

    /// Throws the garbage out, and then the oldest snapshot of every project until the store is small enough.
    /// Needs the store alone: what another git has just written looks like garbage.
    async fn shrink(&self, total: Option<u64>, pruned: &mut Pruned) -> Result<()> {
        if self.store().join(GARBAGE).exists() {
            self.collect().await?;
        }
        let Some(total) = total else {
            return Ok(());
        };
        for _ in 0..MAX_ROUNDS {
            if size_of(&self.store()).await <= total {
                return Ok(());
            }
            let mut dropped = 0;
            for hash in self.references().await?.into_keys() {
                let reference = format!("refs/hermes/{hash}");
                let count = self.git()?.call(&["rev-list", "--count", &reference]);
                let count: usize = count.line().await?.parse().unwrap_or(0);
                if count > 1 {
                    self.keep(&reference, count - 1).await?;
                    dropped += 1;
                }
            }
            self.collect().await?;
            pruned.dropped += dropped;
            if dropped == 0 {
                break;
            }
        }
        Ok(())
    }

    async fn collect(&self) -> Result<()> {
        let git = self.git()?;
        let gc = ["gc", "--quiet", "--prune=now"];
        git.call(&gc).times(6).run().await?;
        // Git takes a repository without it for none.
        let refs = self.store().join("refs/hermes");
        fs::create_dir_all(&refs).map_err(crate::Error::io(&refs))?;
        // Tried again if it stays.
        let _ = fs::remove_file(self.store().join(GARBAGE));
        Ok(())
    }

    pub(crate) fn mark_garbage(&self) {
        // Without the mark it is thrown out later, with other garbage.
        let _ = fs::write(self.store().join(GARBAGE), "");
    }

    /// Sees to it that a store that has become too large is made smaller, by whoever tends it.
    pub(crate) async fn weigh(&self) {
        if let Some(total) = self.limits.total
            && size_of(&self.store()).await > total
        {
            self.full.notify_one();
        }
    }

    pub(crate) fn archives(&self) -> Vec<Archive> {
        let entries = fs::read_dir(&self.base).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("legacy-"))
            .map(|entry| entry.path())
            .collect();
        paths.sort_unstable();
        paths.into_iter().map(|path| Archive { path }).collect()
    }
}

fn is_older(path: &Path, most: Option<Duration>) -> bool {
    let changed = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let age = changed.and_then(|changed| changed.elapsed().ok());
    most.zip(age).is_some_and(|(most, age)| age > most)
}
