//! Tidying up what earlier sessions left: only what nobody uses, and only what can be had again.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::git::Git;
use super::list::Listed;
use super::{PLACE, PREFIX, Result, changed};

const HOUR: Duration = Duration::from_secs(3_600);
/// A younger one may be needed again.
const YOUNG: Duration = Duration::from_secs(24 * HOUR.as_secs());
/// An older one that holds something should be looked at.
const OLD: Duration = Duration::from_secs(72 * HOUR.as_secs());
/// At most so many at one start; the next start goes on.
const AT_ONCE: usize = 32;

/// Removes old checkouts that hold nothing, and branches that are left over; warns of old ones that hold something.
pub(super) async fn prune(git: &Git, repo: &Path) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    let place = repo.join(PLACE);
    let listed = Listed::all(git).await?;
    let ours = listed.iter().filter(|one| {
        let name = one.path.file_name().unwrap_or_default().to_string_lossy();
        one.path.parent() == Some(&place) && name.starts_with(PREFIX)
    });
    for one in ours.take(AT_ONCE) {
        let age = age(&one.path);
        if age < YOUNG || one.in_use() {
            continue;
        }
        match holds_something(git, one).await {
            Ok(false) => remove(git, &one.path).await?,
            Ok(true) if age < OLD => {}
            Ok(true) => warnings.push(format!(
                "{} is {} days old and holds work that is nowhere else; when it is done with: git worktree remove --force {}",
                one.path.display(),
                age.as_secs() / (24 * HOUR.as_secs()),
                one.path.display()
            )),
            Err(error) => warnings.push(format!("{}: {error}", one.path.display())),
        }
    }
    drop_branches(git).await?;
    Ok(warnings)
}

/// Removes a checkout and everything in it.
pub(super) async fn remove(git: &Git, path: &Path) -> Result<()> {
    let on = |words: &[&'static str]| -> Vec<std::ffi::OsString> {
        let words = words.iter().map(Into::into);
        words.chain([path.as_os_str().to_owned()]).collect()
    };
    // One without a lock has none to take away.
    git.agrees(&on(&["worktree", "unlock"])).await?;
    if path.exists() {
        git.act(&on(&["worktree", "remove", "--force"])).await?;
    } else {
        git.act(&["worktree", "prune"]).await?;
    }
    Ok(())
}

pub(super) async fn drop_branch(git: &Git, branch: &str) -> Result<()> {
    match git.act(&["branch", "-D", branch]).await {
        // Somebody has renamed or removed it.
        Err(_) if !exists(git, branch).await? => Ok(()),
        done => done.map(drop),
    }
}

/// Branches of ours, and those of pull requests, that no checkout uses and that hold no commit of their own.
async fn drop_branches(git: &Git) -> Result<()> {
    let used: Vec<String> = Listed::all(git)
        .await?
        .into_iter()
        .filter_map(|one| one.branch)
        .collect();
    let format = "--format=%(refname:short)";
    let patterns = ["refs/heads/hermes/hermes-*", "refs/heads/pr-*"];
    let names = git
        .ask(&["for-each-ref", format, patterns[0], patterns[1]])
        .await?;
    let unused = names
        .lines()
        .filter(|name| !used.iter().any(|branch| branch == name));
    for name in unused.take(AT_ONCE) {
        if !is_alone(git, name).await? {
            drop_branch(git, name).await?;
        }
    }
    Ok(())
}

/// Whether the branch has commits that nobody else has.
async fn is_alone(git: &Git, branch: &str) -> Result<bool> {
    let (own, exclude) = (
        format!("refs/heads/{branch}"),
        format!("--exclude={branch}"),
    );
    let list = ["rev-list", "-n1", &own, "--not", &exclude];
    let others = ["--branches", "--remotes", "--tags"];
    let args: Vec<&str> = list.into_iter().chain(others).collect();
    Ok(!git.ask(&args).await?.trim().is_empty())
}

async fn holds_something(git: &Git, one: &Listed) -> Result<bool> {
    if !one.path.is_dir() {
        return Ok(false); // its branch is looked at on its own
    }
    let inside = git.at(&one.path);
    let own: Vec<&str> = one.branch.as_deref().into_iter().collect();
    Ok(inside.has_more(&own, "").await? || changed(&inside, &[]).await?)
}

async fn exists(git: &Git, branch: &str) -> Result<bool> {
    let name = format!("refs/heads/{branch}");
    git.agrees(&["rev-parse", "--verify", "-q", &name]).await
}

/// How long ago something was last put into it or taken out; none at all if that cannot be known.
fn age(path: &Path) -> Duration {
    let changed = std::fs::metadata(path).and_then(|data| data.modified());
    match changed {
        Ok(changed) => SystemTime::now()
            .duration_since(changed)
            .unwrap_or_default(),
        // The directory is gone: nothing of it is young.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Duration::MAX,
        Err(_) => Duration::ZERO,
    }
}
