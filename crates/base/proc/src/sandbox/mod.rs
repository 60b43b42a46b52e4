//! Keeping commands within bounds that the kernel enforces.
//!
//! A [`Policy`] says what a command may do; a [`Sandbox`] finds out once which [`Mechanism`] can hold it to that
//! here, and turns the [`Spawn`] of a command into that of the same command within bounds. Its process group, its
//! terminal and its exit code stay what they are.

mod bubblewrap;
mod find;
#[cfg(target_os = "linux")]
mod landlock;
mod mechanism;
mod policy;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::OnceCell;

use crate::Spawn;
use find::Found;

pub use find::{Survey, survey};
pub use mechanism::{CONFINE, Mechanism, confine};
pub use policy::{Network, Policy};

/// Bounds for the commands of one session.
#[derive(Debug)]
pub struct Sandbox {
    mode: Mode,
    policy: Policy,
    means: Means,
    /// Looked for with the first command: most sessions have none.
    found: OnceCell<Result<Found, String>>,
    /// Whether the model knows.
    told: AtomicBool,
}

/// What to do where nothing can hold a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Hold what can be held, and say what cannot.
    Auto,
    /// Run nothing that is not held.
    Strict,
}

/// What to build a sandbox with.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// Where to look for `bwrap`: a `PATH`.
    pub search: String,
    /// A program that hands what follows its first argument [`CONFINE`] to [`confine`]: our own.
    pub confiner: PathBuf,
}

/// Why a command does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "terminal.sandbox is strict, and nothing here can confine a command ({0}). Install bubblewrap (the program \
     bwrap) and allow user namespaces, or use Linux 6.2 or later with Landlock (6.7 with sandbox_network: off)"
)]
pub struct Refused(String);

impl Sandbox {
    /// Resolves the links in `policy` now and never again, so that no command can move its own bounds. Blocks.
    pub fn new(mode: Mode, policy: Policy, means: Means) -> Self {
        Self {
            mode,
            policy: policy.settled(),
            means,
            found: OnceCell::new(),
            told: AtomicBool::new(false),
        }
    }

    /// The same command within bounds; as it is, where nothing can hold it and that is allowed.
    pub async fn wrap(&self, spawn: Spawn) -> Result<Spawn, Refused> {
        match self.found().await {
            Ok(found) => Ok(found.mechanism.wrap(&found.policy, spawn)),
            Err(_) if self.mode == Mode::Auto => Ok(spawn),
            Err(why) => Err(Refused(why.clone())),
        }
    }

    /// What the model should know about its bounds, once and only after a command was wrapped.
    pub fn notice(&self) -> Option<String> {
        let found = self.found.get()?;
        let first = !self.told.swap(true, Ordering::Relaxed);
        first.then(|| match found {
            Ok(found) => found.notice(),
            Err(why) => format!("This command ran without a sandbox: {why}"),
        })
    }

    async fn found(&self) -> &Result<Found, String> {
        let find = async || {
            let found = find::find(self.mode, &self.policy, &self.means).await;
            match &found {
                Ok(found) => tracing::info!("{}", found.notice()),
                Err(why) => tracing::warn!("commands cannot be confined: {why}"),
            }
            found
        };
        self.found.get_or_init(find).await
    }
}
