//! A home, a project, and git as a user has it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_checkpoints::{Checkpoints, Limits, Restored, Scope, Taken};
use hermes_home::{Env, Home, Resolved};
use hermes_testkit::TempHome;

pub struct Bench {
    pub temp: TempHome,
    pub limits: Limits,
    /// Where programs are looked for.
    pub path: String,
}

impl Bench {
    pub fn new() -> Self {
        let temp = TempHome::new();
        fs::create_dir_all(temp.hermes()).unwrap();
        let config = "[user]\nname = T\nemail = t@example.com\n[init]\ndefaultBranch = main\n";
        temp.write(temp.home().join(".gitconfig"), config);
        Self {
            temp,
            limits: Limits::default(),
            path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
        }
    }

    pub fn env(&self) -> Env {
        let (home, hermes) = (self.temp.home(), self.temp.hermes());
        Env::from([
            ("HOME", home.to_str().unwrap()),
            ("HERMES_HOME", hermes.to_str().unwrap()),
            ("PATH", &self.path),
        ])
    }

    pub fn home(&self) -> Home {
        Resolved::from(None, &self.env()).unwrap().home(&self.env())
    }

    pub fn open(&self) -> Arc<Checkpoints> {
        let limits = self.limits.clone();
        Arc::new(Checkpoints::with(&self.home(), limits, &self.env()))
    }

    /// The project.
    pub fn dir(&self) -> PathBuf {
        self.temp.work()
    }

    pub fn store(&self) -> PathBuf {
        self.temp.hermes().join("checkpoints/store")
    }

    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        self.temp.write(self.dir().join(path), content);
    }

    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        self.temp.read(self.dir().join(path))
    }

    /// The user's own git, in the project.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let git = self.temp.cmd("git").args(args.iter().copied());
        git.run().ok().trim().to_owned()
    }

    /// Git on the store.
    #[track_caller]
    pub fn shadow(&self, args: &[&str]) -> String {
        let git = self.temp.cmd("git").current_dir(self.store());
        git.args(args.iter().copied()).run().ok().trim().to_owned()
    }

    /// The one ref there is.
    pub fn reference(&self) -> String {
        let refs = self.shadow(&["for-each-ref", "--format=%(refname)"]);
        assert_eq!(refs.lines().count(), 1, "{refs}");
        refs
    }

    /// The names of the files in the latest snapshot.
    pub fn kept(&self) -> Vec<String> {
        let names = self.shadow(&["ls-tree", "-r", "--name-only", &self.reference()]);
        names.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    pub fn is_sound(&self) {
        self.shadow(&["fsck", "--strict", "--no-dangling"]);
    }

    /// A program in front of git: `script` may end by itself, else the real one runs.
    pub fn intercept(&mut self, script: &str) {
        let bin = self.temp.home().join("bin");
        let real = "/usr/bin/git";
        assert!(Path::new(real).exists());
        let script = format!("#!/bin/sh\n{script}\nexec {real} \"$@\"\n");
        let file = self.temp.write(bin.join("git"), script);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        self.path = format!("{}:/usr/bin:/bin", bin.display());
    }
}

/// Takes a snapshot that must be a new one.
#[track_caller]
pub fn fresh(taken: hermes_checkpoints::Result<Taken>) -> String {
    match taken {
        Ok(Taken::New(hash)) => hash,
        other => panic!("{other:?}"),
    }
}

pub async fn restore(checkpoints: &Checkpoints, dir: &Path, which: &str) -> Restored {
    checkpoints
        .restore(dir, which, Scope::Everything)
        .await
        .unwrap()
}

/// Every file below a directory with its bytes; for links, where they lead.
pub fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            let name = path.strip_prefix(dir).unwrap().to_owned();
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                found.insert(name, target.into_os_string().into_encoded_bytes());
            } else {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}
