//! Where a reference may lead: into the workspace, and to no secrets of its owner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_home::paths::{expand, normal};
use hermes_home::{Env, Home, secrets};

/// Third-party text that could talk the model into something.
const UNTRUSTED: &str = "skills/.hub";
/// What looks like files here is the kernel talking: environments of processes, memory, reads that never end.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Logins of programs, also where a project keeps them.
const LOGINS: [&str; 4] = [".netrc", ".pgpass", ".npmrc", ".pypirc"];

/// Why something is not attached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("this is a place for secrets, so it was not read")]
    Secret,
    #[error("this lies outside the workspace {}, so it was not read", .0.display())]
    Outside(PathBuf),
    #[error("there is nothing of this name")]
    Missing,
    #[error("this is no {0}")]
    Not(&'static str),
    #[error("this is a part of the system and no file, so it was not read")]
    Kernel,
    #[error("it has no such lines")]
    NoLines,
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
}

/// The owner's places, each as it is written and as it really is.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    user_home: PathBuf,
    user_homes: Vec<PathBuf>,
    /// Home and root of Hermes.
    hermes: Vec<PathBuf>,
    /// What holds the homes of profiles.
    profiles: Vec<PathBuf>,
}

impl Places {
    /// Blocks for a moment.
    pub fn of(home: &Home, env: &Env) -> Self {
        let both = |dirs: &[&Path]| -> Vec<PathBuf> {
            let each = dirs
                .iter()
                .flat_map(|dir| [Some(dir.to_path_buf()), fs::canonicalize(dir).ok()]);
            each.flatten().collect()
        };
        let user_home = env.user_home();
        Self {
            user_homes: both(&[&user_home]),
            hermes: both(&[home.dir(), home.root()]),
            profiles: both(&[&home.root().join("profiles")]),
            user_home,
        }
    }

    /// Whether a path leads to secrets; asked of it as it is written and as it really is.
    pub fn is_secret(&self, path: &Path) -> bool {
        let begins = |rest: &Path, places: &[&str]| places.iter().any(|one| rest.starts_with(one));
        let below = |dirs: &[PathBuf], is: &dyn Fn(&Path) -> bool| {
            let rests = dirs.iter().filter_map(|dir| path.strip_prefix(dir).ok());
            rests.into_iter().any(is)
        };
        let is_hermes = |rest: &Path| begins(rest, secrets::HERMES) || rest.starts_with(UNTRUSTED);
        let in_profile = |rest: &Path| {
            let mut parts = rest.components();
            parts.next().is_some() && is_hermes(parts.as_path())
        };
        let name = path.file_name().unwrap_or_default();
        LOGINS.iter().any(|login| name == *login)
            || below(&self.user_homes, &|rest| {
                begins(rest, secrets::USER) || begins(rest, secrets::SHELL_START)
            })
            || below(&self.hermes, &is_hermes)
            || below(&self.profiles, &in_profile)
    }
}

/// Where a session is, and how far its references reach.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    places: Places,
    pub cwd: PathBuf,
    /// The repository `cwd` lies in, or `cwd` itself.
    pub workspace: PathBuf,
}

impl Ground {
    /// Blocks for a moment.
    pub fn at(places: &Places, cwd: &Path) -> Self {
        let real = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        // Whoever keeps all of their home in git still works in one project at a time.
        let holds_home = |dir: &Path| places.user_homes.iter().any(|home| home.starts_with(dir));
        let repository = real.ancestors().find(|dir| dir.join(".git").exists());
        let workspace = repository.filter(|dir| !holds_home(dir)).unwrap_or(&real);
        Self {
            places: places.clone(),
            cwd: cwd.to_owned(),
            workspace: workspace.to_owned(),
        }
    }

    /// Where a path really leads, if it may be read. Blocks.
    pub fn find(&self, asked: &str) -> Result<PathBuf, Refused> {
        let full = self.cwd.join(expand(asked, &self.places.user_home));
        // Said first: what is refused need not exist.
        if self.places.is_secret(&normal(&full)) {
            return Err(Refused::Secret);
        }
        let real = fs::canonicalize(&full).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refused::Missing,
            _ => Refused::Unreadable(error),
        })?;
        if self.places.is_secret(&real) {
            return Err(Refused::Secret);
        }
        match real.starts_with(&self.workspace) {
            true if is_kernel(&real) => Err(Refused::Kernel),
            true => Ok(real),
            false => Err(Refused::Outside(self.workspace.clone())),
        }
    }

    pub fn is_secret(&self, path: &Path) -> bool {
        self.places.is_secret(path)
    }
}

/// Whether a real path is no file of anybody's.
pub(crate) fn is_kernel(real: &Path) -> bool {
    KERNEL.iter().any(|dir| real.starts_with(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            user_home: "/home/me".into(),
            user_homes: vec!["/home/me".into()],
            hermes: vec!["/home/me/.hermes".into()],
            profiles: vec!["/home/me/.hermes/profiles".into()],
        }
    }

    #[test]
    fn places_for_secrets() {
        let check = |path: &str, expected: bool| {
            assert_eq!(places().is_secret(Path::new(path)), expected, "{path}");
        };
        for dir in [
            ".ssh",
            ".aws",
            ".gnupg",
            ".kube",
            ".docker",
            ".azure",
            ".config/gh",
        ] {
            check(&format!("/home/me/{dir}"), true);
            check(&format!("/home/me/{dir}/x/y"), true);
            check(&format!("/home/me/project/{dir}/x"), false);
        }
        for file in [".bashrc", ".zshrc", ".profile", ".netrc", ".npmrc"] {
            check(&format!("/home/me/{file}"), true);
        }
        check("/home/me/project/.npmrc", true);
        check("/home/me/project/.bashrc", false);
        check("/home/me/.sshd", false);
        check("/home/me/.hermes/.env", true);
        check("/home/me/.hermes/auth.json", true);
        check("/home/me/.hermes/skills/.hub/x", true);
        check("/home/me/.hermes/skills/mine/SKILL.md", false);
        check("/home/me/.hermes/profiles/work/.env", true);
        check("/home/me/.hermes/profiles/work/SOUL.md", false);
        check("/home/me/project/.env", false);
    }

    #[test]
    fn the_workspace_is_the_repository_or_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let (home, sub) = (top.join("home"), top.join("home/repo/sub"));
        fs::create_dir_all(&sub).unwrap();
        let mut places = places();
        places.user_homes = vec![home.clone()];
        let workspace = |places: &Places| Ground::at(places, &sub).workspace;
        assert_eq!(workspace(&places), sub);
        fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(workspace(&places), sub, "a home is no project");
        fs::create_dir(home.join("repo/.git")).unwrap();
        assert_eq!(workspace(&places), home.join("repo"));
    }
}
