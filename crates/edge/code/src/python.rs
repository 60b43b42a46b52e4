//! The Python that runs scripts: looked for without starting anything, tried before it is first used.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::Env;
use hermes_proc::{Event, Exit, Spawn, Stdin, Tty};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::Mode;

/// Fails if it is too old for the module that scripts import.
const TRIAL: &str = "import sys; sys.exit(sys.version_info < (3, 8))";
/// A launcher that picks a version may take its time.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const MISSING: &str =
    "execute_code needs Python 3.8 or newer: there is no python3 on the PATH";

#[derive(Debug)]
pub(crate) struct Python {
    /// Those that are there, the best first.
    candidates: Vec<PathBuf>,
    usable: OnceCell<PathBuf>,
}

impl Python {
    pub fn find(env: &Env, mode: Mode) -> Self {
        let own = match mode {
            Mode::Project => &["VIRTUAL_ENV", "CONDA_PREFIX"][..],
            Mode::Strict => &[],
        };
        let own = own.iter().filter_map(|name| env.filled(name));
        let own = own.map(|dir| Path::new(dir).join("bin/python"));
        let path = env.filled("PATH").unwrap_or_default().split(':');
        let on_path = path.map(|dir| Path::new(dir).join("python3"));
        let on_path = on_path.filter(|file| is_program(file)).take(1);
        let candidates = own.filter(|file| is_program(file)).chain(on_path);
        Self {
            candidates: candidates.collect(),
            usable: OnceCell::new(),
        }
    }

    pub fn is_there(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// The first that is new enough.
    pub async fn usable(&self, env: &Env) -> Result<&Path, String> {
        let tried = self.usable.get_or_try_init(|| self.try_all(env)).await;
        tried.map(PathBuf::as_path)
    }

    async fn try_all(&self, env: &Env) -> Result<PathBuf, String> {
        for candidate in &self.candidates {
            if works(candidate, env).await {
                return Ok(candidate.clone());
            }
        }
        let tried: Vec<String> = self
            .candidates
            .iter()
            .map(|candidate| candidate.display().to_string())
            .collect();
        Err(match tried.is_empty() {
            true => MISSING.to_owned(),
            false => format!(
                "execute_code needs Python 3.8 or newer, and this is not one: {}",
                tried.join(", ")
            ),
        })
    }
}

fn is_program(file: &Path) -> bool {
    let runs = |data: std::fs::Metadata| data.is_file() && data.permissions().mode() & 0o111 != 0;
    file.is_absolute() && file.metadata().is_ok_and(runs)
}

async fn works(python: &Path, env: &Env) -> bool {
    let spawn = Spawn {
        program: python.to_owned(),
        args: vec!["-c".to_owned(), TRIAL.to_owned()],
        env: env
            .iter()
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .collect(),
        dir: "/".into(),
        stdin: Stdin::Null,
        tty: Tty::None,
    };
    let Ok(mut trial) = spawn.start() else {
        return false;
    };
    let end = async {
        loop {
            if let Event::Ended(exit) = trial.next().await {
                return exit;
            }
        }
    };
    timeout(PATIENCE, end).await == Ok(Exit::Code(0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn program(dir: &Path, name: &str, text: &str) {
        fs::create_dir_all(dir).unwrap();
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[tokio::test]
    async fn the_projects_own_python_comes_first_if_it_is_new_enough() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        let (good, old) = ("#!/bin/sh\nexit 0\n", "#!/bin/sh\nexit 1\n");
        program(&at("new/bin"), "python", good);
        program(&at("old/bin"), "python", old);
        program(&at("path"), "python3", good);
        program(&at("old-path"), "python3", old);
        fs::create_dir_all(at("none")).unwrap();
        fs::write(at("none/python3"), good).unwrap();
        let check = async |project: &str, path: &[&str], mode: Mode, expected: &str| {
            let path: Vec<_> = path
                .iter()
                .map(|dir| at(dir).display().to_string())
                .collect();
            let env = Env::from([
                ("VIRTUAL_ENV", at(project).to_str().unwrap()),
                ("PATH", &path.join(":")),
            ]);
            let python = Python::find(&env, mode);
            match python.usable(&env).await {
                Ok(found) => assert_eq!(found, at(expected)),
                Err(error) => assert!(error.contains(expected), "{error} for {expected}"),
            }
            let missing = expected.starts_with("no python3");
            assert_eq!(python.is_there(), !missing);
        };
        check("new", &["path"], Mode::Project, "new/bin/python").await;
        check("new", &["path"], Mode::Strict, "path/python3").await;
        check("old", &["none", "path"], Mode::Project, "path/python3").await;
        check("gone", &["path"], Mode::Project, "path/python3").await;
        check(
            "gone",
            &["none", "gone"],
            Mode::Project,
            "no python3 on the PATH",
        )
        .await;
        check("gone", &["old-path"], Mode::Project, "old-path/python3").await;
    }
}
