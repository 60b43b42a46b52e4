//! Checkouts of a session's own, in real repositories.

use std::path::{Path, PathBuf};

use hermes_exec::worktree::{Error, Holds, Worktree};
use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;

/// A repository with one commit.
struct Repo(TempHome);

impl Repo {
    fn new() -> Self {
        let repo = Self::without_commits();
        repo.write("README", "hello\n");
        repo.git(".", &["add", "."]);
        repo.git(".", &["commit", "-qm", "first"]);
        repo
    }

    fn without_commits() -> Self {
        let repo = Self(TempHome::new());
        let config = "[user]\nname = T\nemail = t@example.com\n[init]\ndefaultBranch = main\n";
        repo.0.write(repo.0.home().join(".gitconfig"), config);
        repo.git(".", &["init", "-q"]);
        repo
    }

    fn dir(&self) -> PathBuf {
        self.0.work()
    }

    fn env(&self) -> Vec<(String, String)> {
        let home = self.0.home().display().to_string();
        let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        vec![("HOME".to_owned(), home), ("PATH".to_owned(), path)]
    }

    #[track_caller]
    fn git(&self, dir: impl AsRef<Path>, args: &[&str]) -> String {
        let git = self.0.cmd("git").current_dir(self.dir().join(dir));
        git.args(args.iter().copied()).run().ok().trim().to_owned()
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) {
        self.0.write(self.dir().join(path), text);
    }

    async fn checkout(&self) -> Worktree {
        let (worktree, warnings) = Worktree::create(&self.dir(), &self.env()).await.unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        worktree
    }

    /// A checkout that its session has left.
    async fn left(&self, with: &str) -> PathBuf {
        let worktree = self.checkout().await;
        let path = worktree.path().to_owned();
        if with != "nothing" {
            self.write(path.join("new"), "work\n");
        }
        if with == "a commit" {
            self.commit(&path);
        }
        worktree.keep().await;
        path
    }

    fn age(&self, path: &Path, hours: u32) {
        let touch = self.0.cmd("touch").arg("-d");
        touch.arg(format!("{hours} hours ago")).arg(path).run().ok();
    }

    fn commit(&self, dir: &Path) {
        self.git(dir, &["add", "."]);
        self.git(dir, &["commit", "-qm", "work"]);
    }

