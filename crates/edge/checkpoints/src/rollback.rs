//! `/rollback`, for every face: what is asked for in words, and the answer in words.

use std::path::{Path, PathBuf};

use hermes_home::clock;

use crate::history::{Checkpoint, Difference};
use crate::restore::{Restored, Scope};
use crate::store::Checkpoints;
use crate::{Error, Result};

/// Lines of a difference that are shown.
const MAX_LINES: usize = 200;
/// Names that are listed one by one.
const MAX_NAMES: usize = 20;

/// What `/rollback` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolledBack {
    /// It only says something.
    Told(String),
    /// Files were brought back; what the conversation says of them is no longer so.
    Restored(String),
}

impl Checkpoints {
    /// Carries out what follows `/rollback`, for a session that is in `cwd`: nothing, `N`, `diff N` or `N FILE`.
    pub async fn rollback(&self, cwd: &Path, words: &str) -> RolledBack {
        let done = self.roll_back(cwd, words.trim()).await;
        done.unwrap_or_else(|error| RolledBack::Told(error.to_string()))
    }

    /// What a session that is in `cwd` could go back to, newest first.
    pub async fn list_at(&self, cwd: &Path) -> Result<Vec<Checkpoint>> {
        self.list(&self.project_of(cwd).await?).await
    }

    async fn project_of(&self, cwd: &Path) -> Result<PathBuf> {
        let dir = self.project_at(cwd, cwd).await;
        dir.ok_or_else(|| Error::Unfit {
            dir: cwd.to_owned(),
            why: "it is a home directory, or above one".to_owned(),
        })
    }

    async fn roll_back(&self, cwd: &Path, words: &str) -> Result<RolledBack> {
        let dir = self.project_of(cwd).await?;
        let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let rest = rest.trim();
        let scope = match (first, rest) {
            ("", _) | ("list", "") => {
                return Ok(RolledBack::Told(listed(&dir, &self.list(&dir).await?)));
            }
            ("diff", "") => return Err(Error::Unspecific(rest.to_owned())),
            ("diff", which) => {
                return Ok(RolledBack::Told(differing(&self.diff(&dir, which).await?)));
            }
            (_, "") => Scope::Everything,
            (_, file) => Scope::Path(file),
        };
        let restored = self.restore(&dir, first, scope).await?;
        let told = told(&restored);
        Ok(match restored.written.is_empty() {
            true => RolledBack::Told(told),
            false => RolledBack::Restored(told),
        })
    }
}

fn listed(dir: &Path, list: &[Checkpoint]) -> String {
    if list.is_empty() {
        return format!(
            "there are no checkpoints of {}; they are made while checkpoints.enabled is true, or with --checkpoints",
            dir.display()
        );
    }
    let mut text = format!("checkpoints of {}:\n", dir.display());
    for (index, one) in list.iter().enumerate() {
        let at = clock::local(one.at).strftime("%Y-%m-%d %H:%M:%S");
        let (number, short, reason) = (index + 1, one.short(), &one.reason);
        text += &format!("  {number:>2}. {short}  {at}  {reason}{}\n", stat(one));
    }
    text + "/rollback N brings one back, /rollback diff N shows what changed since, /rollback N FILE is for one file"
}

fn stat(one: &Checkpoint) -> String {
    match one.files {
        0 => String::new(),
        files => format!(
            "  ({}, +{} -{})",
            counted(files, "file"),
            one.insertions,
            one.deletions
        ),
    }
}

fn differing(difference: &Difference) -> String {
    let short = difference.since.short();
    if difference.text.is_empty() {
        return format!("nothing has changed since {short}");
    }
    let mut lines: Vec<&str> = difference.text.lines().collect();
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let mut text = format!("since {short}:\n{}", lines.join("\n"));
    if more > 0 {
        text += &format!("\n… and {more} more lines");
    }
    text
}

fn told(restored: &Restored) -> String {
    let (to, dir) = (restored.to.short(), restored.dir.display());
    let mut text = match restored.written.len() {
        0 => format!("everything is as it was at {to} already"),
        count => format!(
            "{} of {dir} as they were at {to} ({}):{}\nhow they were until now is checkpoint 1 in /rollback",
            counted(count, "file"),
            restored.to.reason,
            names(&restored.written)
        ),
    };
    if !restored.later.is_empty() {
        text += &format!(
            "\nmade since then, and still there:{}",
            names(&restored.later)
        );
    }
    if !restored.blocked.is_empty() {
        text += &format!(
            "\nnot brought back, because something else is in their place (move it away and try again):{}",
            names(&restored.blocked)
        );
    }
    text
}

fn names(paths: &[PathBuf]) -> String {
    let mut text = String::new();
    for path in paths.iter().take(MAX_NAMES) {
        text += &format!("\n  {}", path.display());
    }
    if paths.len() > MAX_NAMES {
        text += &format!("\n  … and {} more", paths.len() - MAX_NAMES);
    }
    text
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
