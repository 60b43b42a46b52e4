//! A home and a project, for one test.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::config::Settings;
use hermes_home::{Env, Home, Resolved};
use hermes_refs::{Expanded, References};
use tempfile::TempDir;

pub struct Bench {
    dir: TempDir,
    pub home: Home,
    pub env: Env,
}

impl Bench {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["home/.hermes", "home/project"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let home = dir.path().join("home");
        let process = Env::from_process();
        let path = process.get("PATH").unwrap_or_default();
        let env = Env::from([
            ("HOME", home.to_str().unwrap()),
            ("HERMES_HOME", home.join(".hermes").to_str().unwrap()),
            ("PATH", path),
        ]);
        let resolved = Resolved::from(None, &env).unwrap();
        Self {
            home: resolved.home(&env),
            env,
            dir,
        }
    }

    pub fn user_home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.user_home().join("project")
    }

    /// A file below the user's home.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.user_home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn references(&self) -> References {
        let settings = Settings::load(&self.home, &self.env);
        References::new(&self.home, &settings, &self.env)
    }

    pub async fn expand(&self, text: &str) -> Expanded {
        self.expand_in(text, &self.project()).await
    }

    pub async fn expand_in(&self, text: &str, cwd: &Path) -> Expanded {
        self.references().expand(text, cwd, 10_000).await
    }
}
