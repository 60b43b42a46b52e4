//! A profile's own command: `work chat` instead of `hermes -p work chat`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Name;
use crate::{Error, Result};

/// The wrapper script `~/.local/bin/<profile>`.
#[derive(Clone, Debug)]
pub struct Alias {
    name: Name,
    path: PathBuf,
    /// Where else the name could already mean something.
    search: Vec<PathBuf>,
}

impl Alias {
    pub(super) fn new(user_home: &Path, search: &str, name: &Name) -> Self {
        Self {
            name: name.clone(),
            path: user_home.join(".local/bin").join(name.as_str()),
            search: std::env::split_paths(search).collect(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Only a script that runs `hermes -p` was written by us, and only that may be replaced or removed.
    pub fn is_ours(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|text| text.contains("hermes -p"))
    }

    /// Writes the script, unless the name already means another command.
    pub fn write(&self) -> Result<()> {
        if let Some(taken) = self.taken_by() {
            return Err(Error::invalid(format!(
                "no command '{}' was made: that name is already {}",
                self.name,
                taken.display()
            )));
        }
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
        let script = format!("#!/bin/sh\nexec hermes -p {} \"$@\"\n", self.name);
        fs::write(&self.path, script).map_err(Error::io("write", &self.path))?;
        fs::set_permissions(&self.path, Permissions::from_mode(0o755))
            .map_err(Error::io("make executable", &self.path))
    }

    pub fn remove(&self) -> Result<()> {
        fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))
    }

    fn taken_by(&self) -> Option<PathBuf> {
        if self.path.exists() && !self.is_ours() {
            return Some(self.path.clone());
        }
        self.search
            .iter()
            .map(|dir| dir.join(self.name.as_str()))
            .find(|path| *path != self.path && path.is_file())
    }
}
