//! Projects as people have them: repositories, submodules, links, names that are no text.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use hermes_checkpoints::Taken;
use pretty_assertions::assert_eq;

use crate::bench::{Bench, files, fresh, restore};

// spec: terminal-and-safety §13.22
#[tokio::test]
async fn the_users_own_repository_is_not_touched() {
    let bench = Bench::new();
    let marks = bench.temp.home().join("marks");
    fs::create_dir(&marks).unwrap();
    let hook = format!("#!/bin/sh\ntouch {}/$(basename $0)\n", marks.display());
    let signer = bench
        .temp
        .write(bench.temp.home().join("signer"), hook.clone());
    fs::set_permissions(&signer, fs::Permissions::from_mode(0o755)).unwrap();
    bench.git(&["init", "-q"]);
    bench.write("f.txt", "old\r\n");
    bench.git(&["add", "."]);
    bench.git(&["commit", "-qm", "first"]);
    let hooks = bench.temp.home().join("hooks");
    for name in [
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        let own = bench
            .temp
            .write(bench.dir().join(".git/hooks").join(name), hook.clone());
        let everywhere = bench.temp.write(hooks.join(name), hook.clone());
        for file in [own, everywhere] {
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let config = format!(
        "[commit]\ngpgSign = true\n[gpg]\nprogram = {0}\n[core]\nhooksPath = {1}\nfsmonitor = {0}\n\
         [filter \"x\"]\nclean = {0}\nsmudge = {0}\nrequired = true\n",
        signer.display(),
        hooks.display()
    );
    bench
        .temp
        .write(bench.temp.home().join(".gitconfig"), config.clone());
    bench.temp.write(
        bench.dir().join(".git/config"),
        bench.read(".git/config") + &config,
    );
    bench.write(".gitattributes", "* filter=x text=auto\n");
    let before = files(&bench.dir().join(".git"));
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "before write_file").await);
    bench.write("f.txt", "new\n");
    restore(&checkpoints, &bench.dir(), "1").await;
    assert_eq!(bench.read("f.txt"), "old\r\n");
    assert_eq!(fs::read_dir(&marks).unwrap().count(), 0);
    assert_eq!(files(&bench.dir().join(".git")), before);
}

#[tokio::test]
async fn other_repositories_inside_are_their_own_affair() {
    let bench = Bench::new();
    bench.write("top.txt", "top\n");
    for (name, commits) in [("with", true), ("without", false)] {
        let dir = bench.dir().join(name);
        fs::create_dir(&dir).unwrap();
        bench.git(&["init", "-q", name]);
        bench.write(dir.join("f"), "x\n");
        if commits {
            bench.git(&["-C", name, "add", "."]);
            bench.git(&["-C", name, "commit", "-qm", "first"]);
        }
    }
    bench.write("becomes/f", "x\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    assert_eq!(bench.kept(), ["becomes/f", "top.txt"]);
    bench.git(&["init", "-q", "becomes"]);
    bench.write("becomes/f", "y\n");
    bench.write("top.txt", "changed\n");
    fresh(checkpoints.take(&bench.dir(), "y").await);
    assert_eq!(bench.kept(), ["top.txt"]);
    // Inside of one, it is the project.
    fresh(checkpoints.take(&bench.dir().join("with"), "z").await);
    restore(&checkpoints, &bench.dir(), "1").await;
    assert_eq!(bench.git(&["-C", "with", "status", "--porcelain"]), "");
}

#[tokio::test]
async fn links_and_names_that_are_no_text() {
    let bench = Bench::new();
    let odd = Path::new(OsStr::from_bytes(b"caf\xe9\n\"x\""));
    let outside = bench
        .temp
        .write(bench.temp.home().join("outside"), "outside\n");
    bench.write(odd, "old\n");
    bench.write(Path::new("dir").join(odd), "old\n");
    symlink(&outside, bench.dir().join("link")).unwrap();
    symlink("nowhere", bench.dir().join("dangling")).unwrap();
    symlink(bench.temp.home(), bench.dir().join("homedir")).unwrap();
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    let before = files(&bench.dir());
    bench.write(odd, "new\n");
    fs::remove_file(bench.dir().join("dir").join(odd)).unwrap();
    for link in ["link", "dangling"] {
        fs::remove_file(bench.dir().join(link)).unwrap();
        bench.write(link, "a file now\n");
    }
    let restored = restore(&checkpoints, &bench.dir(), "1").await;
    assert_eq!((restored.written.len(), restored.blocked.len()), (4, 0));
    assert_eq!(files(&bench.dir()), before);
    assert_eq!(bench.temp.read(&outside), "outside\n");
    // Through a link to it, it is the same project.
    let link = bench.temp.home().join("link-to-project");
    symlink(bench.dir(), &link).unwrap();
    fresh(checkpoints.take(&bench.dir(), "y").await);
    assert_eq!(
        checkpoints.take(&link, "y").await.unwrap(),
        Taken::Unchanged
    );
}

#[tokio::test]
async fn another_program_may_have_left_its_own_things() {
    let bench = Bench::new();
    bench.write("f.txt", "one\n");
    // As the program in Python makes it, which knows nothing of attributes.
    let store = bench.store();
    fs::create_dir_all(&store).unwrap();
    bench.shadow(&["init", "-q", "--bare", "."]);
    for dir in ["indexes", "projects"] {
        fs::create_dir(store.join(dir)).unwrap();
    }
    bench.temp.write(store.join("info/exclude"), "*.secret\n");
    bench.write("own.secret", "x\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    assert_eq!(bench.kept(), ["f.txt"]);
    assert_eq!(bench.temp.read(store.join("info/exclude")), "*.secret\n");
}

#[tokio::test]
async fn old_repositories_are_put_aside() {
    let bench = Bench::new();
    bench.write("f.txt", "one\n");
    let base = bench.temp.hermes().join("checkpoints");
    bench
        .temp
        .write(base.join("0123456789abcdef/HEAD"), "ref: refs/heads/main\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    let status = checkpoints.status().await.unwrap();
    assert_eq!(status.archives.len(), 1);
    assert!(
        status.archives[0]
            .path
            .join("0123456789abcdef/HEAD")
            .exists()
    );
    assert!(!base.join("0123456789abcdef").exists());
    assert!(checkpoints.clear_legacy().await.unwrap() > 0);
    assert_eq!(checkpoints.status().await.unwrap().archives, []);
    assert_eq!(checkpoints.list(&bench.dir()).await.unwrap().len(), 1);
}
