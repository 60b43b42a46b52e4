//! What a confined command of this machine may touch.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{Env, secrets};
use hermes_proc::sandbox::{Network, Policy};

/// Programs that do what they are told through these, without bounds and partly as root.
const DOORS: &[&str] = &[
    "/run/user",
    "/run/dbus",
    "/run/systemd/private",
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/tmp/.X11-unix",
];

/// The places that matter for a session's bounds.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Where the session began.
    pub dir: PathBuf,
    pub temp_dir: PathBuf,
    /// `terminal.sandbox_writable`
    pub also_writable: Vec<PathBuf>,
    pub user_home: PathBuf,
    /// The home of this profile.
    pub hermes_home: PathBuf,
    /// The directory above all profiles.
    pub hermes_root: PathBuf,
    /// The owner's agents, such as `SSH_AUTH_SOCK`.
    pub agents: Vec<PathBuf>,
}

impl Surroundings {
    /// Work and throw-away files may be changed; Hermes' own things may not; secrets may not even be read.
    pub fn policy(&self, network: Network) -> Policy {
        let Self {
            dir,
            temp_dir,
            user_home,
            hermes_home,
            hermes_root,
            ..
        } = self;
        let mut writable = vec![dir.clone(), temp_dir.clone()];
        writable.extend(repository(dir));
        writable.extend(self.also_writable.iter().cloned());
        let mut fixed = within(user_home, secrets::SHELL_START);
        fixed.extend([hermes_root.clone(), hermes_home.clone()]);
        let mut hidden = within(user_home, secrets::USER);
        hidden.push(hermes_root.join("profiles"));
        for home in [hermes_root, hermes_home] {
            hidden.extend(within(home, secrets::HERMES));
            hidden.extend(within(home, secrets::HERMES_PRIVATE));
        }
        let mut doors: Vec<PathBuf> = DOORS.iter().map(PathBuf::from).collect();
        doors.extend(self.agents.iter().cloned());
        Policy {
            writable,
            fixed,
            hidden,
            doors,
            network,
        }
    }

    /// The agents that `env` names.
    pub fn agents_in(env: &Env) -> Vec<PathBuf> {
        let socket = env.filled("SSH_AUTH_SOCK").map(PathBuf::from);
        // tmux types for whoever asks it to; its variable has more behind the path.
        let tmux = env.filled("TMUX").and_then(|tmux| tmux.split(',').next());
        socket.into_iter().chain(tmux.map(PathBuf::from)).collect()
    }
}

fn within(dir: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| dir.join(name)).collect()
}

/// Where git keeps the history of what lies in `dir`; a commit writes there, wherever that is.
fn repository(dir: &Path) -> Option<PathBuf> {
    let found = dir.ancestors().map(|dir| dir.join(".git"));
    let git = found.into_iter().find(|git| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    // The checkout of a worktree: a file that names its place in the repository.
    let text = fs::read_to_string(&git).ok()?;
    let named = git.parent()?.join(text.trim().strip_prefix("gitdir: ")?);
    let common = fs::read_to_string(named.join("commondir")).ok();
    Some(match common {
        Some(common) => named.join(common.trim()),
        None => named,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_of_a_directory_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let check = |dir: &str, expected: Option<&str>| {
            let found = repository(&top.join(dir)).map(|found| fs::canonicalize(found).unwrap());
            assert_eq!(found, expected.map(|path| top.join(path)), "{dir}");
        };
        for dir in ["repo/.git/worktrees/w", "repo/src/deep", "trees/w"] {
            fs::create_dir_all(top.join(dir)).unwrap();
        }
        fs::write(top.join("repo/.git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(
            top.join("trees/w/.git"),
            format!("gitdir: {}/repo/.git/worktrees/w\n", top.display()),
        )
        .unwrap();
        check("repo", Some("repo/.git"));
        check("repo/src/deep", Some("repo/.git"));
        check("trees/w", Some("repo/.git"));
        check("trees", None);
    }

    #[test]
    fn agents_are_read_from_the_environment() {
        let env: Env = [
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("TMUX", "/tmp/tmux-0/default,77,0"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
        let expected: [PathBuf; 2] = ["/run/agent".into(), "/tmp/tmux-0/default".into()];
        assert_eq!(Surroundings::agents_in(&env), expected);
    }
}