    fn branches(&self) -> Vec<String> {
        let text = self.git(
            ".",
            &["for-each-ref", "--format=%(refname:short)", "refs/heads"],
        );
        text.lines().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_checkout_comes_and_goes() {
    let repo = Repo::new();
    repo.write(".gitignore", "target");
    repo.git(".", &["add", "."]);
    repo.git(".", &["commit", "-qm", "second"]);
    let worktree = repo.checkout().await;
    let path = worktree.path().to_owned();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(path.parent().unwrap(), repo.dir().join(".worktrees"));
    assert_eq!((name.len(), &name[..7]), (15, "hermes-"));
    assert_eq!(worktree.branch(), format!("hermes/{name}"));
    assert_eq!(
        repo.git(&path, &["branch", "--show-current"]),
        worktree.branch()
    );
    assert_eq!(repo.0.read(path.join("README")), "hello\n");
    assert_eq!(worktree.holds().await.unwrap(), Holds::Nothing);
    worktree.remove().await.unwrap();
    assert!(!path.exists());
    assert_eq!(repo.branches(), ["main"]);
    repo.checkout().await.remove().await.unwrap();
    assert_eq!(
        repo.0.read(repo.dir().join(".gitignore")),
        "target\n.worktrees/\n"
    );
}

#[tokio::test]
async fn what_a_checkout_holds() {
    let repo = Repo::new();
    repo.git(".", &["branch", "other"]);
    for (commands, expected) in [
        ("true", Holds::Nothing),
        ("echo x > new", Holds::Changes),
        ("echo x >> README", Holds::Changes),
        ("git commit -q --allow-empty -m work-1", Holds::Commits),
        (
            "git checkout -q -b feature && git commit -q --allow-empty -m work-2",
            Holds::Commits,
        ),
        (
            "git branch -m renamed && git commit -q --allow-empty -m work-3",
            Holds::Commits,
        ),
        (
            "git checkout -q --detach && git commit -q --allow-empty -m work-4",
            Holds::Commits,
        ),
        (
            "git commit -q --allow-empty -m work-5 && git checkout -q --detach main",
            Holds::Commits,
        ),
        (
            "git commit -q --allow-empty -m work-6 && git branch -f other HEAD",
            Holds::Nothing,
        ),
        (
            "git commit -q --allow-empty -m work-7 && git update-ref refs/remotes/origin/x HEAD",
            Holds::Nothing,
        ),
    ] {
        let worktree = repo.checkout().await;
        let shell = repo.0.cmd("sh").current_dir(worktree.path());
        shell.args(["-c", commands]).run().ok();
        assert_eq!(worktree.holds().await.unwrap(), expected, "{commands}");
        worktree.remove().await.unwrap();
    }
    let worktree = repo.checkout().await;
    std::fs::remove_dir_all(worktree.path()).unwrap();
    assert_eq!(worktree.holds().await.unwrap(), Holds::Nothing);
    worktree.remove().await.unwrap();
    assert!(
        repo.branches()
            .iter()
            .all(|name| !name.starts_with("hermes/"))
    );
}

#[tokio::test]
async fn what_was_brought_along_is_nobodys_work() {
    let repo = Repo::new();
    repo.write(".worktreeinclude", ".env\nmodules\n");
    repo.write(".env", "A=1\n");
    repo.write("modules/m.js", "m\n");
    let worktree = repo.checkout().await;
    assert_eq!(repo.0.read(worktree.path().join("modules/m.js")), "m\n");
    assert_eq!(worktree.holds().await.unwrap(), Holds::Nothing);
    repo.write(worktree.path().join(".env"), "A=2\n");
    assert_eq!(worktree.holds().await.unwrap(), Holds::Changes);
    worktree.remove().await.unwrap();
    assert_eq!(repo.0.read(repo.dir().join("modules/m.js")), "m\n");
    assert_eq!(repo.0.read(repo.dir().join(".env")), "A=1\n");
}

#[tokio::test]
async fn old_checkouts_go_unless_they_hold_something() {
    let repo = Repo::new();
    let young = repo.left("nothing").await;
    let idle = repo.left("nothing").await;
    let changed = repo.left("changes").await;
    let forgotten = repo.left("changes").await;
    let unpushed = repo.left("a commit").await;
    let running = repo.checkout().await;
    for (path, hours) in [(&young, 23), (&idle, 25), (&changed, 25)] {
        repo.age(path, hours);
    }
    for path in [&forgotten, &unpushed, running.path()] {
        repo.age(path, 100);
    }
    let (new, warnings) = Worktree::create(&repo.dir(), &repo.env()).await.unwrap();
    assert!(!idle.exists());
    for path in [
        &young,
        &changed,
        &forgotten,
        &unpushed,
        running.path(),
        new.path(),
    ] {
        assert!(path.exists(), "{}", path.display());
    }
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for path in [&forgotten, &unpushed] {
        let about = |warning: &&String| warning.contains(path.to_str().unwrap());
        assert_eq!(warnings.iter().filter(about).count(), 1, "{warnings:?}");
    }
    let hermes = repo
        .branches()
        .into_iter()
        .filter(|name| name.starts_with("hermes/"));
    assert_eq!(hermes.count(), 6);
}

#[tokio::test]
async fn branches_that_are_left_over_go() {
    let repo = Repo::new();
    for name in ["pr-1", "hermes/hermes-00000000", "pr-mine", "feature"] {
        repo.git(".", &["branch", name]);
    }
    repo.git(".", &["checkout", "-q", "-b", "pr-work"]);
    repo.git(".", &["commit", "-q", "--allow-empty", "-m", "work"]);
    repo.git(".", &["checkout", "-q", "pr-mine"]);
    let worktree = repo.checkout().await;
    let expected = ["feature", worktree.branch(), "main", "pr-mine", "pr-work"];
    assert_eq!(repo.branches(), expected);
}

#[tokio::test]
async fn sessions_inside_a_checkout_do_not_nest() {
    let repo = Repo::new();
    let outer = repo.checkout().await;
    repo.write(outer.path().join("new"), "work\n");
    repo.commit(outer.path());
    let (inner, _) = Worktree::create(outer.path(), &repo.env()).await.unwrap();
    assert_eq!(inner.path().parent(), outer.path().parent());
    assert!(
        inner.path().join("new").exists(),
        "it begins where the outer one is"
    );
    assert_eq!(inner.holds().await.unwrap(), Holds::Nothing);
    inner.remove().await.unwrap();
    assert_eq!(outer.holds().await.unwrap(), Holds::Commits);
}

#[tokio::test]
async fn there_is_no_session_without_a_checkout() {
    let outside = TempHome::new();
    let env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let error = Worktree::create(&outside.work(), &env).await.unwrap_err();
    assert!(matches!(error, Error::NoRepository(_)), "{error}");
    let empty = Repo::without_commits();
    let error = Worktree::create(&empty.dir(), &empty.env())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NoCommit), "{error}");
    let nowhere = vec![("PATH".to_owned(), "/nonexistent".to_owned())];
    let error = Worktree::create(&empty.dir(), &nowhere).await.unwrap_err();
    assert!(matches!(error, Error::NoGit), "{error}");
}

#[tokio::test]
async fn another_repository_in_the_environment_does_not_count() {
    let (repo, other) = (Repo::new(), Repo::new());
    let mut env = repo.env();
    let elsewhere = other.dir().join(".git").display().to_string();
    env.push(("GIT_DIR".to_owned(), elsewhere));
    let (worktree, _) = Worktree::create(&repo.dir(), &env).await.unwrap();
    assert!(worktree.path().starts_with(repo.dir()));
    assert_eq!(other.branches(), ["main"]);
}
