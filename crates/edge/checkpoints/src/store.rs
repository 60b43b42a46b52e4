//! The store itself: where it lies, how it is made, and who may work on it at the same time.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use hermes_home::config::Settings;
use hermes_home::{Env, FileLock, Home, Modes, clock};
use hermes_types::{Round, SessionId};
use tokio::sync::{Mutex, Notify};

use crate::git::{self, Call, Git};
use crate::project::Project;
use crate::{Error, Limits, Result};

/// What is never worth a snapshot, or must not be in one.
const EXCLUDE: &str = include_str!("exclude");
/// Bytes are kept as they are, whatever a project's own attributes say.
const ATTRIBUTES: &str = "* -text !eol -ident -filter !working-tree-encoding\n";
/// How long somebody else's work is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// Projects a session works on; beyond that, one snapshot too many is made.
const MAX_ROUNDS: usize = 256;

/// The snapshots of all projects.
///
/// Whoever adds to a project holds its lock and a share of the store's; whoever takes away, or packs what there
/// is, holds the store's alone. Locks end with their process, so git's own lock files found under them are left
/// over from somebody who was killed.
#[derive(Debug)]
pub struct Checkpoints {
    /// `<home>/checkpoints`
    pub(crate) base: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) user_home: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) modes: Modes,
    /// Whether snapshots are taken before calls of tools. What there is can be brought back anyway.
    pub(crate) is_on: bool,
    /// `None`: there is no git, and so there are no checkpoints.
    git: Option<Git>,
    /// That there is none is said once.
    pub(crate) said: Once,
    /// For which reply a project was last looked at.
    rounds: Mutex<HashMap<(SessionId, PathBuf), Round>>,
    /// The store has become too large.
    pub(crate) full: Notify,
}

impl Checkpoints {
    /// As the settings say.
    pub fn new(home: &Home, settings: &Settings, env: &Env) -> Self {
        let is_on = settings.is_on("checkpoints.enabled");
        Self {
            is_on,
            ..Self::with(home, Limits::read(settings, env), env)
        }
    }

    /// The same, but snapshots are taken whatever the settings say.
    #[must_use]
    pub fn turned_on(self) -> Self {
        Self {
            is_on: true,
            ..self
        }
    }

    /// Turned on, with limits of one's own.
    pub fn with(home: &Home, limits: Limits, env: &Env) -> Self {
        let path = env.get("PATH").unwrap_or_default().to_owned();
        let dir = fs::canonicalize(home.dir()).unwrap_or_else(|_| home.dir().to_owned());
        let base = dir.join("checkpoints");
        let git = git::find(&path).map(|program| Git {
            program,
            path,
            store: base.join("store"),
            time: limits.time,
        });
        Self {
            base,
            home: dir,
            user_home: env.user_home(),
            modes: home.modes().clone(),
            limits,
            is_on: true,
            git,
            said: Once::new(),
            rounds: Mutex::default(),
            full: Notify::new(),
        }
    }

    pub fn has_git(&self) -> bool {
        self.git.is_some()
    }

    pub(crate) fn git(&self) -> Result<&Git> {
        self.git.as_ref().ok_or(Error::NoGit)
    }

