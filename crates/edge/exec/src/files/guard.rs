//! Which paths the file tools leave alone. Defence in depth, not a boundary: a command could still reach them.
//!
//! Rules are data and a verdict is a pure function of the path, so that others who read files for the model
//! (vision, uploads) ask the same question.

use std::fmt;
use std::path::{Path, PathBuf};

use hermes_home::secrets;

use super::place::{Place, real_path};

/// Trees only root changes.
const SYSTEM: &[&str] = &[
    "/etc",
    "/boot",
    "/usr/lib/systemd",
    "/private/etc",
    "/private/var",
    "/var/run/docker.sock",
    "/run/docker.sock",
];

/// macOS keeps everybody's temporary directory in a system tree.
const SYSTEM_EXCEPT: &str = "/private/var/folders";

/// Besides its private things, what Hermes alone writes: rewriting it would loosen the rules.
const HERMES_OWN: &[&str] = &["config.yaml"];

/// Third-party text that could talk the model into something.
const HERMES_UNTRUSTED: &str = "skills/.hub";

const PROJECT_SECRETS: &[&str] = &[
    ".env",
    ".env.local",
    ".env.development",
    ".env.production",
    ".env.test",
    ".env.staging",
    ".envrc",
];

/// Reading these never ends, waits for somebody to type, or shows a process's secrets.
const DEVICES: &[&str] = &[
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/console",
    "/dev/fd/0",
    "/dev/fd/1",
    "/dev/fd/2",
];
const PROC_SECRETS: &[&str] = &["fd/0", "fd/1", "fd/2", "environ", "mem", "maps", "auxv"];

/// Decides what may be read and written.
#[derive(Clone, Debug)]
pub struct PathGuard {
    user_homes: Vec<PathBuf>,
    /// Home and root, each as configured and as it really is.
    hermes: Vec<PathBuf>,
    /// Directories whose entries are homes of profiles.
    profiles: Vec<PathBuf>,
    safe_roots: Vec<PathBuf>,
}

/// The places the rules speak of.
#[derive(Clone, Debug, Default)]
pub struct Territory {
    pub user_home: PathBuf,
    /// The home of this profile.
    pub hermes_home: PathBuf,
    /// The directory above all profiles.
    pub hermes_root: PathBuf,
    /// `HERMES_WRITE_SAFE_ROOT`, split; empty: anywhere.
    pub safe_roots: Vec<PathBuf>,
}

/// What somebody wants with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Also deleting and moving.
    Write,
}

/// Why not, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PathGuard {
    /// Looks up where the places really are. Blocks.
    pub fn new(territory: Territory) -> Self {
        let both = |dirs: &[&PathBuf]| -> Vec<PathBuf> {
            let mut all: Vec<PathBuf> = dirs
                .iter()
                .filter(|dir| dir.is_absolute())
                .flat_map(|dir| [(*dir).clone(), real_path(dir)])
                .collect();
            all.sort();
            all.dedup();
            all
        };
        Self {
            user_homes: both(&[&territory.user_home]),
            hermes: both(&[&territory.hermes_home, &territory.hermes_root]),
            profiles: both(&[&territory.hermes_root.join("profiles")]),
            safe_roots: both(&territory.safe_roots.iter().collect::<Vec<_>>()),
        }
    }

    /// The verdict on one absolute path without `..`. A caller asks for the path as written and for where its
    /// symlinks lead.
    pub fn check(&self, path: &Path, access: Access) -> Result<(), Refusal> {
        let refused = match access {
            Access::Read => self.unreadable(path),
            Access::Write => self.unwritable(path),
        };
        refused.map_or(Ok(()), |why| {
            Err(Refusal(format!(
                "Access denied: {} {why}",
                path.to_string_lossy()
            )))
        })
    }

    /// Both ways to look at a place.
    pub(super) fn check_place(&self, place: &Place, access: Access) -> Result<(), Refusal> {
        self.check(&place.literal, access)?;
        self.check(&place.real, access)
    }

    fn unreadable(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(inner) = self.in_hermes(path) {
            if inner.starts_with(HERMES_UNTRUSTED) {
                return Some(
                    "is an internal cache of untrusted skill texts. Use skills_list or skill_view.",
                );
            }
            if any_begins(inner, secrets::HERMES) {
                return Some(
                    "is a credential store of Hermes; tools get these credentials by themselves.",
                );
            }
        }
        PROJECT_SECRETS
            .iter()
            .any(|secret| name.eq_ignore_ascii_case(secret))
            .then_some("usually holds secrets. Read .env.example to learn its shape.")
    }

    fn unwritable(&self, path: &Path) -> Option<&'static str> {
        if any_begins(path, SYSTEM) && !path.starts_with(SYSTEM_EXCEPT) {
            return Some(
                "is a protected system path. Use terminal with sudo if it must be changed.",
            );
        }
        let in_home = |home: &PathBuf| {
            path.strip_prefix(home).is_ok_and(|rest| {
                any_begins(rest, secrets::USER) || any_begins(rest, secrets::SHELL_START)
            })
        };
        if self.user_homes.iter().any(in_home) {
            return Some("is a protected credential or shell start-up file.");
        }
        let own = |inner| {
            [secrets::HERMES, secrets::HERMES_PRIVATE, HERMES_OWN]
                .iter()
                .any(|places| any_begins(inner, places))
        };
        if self.in_hermes(path).is_some_and(own) {
            return Some(
                "belongs to Hermes itself. Ask the owner to change it with `hermes config`.",
            );
        }
        let outside = !self.safe_roots.is_empty()
            && !self.safe_roots.iter().any(|root| path.starts_with(root));
        outside.then_some("lies outside HERMES_WRITE_SAFE_ROOT.")
    }

    /// The path within the home of whichever profile it lies in.
    fn in_hermes<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let profile = self.profiles.iter().find_map(|profiles| {
            let mut rest = path.strip_prefix(profiles).ok()?.components();
            rest.next()?;
            Some(rest.as_path())
        });
        profile.or_else(|| {
            // The innermost: a home may lie below the root.
            let inner = self
                .hermes
                .iter()
                .filter_map(|dir| path.strip_prefix(dir).ok());
            inner.min_by_key(|rest| rest.components().count())
        })
    }
}

