//! Taking a snapshot.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::project::{Project, Record};
use crate::store::Checkpoints;
use crate::survey::{Survey, Thorough, pathspecs};
use crate::{Error, Result};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A new snapshot, by its hash.
    New(String),
    /// The latest one holds the same.
    Unchanged,
    /// There is no file to keep.
    Empty,
}

/// The latest snapshot of a project.
pub(crate) struct Tip {
    pub commit: String,
    pub tree: String,
}

impl Checkpoints {
    /// Takes a snapshot of a directory as it is now.
    pub async fn take(&self, dir: &Path, reason: &str) -> Result<Taken> {
        let project = self.fit(dir)?;
        let _locks = self.enter(&project).await?;
        let limit = self.limits.time * 4;
        let taken = tokio::time::timeout(limit, self.snapshot(&project, reason)).await;
        let taken = taken.map_err(|_| slow(limit))??;
        if let Taken::New(_) = taken {
            self.tidy(&project).await;
        }
        Ok(taken)
    }

    /// After a new snapshot: what is too old goes. The new one is there, whatever comes of this.
    pub(crate) async fn tidy(&self, project: &Project) {
        if let Err(error) = self.trim(project).await {
            tracing::warn!("old checkpoints of {} stay: {error}", project.dir.display());
        }
        self.weigh().await;
    }

    /// The project in a directory that snapshots may be made of.
    pub(crate) fn fit(&self, dir: &Path) -> Result<Project> {
        let project = Project::at(dir)?;
        let user_home = fs::canonicalize(&self.user_home);
        let user_home = user_home.as_deref().unwrap_or(&self.user_home);
        let why = if user_home.starts_with(&project.dir) {
            "it is a home directory, or above one"
        } else if project.dir == self.home || project.dir.starts_with(&self.base) {
            "it is where Hermes keeps its own things"
        } else {
            return Ok(project);
        };
        Err(Error::Unfit {
            dir: project.dir,
            why: why.to_owned(),
        })
    }

    /// Needs the project's lock. Older ones stay until somebody trims.
    pub(crate) async fn snapshot(&self, project: &Project, reason: &str) -> Result<Taken> {
        Record::touch(&self.record(&project.hash), project, &self.modes)?;
        let tree = self.stage(project).await?;
        let tip = self.tip(project).await?;
        if tip.as_ref().is_some_and(|tip| tip.tree == tree) {
            return Ok(Taken::Unchanged);
        }
        let empty = self.git()?.call(&["hash-object", "-t", "tree", "--stdin"]);
        if empty.line().await? == tree {
            return Ok(Taken::Empty);
        }
        let mut args = vec!["commit-tree", &tree, "--no-gpg-sign", "-m", reason];
        if let Some(tip) = &tip {
            args.extend(["-p", &tip.commit]);
        }
        let commit = self.git()?.call(&args).line().await?;
        // Nothing is overwritten that came meanwhile.
        let before = tip.map_or_else(|| "0".repeat(commit.len()), |tip| tip.commit);
        let update = ["update-ref", &project.reference(), &commit, &before];
        self.git()?.call(&update).run().await?;
        Ok(Taken::New(commit))
    }

    pub(crate) async fn tip(&self, project: &Project) -> Result<Option<Tip>> {
        let reference = project.reference();
        let ask = ["for-each-ref", "--format=%(objectname) %(tree)", &reference];
        let line = self.git()?.call(&ask).line().await?;
        Ok(line.split_once(' ').map(|(commit, tree)| Tip {
            commit: commit.to_owned(),
            tree: tree.to_owned(),
        }))
    }

    /// Brings the project's index to how its files are now; gives that as a tree. The index stays for the next
    /// time: with it, git reads only what has changed.
    pub(crate) async fn stage(&self, project: &Project) -> Result<String> {
        if let Err(error) = self.add(project, Thorough::No).await {
            tracing::debug!("{}: {error}", project.dir.display());
            // Damaged by a git that was killed, or there are files nobody can read.
            let index = self.index(project);
            match fs::remove_file(&index) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&index)(error));
                }
                _ => self.add(project, Thorough::Yes).await?,
            }
        }
        self.on(project, &["write-tree"])?.line().await
    }

    async fn add(&self, project: &Project, thorough: Thorough) -> Result<()> {
        const FROM_INPUT: [&str; 2] = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let survey = Survey {
            dir: project.dir.clone(),
            exclude: self.store().join("info/exclude"),
            home: self.home.clone(),
            max_files: self.limits.files,
            max_file: self.limits.file,
            thorough,
        };
        let left_out = tokio::task::spawn_blocking(move || survey.left_out())
            .await
            .unwrap_or_else(|_| Err("the program is about to end".to_owned()));
        let left_out = left_out.map_err(|why| Error::Unfit {
            dir: project.dir.clone(),
            why,
        })?;
        if !left_out.is_empty() && self.index(project).exists() {
            let remove = ["rm", "-r", "-f", "-q", "--cached", "--ignore-unmatch"];
            let call = self.on(project, &[&remove[..], &FROM_INPUT].concat())?;
            call.fed(pathspecs(":(literal)", &left_out)).run().await?;
        }
        let mut paths = b".\0".to_vec();
        paths.extend(pathspecs(":(exclude,literal)", &left_out));
        let add = self.on(project, &[&["add", "-A"][..], &FROM_INPUT].concat())?;
        add.fed(paths).times(2).run().await.map(drop)
    }

    /// Keeps the newest snapshots only.
    async fn trim(&self, project: &Project) -> Result<()> {
        let reference = project.reference();
        let count = self.git()?.call(&["rev-list", "--count", &reference]);
        let count: usize = count.line().await?.parse().unwrap_or(0);
        match count > self.limits.snapshots {
            true => self.keep(&reference, self.limits.snapshots).await,
            false => Ok(()),
        }
    }

    /// Makes the history anew from its newest commits, as git has no other way to forget the oldest.
    pub(crate) async fn keep(&self, reference: &str, newest: usize) -> Result<()> {
        let git = self.git()?;
        let log = [
            "log",
            "--reverse",
            &format!("--max-count={newest}"),
            "--format=%H%x1f%T%x1f%aI%x1f%cI%x1f%s",
            reference,
        ];
        let log = git.call(&log).run().await?.text();
        let (mut parent, mut last) = (None::<String>, None);
        for line in log.lines() {
            let [commit, tree, authored, committed, subject] = fields(line)?;
            let mut args = vec!["commit-tree", tree, "--no-gpg-sign", "-m", subject];
            if let Some(parent) = &parent {
                args.extend(["-p", parent]);
            }
            let call = git
                .call(&args)
                .env("GIT_AUTHOR_DATE", authored)
                .env("GIT_COMMITTER_DATE", committed);
            parent = Some(call.line().await?);
            last = Some(commit);
        }
        let (Some(new), Some(old)) = (parent, last) else {
            return Ok(());
        };
        let update = ["update-ref", reference, &new, old];
        git.call(&update).run().await?;
        self.mark_garbage();
        Ok(())
    }
}

/// The fields of a line of the log.
pub(crate) fn fields<const N: usize>(line: &str) -> Result<[&str; N]> {
    let fields: Vec<&str> = line.split('\u{1f}').collect();
    fields.try_into().map_err(|_| Error::Git {
        what: "log".to_owned(),
        why: "it answered in a way nobody understands".to_owned(),
    })
}

fn slow(limit: Duration) -> Error {
    Error::Slow {
        what: "add".to_owned(),
        seconds: limit.as_secs(),
    }
}