    /// A call of git on the files of a project.
    pub(crate) fn on<'g>(&'g self, project: &Project, args: &[&str]) -> Result<Call<'g>> {
        Ok(self
            .git()?
            .call(args)
            .on(&project.dir, &self.index(project)))
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.base.join("store")
    }

    pub(crate) fn index(&self, project: &Project) -> PathBuf {
        self.store().join("indexes").join(&project.hash)
    }

    pub(crate) fn record(&self, hash: &str) -> PathBuf {
        self.store().join("projects").join(format!("{hash}.json"))
    }

    pub(crate) fn exists(&self) -> bool {
        self.store().join("HEAD").is_file()
    }

    /// Does this if nothing was done about a project for this reply yet. Other calls of the same reply wait until
    /// it is done.
    pub(crate) async fn once(
        &self,
        session: &SessionId,
        dir: &Path,
        round: Round,
        work: impl AsyncFnOnce(),
    ) {
        let mut rounds = self.rounds.lock().await;
        if rounds.len() > MAX_ROUNDS {
            rounds.clear();
        }
        let known = rounds.insert((session.clone(), dir.to_owned()), round);
        if known != Some(round) {
            work().await;
        }
    }

    /// The right to add to a project.
    pub(crate) async fn enter(&self, project: &Project) -> Result<(FileLock, FileLock)> {
        self.make().await?;
        let shared = hold(|| FileLock::try_share(&self.lock_path())).await?;
        let path = self.record(&project.hash).with_extension("lock");
        let own = hold(|| FileLock::try_acquire(&path)).await?;
        let reference = self.store().join(project.reference());
        for left in [self.index(project), reference] {
            remove_leftover(&left.with_extension("lock"));
        }
        Ok((shared, own))
    }

    /// The right to do anything.
    pub(crate) async fn alone(&self) -> Result<FileLock> {
        let lock = hold(|| FileLock::try_acquire(&self.lock_path())).await?;
        for left in ["packed-refs.lock", "HEAD.lock", "config.lock", "gc.pid"] {
            remove_leftover(&self.store().join(left));
        }
        Ok(lock)
    }

    /// Beside the directory, so that clearing it doesn't take the lock away.
    fn lock_path(&self) -> PathBuf {
        self.home.join(".checkpoints.lock")
    }

    /// Makes what is missing of the store.
    async fn make(&self) -> Result<()> {
        let store = self.store();
        let is_whole = || {
            let parts = [
                "HEAD",
                "objects",
                "refs",
                "indexes",
                "projects",
                "info/exclude",
            ];
            let has = |name: &str| store.join(name).exists();
            let attributes = fs::read_to_string(store.join("info/attributes"));
            parts.into_iter().all(has) && attributes.is_ok_and(|text| text == ATTRIBUTES)
        };
        if is_whole() {
            return Ok(());
        }
        let _alone = self.alone().await?;
        if is_whole() {
            return Ok(());
        }
        if !self.exists() {
            self.put_legacy_aside();
        }
        if !self.base.exists() {
            self.make_base()?;
        }
        for dir in [&store, &store.join("indexes"), &store.join("projects")] {
            fs::create_dir_all(dir).map_err(Error::io(dir))?;
        }
        let init = ["init", "--quiet", "--bare", "--template=", "."];
        self.git()?.call(&init).nowhere(&store).run().await?;
        let info = store.join("info");
        fs::create_dir_all(&info).map_err(Error::io(&info))?;
        let exclude = info.join("exclude");
        if !exclude.exists() {
            hermes_home::replace_file(&exclude, EXCLUDE, &self.modes)?;
        }
        let attributes = info.join("attributes");
        Ok(hermes_home::replace_file(
            &attributes,
            ATTRIBUTES,
            &self.modes,
        )?)
    }

    /// As private as the home, whatever the umask says: all that anybody changed is in it.
    fn make_base(&self) -> Result<()> {
        let mode = Permissions::from_mode(self.modes.dir);
        fs::create_dir_all(&self.base)
            .and_then(|()| fs::set_permissions(&self.base, mode))
            .map_err(Error::io(&self.base))
    }

    /// Before there was one store, every project had a repository here.
    fn put_legacy_aside(&self) {
        let entries = fs::read_dir(&self.base).into_iter().flatten().flatten();
        let is_ours = |name: &str| matches!(name, "store" | ".last_prune");
        let old: Vec<_> = entries
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                !is_ours(&name) && !name.starts_with("legacy-")
            })
            .collect();
        if old.is_empty() {
            return;
        }
        let stamp = clock::now().strftime("%Y%m%d-%H%M%S");
        let aside = self.base.join(format!("legacy-{stamp}"));
        let moved = fs::create_dir_all(&aside).and_then(|()| {
            let mut old = old.into_iter();
            old.try_for_each(|entry| fs::rename(entry.path(), aside.join(entry.file_name())))
        });
        match moved {
            Ok(()) => tracing::info!("old checkpoints are now in {}", aside.display()),
            Err(error) => tracing::warn!("old checkpoints could not be put aside: {error}"),
        }
    }
}

/// Waits for a lock, but not for ever.
async fn hold(take: impl Fn() -> hermes_home::Result<Option<FileLock>>) -> Result<FileLock> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(lock) = take()? {
            return Ok(lock);
        }
        if Instant::now() >= until {
            return Err(Error::Busy);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn remove_leftover(path: &Path) {
    // Usually there is none.
    if fs::remove_file(path).is_ok() {
        tracing::info!(
            "removed {}, left over from a git that was killed",
            path.display()
        );
    }
}
