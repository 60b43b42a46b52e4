//! Who may read our files, and who owns the configuration.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::Env;

/// The permission bits new directories and secret files get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    pub dir: u32,
    /// `None` where the surroundings decide: in containers and package-managed homes.
    pub secret: Option<u32>,
}

impl Modes {
    pub fn from_env(env: &Env, manager: Option<&Manager>) -> Self {
        let dir = env
            .filled("HERMES_HOME_MODE")
            .and_then(|text| u32::from_str_radix(text.trim_start_matches("0o"), 8).ok())
            .filter(|mode| mode & 0o700 == 0o700 && *mode <= 0o7777)
            .unwrap_or(0o700);
        let unmanaged = manager.is_none() && !in_container(env);
        Self {
            dir,
            secret: unmanaged.then_some(0o600),
        }
    }

    /// Creates a directory and its parents; only what is created here gets our mode.
    pub(crate) fn create_dir(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match fs::create_dir(path) {
            Ok(()) => fs::set_permissions(path, Permissions::from_mode(self.dir)),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The package manager that owns this installation's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    NixOs,
    Homebrew,
    Other(String),
}

impl Manager {
    /// Reads `HERMES_MANAGED`, then the `.managed` marker in the home.
    pub fn detect(env: &Env, home: &Path) -> Option<Self> {
        match env
            .filled("HERMES_MANAGED")
            .map(str::to_lowercase)
            .as_deref()
        {
            Some("true" | "1" | "yes" | "nix" | "nixos") => Some(Self::NixOs),
            Some("brew" | "homebrew") => Some(Self::Homebrew),
            Some("false" | "0" | "no" | "off") => None,
            Some(_) => env
                .filled("HERMES_MANAGED")
                .map(|name| Self::Other(name.to_owned())),
            None => home.join(".managed").exists().then_some(Self::NixOs),
        }
    }

    /// What to run after changing the configuration at its source.
    pub fn command(&self) -> &str {
        match self {
            Self::NixOs => "sudo nixos-rebuild switch",
            Self::Homebrew => "brew upgrade hermes-agent",
            Self::Other(_) => "its own update command",
        }
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NixOs => "NixOS",
            Self::Homebrew => "Homebrew",
            Self::Other(name) => name,
        })
    }
}

/// Detected, unless `HERMES_CONTAINER` says so or (`0`, `false`, `no`) says otherwise.
fn in_container(env: &Env) -> bool {
    if env.filled("HERMES_SKIP_CHMOD").is_some() {
        return true;
    }
    match env.filled("HERMES_CONTAINER") {
        Some(word) => !["0", "false", "no", "off"].contains(&word.to_lowercase().as_str()),
        None => {
            Path::new("/.dockerenv").exists()
                || fs::read_to_string("/proc/1/cgroup").is_ok_and(|text| {
                    ["docker", "lxc", "kubepods"]
                        .iter()
                        .any(|name| text.contains(name))
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_mode_can_be_chosen_but_never_locks_the_owner_out() {
        let check = |value: &str, expected: u32| {
            let env = Env::from([("HERMES_HOME_MODE", value)]);
            assert_eq!(Modes::from_env(&env, None).dir, expected, "{value}");
        };
        check("0750", 0o750);
        check("755", 0o755);
        check("0o770", 0o770);
        check("0070", 0o700);
        check("rwx", 0o700);
        check("", 0o700);
    }

    #[test]
    fn managers_by_name() {
        let check = |value: &str, expected: Option<Manager>| {
            let env = Env::from([("HERMES_MANAGED", value)]);
            assert_eq!(
                Manager::detect(&env, Path::new("/nonexistent")),
                expected,
                "{value}"
            );
        };
        check("nixos", Some(Manager::NixOs));
        check("TRUE", Some(Manager::NixOs));
        check("brew", Some(Manager::Homebrew));
        check("Guix", Some(Manager::Other("Guix".into())));
        check("0", None);
        check("", None);
    }
}
