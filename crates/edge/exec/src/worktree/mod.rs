//! A checkout of the session's own: work in it disturbs nobody, and nothing in it is thrown away unasked.

mod git;
mod include;
mod list;
mod prune;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use git::Git;
pub use git::REPOSITORY_VARIABLES;
use include::Included;

/// Where they are, inside the repository.
const PLACE: &str = ".worktrees";
/// What their names begin with; their branches are called `hermes/<name>`.
const PREFIX: &str = "hermes-";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("not in a git repository ({0})")]
    NoRepository(String),
    #[error("the repository has no commit yet to start from")]
    NoCommit,
    #[error("git is not installed")]
    NoGit,
    #[error("{what}: {why}")]
    Git { what: String, why: String },
    #[error(transparent)]
    Process(#[from] hermes_proc::Error),
    #[error("cannot create {}: {cause}", path.display())]
    Create {
        path: PathBuf,
        cause: std::io::Error,
    },
}

type Result<T> = std::result::Result<T, Error>;

/// A checkout that belongs to one session.
#[derive(Debug)]
pub struct Worktree {
    path: PathBuf,
    branch: String,
    /// The repository's own checkout.
    repo: PathBuf,
    /// The commit it began with.
    base: String,
    included: Included,
    git: Git,
}

/// What would be lost without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Nothing,
    /// Changes that were not committed.
    Changes,
    /// Commits that are nowhere else.
    Commits,
}

impl Worktree {
    /// Makes a checkout of what is checked out at `dir`, after tidying up what earlier sessions left. What is
    /// odd but no reason to stop comes back as warnings.
    pub async fn create(dir: &Path, env: &[(String, String)]) -> Result<(Self, Vec<String>)> {
        let here = Git::new(dir, env);
        let top = top_level(&here).await?;
        let base = here
            .ask(&["rev-parse", "--verify", "HEAD^{commit}"])
            .await
            .map_err(|_| Error::NoCommit)?;
        let repo = owner(&top);
        let git = here.at(&repo);
        let mut warnings = prune::prune(&git, &repo).await?;
        warnings.extend(ignore(&git, &repo).await?);
        let (path, branch) = add(&git, &repo, base.trim()).await?;
        let included = Included::bring(&repo, &path);
        warnings.extend(included.warnings.iter().cloned());
        let worktree = Self {
            path,
            branch,
            base: base.trim().to_owned(),
            included,
            git,
            repo,
        };
        Ok((worktree, warnings))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn branch(&self) -> &str {
        &self.branch
    }

    pub fn repo(&self) -> &Path {
        &self.repo
    }

    pub async fn holds(&self) -> Result<Holds> {
        if !self.path.is_dir() {
            return Ok(if self.git.has_more(&[&self.branch], &self.base).await? {
                Holds::Commits
            } else {
                Holds::Nothing
            });
        }
        let inside = self.git.at(&self.path);
        let now = inside.ask(&["branch", "--show-current"]).await?;
        let own = [self.branch.as_str(), now.trim()];
        if inside.has_more(&own, &self.base).await? {
            Ok(Holds::Commits)
        } else if changed(&inside, &self.included.untouched()).await? {
            Ok(Holds::Changes)
        } else {
            Ok(Holds::Nothing)
        }
    }

    /// Takes it away with its branch, whatever it holds.
    pub async fn remove(self) -> Result<()> {
        prune::remove(&self.git, &self.path).await?;
        prune::drop_branch(&self.git, &self.branch).await
    }

    /// Leaves it to the owner; gives the command that removes it.
    pub async fn keep(self) -> String {
        let args = [
            "worktree".as_ref(),
            "unlock".as_ref(),
            self.path.as_os_str(),
        ];
        // If it stays locked, git says so when it is to be removed.
        let _ = self.git.agrees(&args).await;
        format!(
            "git -C '{repo}' worktree remove --force '{path}' && git -C '{repo}' branch -D '{branch}'",
            repo = self.repo.display(),
            path = self.path.display(),
            branch = self.branch
        )
    }
}

impl Git {
    /// Whether HEAD or the branches `own` have commits since `base` that are on no other branch and no remote.
    async fn has_more(&self, own: &[&str], base: &str) -> Result<bool> {
        let mut args = vec!["rev-list".to_owned(), "-n1".to_owned()];
        let own: Vec<&&str> = own.iter().filter(|branch| !branch.is_empty()).collect();
        args.push("HEAD".to_owned());
        for branch in &own {
            let name = format!("refs/heads/{branch}");
            if self.agrees(&["rev-parse", "--verify", "-q", &name]).await? {
                args.push(name);
            }
        }
        args.push("--not".to_owned());
        args.extend(own.iter().map(|branch| format!("--exclude={branch}")));
        args.extend(["--branches", "--remotes", "--tags"].map(str::to_owned));
        if !base.is_empty() {
            args.push(base.to_owned());
        }
        Ok(!self.ask(&args).await?.trim().is_empty())
    }
}

async fn top_level(git: &Git) -> Result<PathBuf> {
    match git.act(&["rev-parse", "--show-toplevel"]).await {
        // Warnings come first.
        Ok(output) => Ok(PathBuf::from(output.lines().last().unwrap_or_default())),
        Err(Error::Git { why, .. }) => Err(Error::NoRepository(why)),
        Err(error) => Err(error),
    }
}

/// A session inside the checkout of another one doesn't nest: it would go when the outer one goes.
fn owner(top: &Path) -> PathBuf {
    let ours = || {
        let name = top.file_name()?.to_str()?;
        let place = top.parent()?;
        (name.starts_with(PREFIX) && place.file_name()? == PLACE).then(|| place.parent())?
    };
    ours().unwrap_or(top).to_owned()
}

/// Checkouts are no part of the repository.
async fn ignore(git: &Git, repo: &Path) -> Result<Option<String>> {
    let probe = format!("{PLACE}/{PREFIX}0");
    if git.agrees(&["check-ignore", "-q", &probe]).await? {
        return Ok(None);
    }
    let file = repo.join(".gitignore");
    let added = fs::read(&file).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(error),
    });
    let added = added.and_then(|text| {
        let gap = if text.is_empty() || text.ends_with(b"\n") {
            ""
        } else {
            "\n"
        };
        let mut file = OpenOptions::new().append(true).create(true).open(&file)?;
        writeln!(file, "{gap}{PLACE}/")
    });
    Ok(added
        .err()
        .map(|error| format!("{PLACE}/ could not be added to {}: {error}", file.display())))
}