/// Whether reading this path could hang or show a process's memory.
pub(super) fn is_device(path: &Path) -> bool {
    let in_proc =
        || path.starts_with("/proc") && PROC_SECRETS.iter().any(|end| path.ends_with(end));
    DEVICES.iter().any(|device| path == Path::new(device)) || in_proc()
}

fn any_begins(path: &Path, places: &[&str]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(safe_roots: &[&str]) -> PathGuard {
        PathGuard::new(Territory {
            user_home: "/home/u".into(),
            hermes_home: "/home/u/.hermes/profiles/work".into(),
            hermes_root: "/home/u/.hermes".into(),
            safe_roots: safe_roots.iter().map(PathBuf::from).collect(),
        })
    }

    #[test]
    fn what_may_be_written() {
        let check = |path: &str, allowed: bool| {
            let verdict = guard(&[]).check(Path::new(path), Access::Write);
            assert_eq!(verdict.is_ok(), allowed, "{path}: {verdict:?}");
        };
        for path in [
            "/etc/hermes-test",
            "/etc/sudoers.d/x",
            "/boot/grub/grub.cfg",
            "/usr/lib/systemd/system/x.service",
            "/private/var/db/x",
            "/run/docker.sock",
            "/home/u/.ssh/authorized_keys",
            "/home/u/.config/gh/hosts.yml",
            "/home/u/.netrc",
            "/home/u/.bashrc",
            "/home/u/.hermes/.env",
            "/home/u/.hermes/config.yaml",
            "/home/u/.hermes/auth.json",
            "/home/u/.hermes/sessions/x.json",
            "/home/u/.hermes/mcp-tokens/t",
            "/home/u/.hermes/profiles/work/state.db",
            "/home/u/.hermes/profiles/other/.env",
        ] {
            check(path, false);
        }
        for path in [
            "/home/u/project/.env",
            "/home/u/project/.npmrc",
            "/home/u/.ssh2/x",
            "/home/u/.config/ghostty",
            "/home/u/.hermes/skills/x/SKILL.md",
            "/home/u/.hermes/memories/MEMORY.md",
            "/etcetera",
            "/tmp/x",
            "/private/var/folders/ab/T/x",
        ] {
            check(path, true);
        }
    }

    #[test]
    fn what_may_be_read() {
        let check = |path: &str, allowed: bool| {
            let verdict = guard(&["/nowhere"]).check(Path::new(path), Access::Read);
            assert_eq!(verdict.is_ok(), allowed, "{path}: {verdict:?}");
        };
        for path in [
            "/home/u/.hermes/skills/.hub/index-cache/x.json",
            "/home/u/.hermes/auth.json",
            "/home/u/.hermes/profiles/other/auth/google_oauth.json",
            "/home/u/.hermes/profiles/work/mcp-tokens/t",
            "/srv/app/.env",
            "/srv/app/.ENV.local",
            "/srv/app/.envrc",
        ] {
            check(path, false);
        }
        for path in [
            "/srv/app/.env.example",
            "/etc/hosts",
            "/home/u/.hermes/config.yaml",
            "/home/u/.hermes/skills/x/SKILL.md",
            "/srv/app/auth.json",
        ] {
            check(path, true);
        }
    }

    #[test]
    fn safe_roots_bound_writes() {
        let guard = guard(&["/srv/a", "/srv/b"]);
        let check = |path: &str, allowed: bool| {
            assert_eq!(
                guard.check(Path::new(path), Access::Write).is_ok(),
                allowed,
                "{path}"
            );
        };
        check("/srv/a/x", true);
        check("/srv/b/c/d", true);
        check("/srv/ab", false);
        check("/tmp/x", false);
        check("/srv", false);
    }

    #[test]
    fn devices() {
        let check = |path: &str, expected: bool| {
            assert_eq!(is_device(Path::new(path)), expected, "{path}");
        };
        check("/dev/zero", true);
        check("/dev/fd/1", true);
        check("/proc/self/fd/0", true);
        check("/proc/77/environ", true);
        check("/proc/77/task/78/mem", true);
        check("/proc/cpuinfo", false);
        check("/proc/meminfo", false);
        check("/dev/null", false);
        check("/work/dev/zero", false);
    }
}
