//! The snapshots of a project, and how they differ from now.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::project::Project;
use crate::store::Checkpoints;
use crate::take::fields;
use crate::{Error, Result};

/// One snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    pub hash: String,
    pub at: Timestamp,
    /// What it was taken before.
    pub reason: String,
    /// How it differs from the one before it.
    pub files: usize,
    pub insertions: usize,
    pub deletions: usize,
}

/// What has changed since a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub since: Checkpoint,
    /// As git writes it: a summary, then every change. Empty if there is none.
    pub text: String,
}

impl Checkpoint {
    /// The beginning of its hash, as people use it.
    pub fn short(&self) -> &str {
        self.hash.get(..8).unwrap_or(&self.hash)
    }
}

impl Checkpoints {
    /// The snapshots of a directory, newest first.
    pub async fn list(&self, dir: &Path) -> Result<Vec<Checkpoint>> {
        self.list_of(&Project::at(dir)?).await
    }

    pub(crate) async fn list_of(&self, project: &Project) -> Result<Vec<Checkpoint>> {
        if !self.exists() || self.tip(project).await?.is_none() {
            return Ok(Vec::new());
        }
        let log = [
            "log",
            "--format=%x1e%H%x1f%ct%x1f%s",
            "--shortstat",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            &project.reference(),
        ];
        let log = self.git()?.call(&log).run().await?.text();
        log.split('\u{1e}').skip(1).map(checkpoint).collect()
    }

    /// What has changed since the snapshot with this number or hash.
    pub async fn diff(&self, dir: &Path, which: &str) -> Result<Difference> {
        let project = self.fit(dir)?;
        let since = self.find(&project, which).await?;
        let _locks = self.enter(&project).await?;
        let tree = self.stage(&project).await?;
        let diff = [
            "diff",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--stat=72",
            "--patch",
            &since.hash,
            &tree,
        ];
        let said = self.git()?.call(&diff).times(2).run().await?;
        let mut text = said.text();
        if said.cut {
            text.push_str("\n[the rest is too long]\n");
        }
        Ok(Difference { since, text })
    }

    /// The snapshot with this number in the list, or whose hash begins like this.
    pub(crate) async fn find(&self, project: &Project, which: &str) -> Result<Checkpoint> {
        let number: Option<usize> = which.parse().ok();
        let is_hash =
            (4..=64).contains(&which.len()) && which.bytes().all(|b| b.is_ascii_hexdigit());
        if number.is_none() && !is_hash {
            return Err(Error::Unspecific(which.to_owned()));
        }
        let mut list = self.list_of(project).await?;
        if list.is_empty() {
            return Err(Error::Nothing(project.dir.clone()));
        }
        let by_number = number.and_then(|number| number.checked_sub(1));
        if let Some(place) = by_number.filter(|place| *place < list.len()) {
            return Ok(list.swap_remove(place));
        }
        let hash = which.to_lowercase();
        let mut found = list.into_iter().filter(|one| one.hash.starts_with(&hash));
        match (found.next().filter(|_| is_hash), found.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(Error::Unknown(which.to_owned())),
        }
    }
}

/// A record of the log: its line, and below it ` 2 files changed, 3 insertions(+), 1 deletion(-)`.
fn checkpoint(record: &str) -> Result<Checkpoint> {
    let (line, stat) = record.split_once('\n').unwrap_or((record, ""));
    let [hash, at, reason] = fields(line)?;
    let count = |word: &str| {
        let part = stat.split(',').find(|part| part.contains(word));
        let number = part.and_then(|part| part.split_whitespace().next());
        number.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let seconds = at.parse().unwrap_or(0);
    Ok(Checkpoint {
        hash: hash.to_owned(),
        at: Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH),
        reason: reason.to_owned(),
        files: count("file"),
        insertions: count("insertion"),
        deletions: count("deletion"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_log() {
        let check = |stat: &str, expected: (usize, usize, usize)| {
            let record = format!("abcdef0123\u{1f}1700000000\u{1f}before patch{stat}");
            let one = checkpoint(&record).unwrap();
            assert_eq!((one.files, one.insertions, one.deletions), expected);
            assert_eq!(
                (one.short(), one.reason.as_str()),
                ("abcdef01", "before patch")
            );
        };
        check("\n\n 1 file changed, 1 insertion(+)\n", (1, 1, 0));
        check(
            "\n\n 12 files changed, 30 insertions(+), 1 deletion(-)\n\n",
            (12, 30, 1),
        );
        check("", (0, 0, 0));
        assert!(checkpoint("odd").is_err());
    }
}
