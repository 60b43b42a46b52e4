//! Where a session works: here, or in a checkout of its own (`-w`).

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use hermes_exec::terminal::{Passthrough, child_env};
use hermes_exec::worktree::{Error, Holds, REPOSITORY_VARIABLES, Worktree};
use hermes_session::OwnCheckout;

use crate::cli::Talk;
use crate::wire::{App, say};

/// The directory of a session, and what must be put in order when it leaves.
#[derive(Default)]
pub struct Place {
    worktree: Option<Worktree>,
}

/// What to do with a checkout that has changes in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    Keep,
    Discard,
}

impl Place {
    /// Makes a checkout if one is wanted; whoever wants one never works without.
    pub async fn enter(app: &App, talk: &Talk) -> Result<Self> {
        if !talk.worktree && !app.settings.is_on("worktree") {
            return Ok(Self::default());
        }
        let here = std::env::current_dir().context("finding the current directory")?;
        let env = child_env(&app.env, &Passthrough::default(), app.home.dir());
        let (worktree, warnings) = Worktree::create(&here, &env)
            .await
            .map_err(|error| explained(&error, talk))?;
        for warning in &warnings {
            say(warning);
        }
        Ok(Self {
            worktree: Some(worktree),
        })
    }

    /// The checkout's directory, if there is one.
    pub fn dir(&self) -> Option<&Path> {
        self.worktree.as_ref().map(Worktree::path)
    }

    /// Whether commands may see this variable: none may lead git out of the checkout.
    pub fn passes(&self, variable: &str) -> bool {
        self.worktree.is_none() || !REPOSITORY_VARIABLES.contains(&variable)
    }

    /// What the model must know about it.
    pub fn checkout(&self) -> Option<OwnCheckout> {
        self.worktree.as_ref().map(|worktree| OwnCheckout {
            path: worktree.path().to_owned(),
            branch: worktree.branch().to_owned(),
            repo: worktree.repo().to_owned(),
        })
    }

    /// Removes the checkout if nothing is lost by it. `decide` is asked about changes that were not committed.
    pub async fn leave(self, decide: impl AsyncFnOnce(&Path) -> Changes) {
        let Some(worktree) = self.worktree else {
            return;
        };
        let path = worktree.path().display().to_string();
        let why = match worktree.holds().await {
            Ok(Holds::Nothing) => None,
            Ok(Holds::Commits) => Some("it has commits that are nowhere else".to_owned()),
            Ok(Holds::Changes) => match decide(worktree.path()).await {
                Changes::Discard => None,
                Changes::Keep => Some("it has changes that are not committed".to_owned()),
            },
            Err(error) => Some(error.to_string()),
        };
        match why {
            Some(why) => {
                let branch = worktree.branch().to_owned();
                let command = worktree.keep().await;
                say(&format!(
                    "kept {path} (branch {branch}): {why}; to remove it:\n  {command}"
                ));
            }
            None => {
                if let Err(error) = worktree.remove().await {
                    say(&format!("{path} could not be removed: {error}"));
                }
            }
        }
    }
}

fn explained(error: &Error, talk: &Talk) -> anyhow::Error {
    let hint = match error {
        Error::NoRepository(_) if talk.worktree => "; go into one, or leave -w out",
        Error::NoRepository(_) => "; go into one, or turn it off: hermes config set worktree false",
        Error::NoCommit => "; make one first: git commit --allow-empty -m start",
        _ => "",
    };
    anyhow!("no worktree to work in: {error}{hint}")
}
