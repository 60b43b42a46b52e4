//! The directory tree of one home.

use std::path::{Path, PathBuf};

use crate::modes::{Manager, Modes};
use crate::profile::Name;
use crate::resolve::Resolved;
use crate::{Env, Error, FileLock, Result, write};

/// Written into a new home; people rewrite it to taste.
const DEFAULT_SOUL: &str = include_str!("soul.md");

/// One resolved home directory and the rules for writing in it.
#[derive(Clone, Debug)]
pub struct Home {
    dir: PathBuf,
    root: PathBuf,
    profile: Option<Name>,
    modes: Modes,
    manager: Option<Manager>,
}

impl Home {
    pub(crate) fn new(resolved: Resolved, env: &Env) -> Self {
        let manager = Manager::detect(env, &resolved.dir);
        let modes = Modes::from_env(env, manager.as_ref());
        Self {
            dir: resolved.dir,
            root: resolved.root,
            profile: resolved.profile,
            modes,
            manager,
        }
    }

    /// Creates what a first run needs; a second call finds everything there and changes nothing.
    pub fn ensure(&self) -> Result<()> {
        if self.manager.is_some() && !self.dir.is_dir() {
            return Err(Error::invalid(format!(
                "{} does not exist and this installation is managed: create it there first",
                self.dir.display()
            )));
        }
        for dir in ["", "cron", "sessions", "logs", "logs/curator", "memories"] {
            let path = self.dir.join(dir);
            self.modes
                .create_dir(&path)
                .map_err(Error::io("create", &path))?;
        }
        self.ensure_soul()
    }

    fn ensure_soul(&self) -> Result<()> {
        let soul = self.soul();
        // `exists` follows links; a dangling link is the owner's, not ours to fill.
        if soul.exists() || soul.is_symlink() {
            return Ok(());
        }
        write::replace_file(&soul, DEFAULT_SOUL, &self.modes)
    }

    /// Fails when a package manager owns the configuration.
    pub fn writable(&self) -> Result<()> {
        match &self.manager {
            Some(manager) => Err(Error::Managed {
                manager: manager.clone(),
            }),
            None => Ok(()),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory above all profiles; backups and profile commands work there.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn profile(&self) -> Option<&Name> {
        self.profile.as_ref()
    }

    /// How the owner calls this profile.
    pub fn profile_name(&self) -> &str {
        self.profile.as_ref().map_or("default", Name::as_str)
    }

    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    pub fn manager(&self) -> Option<&Manager> {
        self.manager.as_ref()
    }

    /// The same rules for another directory, for example another profile's.
    pub fn at(&self, dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            profile: None,
            ..self.clone()
        }
    }

    pub fn config_path(&self) -> PathBuf {
        self.dir.join("config.yaml")
    }

    pub fn env_path(&self) -> PathBuf {
        self.dir.join(".env")
    }

    pub fn soul(&self) -> PathBuf {
        self.dir.join("SOUL.md")
    }

    pub fn state_db(&self) -> PathBuf {
        self.dir.join("state.db")
    }

    pub fn sessions_dir(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    pub fn logs_dir(&self) -> PathBuf {
        self.dir.join("logs")
    }

    pub fn skills_dir(&self) -> PathBuf {
        self.dir.join("skills")
    }

    /// Whether a gateway holds this home: it keeps `gateway.lock` for as long as it runs.
    pub fn gateway_running(&self) -> bool {
        FileLock::is_held(&self.dir.join("gateway.lock"))
    }
}