/// A new branch from `base`, checked out in a directory of its own and locked while we live.
async fn add(git: &Git, repo: &Path, base: &str) -> Result<(PathBuf, String)> {
    let name = format!("{PREFIX}{:08x}", fastrand::u32(..));
    let place = repo.join(PLACE);
    fs::create_dir_all(&place).map_err(|cause| Error::Create {
        path: place.clone(),
        cause,
    })?;
    let (path, branch) = (place.join(&name), format!("hermes/{name}"));
    let words = ["worktree", "add", "-b", &branch].map(std::ffi::OsStr::new);
    let args: Vec<_> = words
        .into_iter()
        .chain([path.as_os_str(), base.as_ref()])
        .collect();
    git.act(&args).await?;
    let reason = list::Lock::ours().to_string();
    let words = ["worktree", "lock", "--reason", &reason].map(std::ffi::OsStr::new);
    let args: Vec<_> = words.into_iter().chain([path.as_os_str()]).collect();
    // Without the lock it is as good; only a session of more than a day would miss it.
    let _ = git.agrees(&args).await;
    Ok((path, branch))
}

/// Whether anything was changed that is not committed, but for these files.
async fn changed(inside: &Git, but_for: &[PathBuf]) -> Result<bool> {
    let mut args = ["status", "--porcelain", "--untracked-files=all", "--", "."]
        .map(str::to_owned)
        .to_vec();
    let left_out = but_for
        .iter()
        .map(|path| format!(":(exclude,literal){}", path.display()));
    args.extend(left_out);
    Ok(!inside.ask(&args).await?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkouts_do_not_nest() {
        let check = |top: &str, expected: &str| {
            assert_eq!(owner(Path::new(top)), Path::new(expected), "{top}");
        };
        check("/src/project", "/src/project");
        check("/src/project/.worktrees/hermes-0a1b2c3d", "/src/project");
        check(
            "/src/project/.worktrees/mine",
            "/src/project/.worktrees/mine",
        );
        check("/src/hermes-agent", "/src/hermes-agent");
    }
}
