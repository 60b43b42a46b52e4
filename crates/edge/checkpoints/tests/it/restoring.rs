//! The way back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_checkpoints::{Error, RolledBack, Scope};
use pretty_assertions::assert_eq;

use crate::bench::{Bench, files, fresh, restore};

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

#[tokio::test]
async fn files_get_their_content_back_and_new_ones_stay() {
    let bench = Bench::new();
    bench.write("f.txt", "old\n");
    bench.write("sub/gone.txt", "gone\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "before patch").await);
    bench.write("f.txt", "new\n");
    bench.write("sub/later.txt", "later\n");
    fs::remove_file(bench.dir().join("sub/gone.txt")).unwrap();
    let restored = restore(&checkpoints, &bench.dir(), "1").await;
    assert_eq!(restored.to.reason, "before patch");
    assert_eq!(restored.written, paths(&["f.txt", "sub/gone.txt"]));
    assert_eq!(restored.later, paths(&["sub/later.txt"]));
    assert_eq!(
        (bench.read("f.txt"), bench.read("sub/gone.txt")),
        ("old\n".into(), "gone\n".into())
    );
    assert_eq!(bench.read("sub/later.txt"), "later\n");
    // How it was before that is the newest snapshot now.
    let list = checkpoints.list(&bench.dir()).await.unwrap();
    let expected = format!(
        "pre-rollback snapshot (restoring to {})",
        restored.to.short()
    );
    assert_eq!((list.len(), &list[0].reason), (2, &expected));
    restore(&checkpoints, &bench.dir(), &list[0].hash[..10]).await;
    assert_eq!(bench.read("f.txt"), "new\n");
}

#[tokio::test]
async fn one_file_only() {
    let bench = Bench::new();
    bench.write("a.txt", "a\n");
    bench.write("dir/b.txt", "b\n");
    bench.write("dir/c.txt", "c\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    for name in ["a.txt", "dir/b.txt", "dir/c.txt"] {
        bench.write(name, "changed\n");
    }
    let dir = bench.dir();
    let one =
        async |which: &str, path: &str| checkpoints.restore(&dir, which, Scope::Path(path)).await;
    assert_eq!(
        one("1", "dir/b.txt").await.unwrap().written,
        paths(&["dir/b.txt"])
    );
    assert_eq!(
        (bench.read("dir/b.txt"), bench.read("a.txt")),
        ("b\n".into(), "changed\n".into())
    );
    assert_eq!(
        one("2", "./dir/").await.unwrap().written,
        paths(&["dir/c.txt"])
    );
    assert_eq!(one("3", "dir/c.txt").await.unwrap().written, paths(&[]));
    assert!(matches!(one("3", "none").await, Err(Error::NotInIt { .. })));
    for path in ["../x", "/etc/passwd", "", "dir/../.."] {
        assert!(
            matches!(one("3", path).await, Err(Error::Outside(_))),
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_is_no_checkpoint() {
    let bench = Bench::new();
    bench.write("f", "x\n");
    let checkpoints = bench.open();
    let check = async |which: &str| {
        let refused = checkpoints
            .restore(&bench.dir(), which, Scope::Everything)
            .await;
        refused.unwrap_err().to_string()
    };
    assert!(check("1").await.contains("no checkpoints of"));
    let hash = fresh(checkpoints.take(&bench.dir(), "x").await);
    for which in [
        "--help",
        "-1",
        "abc",
        "HEAD",
        "refs/hermes",
        &"a".repeat(65),
    ] {
        assert!(check(which).await.contains("is no checkpoint"), "{which}");
    }
    for which in ["0", "2", "00000000", &hash.replace(|_| true, "0")] {
        assert!(
            check(which).await.contains("there is no checkpoint"),
            "{which}"
        );
    }
    restore(&checkpoints, &bench.dir(), &hash.to_uppercase()).await;
}

#[tokio::test]
async fn nothing_is_removed_to_make_way() {
    let bench = Bench::new();
    bench.write("was-file", "x\n");
    bench.write("was-dir/f", "x\n");
    bench.write("linked/f", "x\n");
    bench.write("free", "x\n");
    fs::set_permissions(
        bench.dir().join("linked/f"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    let outside = bench.temp.home().join("outside");
    fs::create_dir(&outside).unwrap();
    bench.temp.write(outside.join("f"), "not ours\n");
    bench.write("free", "y\n");
    for name in ["was-file", "was-dir", "linked"] {
        let path = bench.dir().join(name);
        fs::remove_dir_all(&path)
            .or_else(|_| fs::remove_file(&path))
            .unwrap();
    }
    bench.write("was-file/.env", "secret\n");
    bench.write("was-dir", "a file now\n");
    std::os::unix::fs::symlink(&outside, bench.dir().join("linked")).unwrap();
    let restored = restore(&checkpoints, &bench.dir(), "1").await;
    assert_eq!(
        restored.blocked,
        paths(&["linked/f", "was-dir/f", "was-file"])
    );
    assert_eq!(restored.written, paths(&["free"]));
    assert_eq!(bench.temp.read(outside.join("f")), "not ours\n");
    assert_eq!(bench.temp.mode(outside.join("f")) & 0o111, 0);
    assert_eq!(bench.read("was-file/.env"), "secret\n");
}

#[tokio::test]
async fn modes_stay_as_private_as_they_are() {
    let bench = Bench::new();
    bench.write("key", "one\n");
    bench.write("run", "#!/bin/sh\n");
    let mode = |name: &str| {
        fs::metadata(bench.dir().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    let set = |name: &str, mode: u32| {
        fs::set_permissions(bench.dir().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("key", 0o600);
    set("run", 0o750);
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    bench.write("key", "two\n");
    set("run", 0o640);
    restore(&checkpoints, &bench.dir(), "1").await;
    assert_eq!((mode("key"), mode("run")), (0o600, 0o750));
    assert_eq!(bench.read("key"), "one\n");
}

/// Small numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn bytes(&mut self) -> Vec<u8> {
        let alphabet = b"ab\n\r\n\0\xff$Id$ \t";
        let size = self.roll(40);
        (0..size)
            .map(|_| alphabet[self.roll(alphabet.len() as u64) as usize])
            .collect()
    }
}

#[tokio::test]
async fn whatever_was_done_the_bytes_come_back() {
    for seed in 0..6 {
        let mut bench = Bench::new();
        bench.limits.snapshots = 4;
        let mut dice = Dice(seed);
        let names = [
            "a", "b.txt", "d/c", "d/e/f", "ö x", "-n", ":(top)g", "d/*.md",
        ];
        bench.write(
            ".gitattributes",
            "* text=auto eol=crlf ident\nb.txt working-tree-encoding=UTF-16\n",
        );
        let checkpoints = bench.open();
        let mut states: Vec<BTreeMap<PathBuf, Vec<u8>>> = Vec::new();
        for _ in 0..7 {
            for _ in 0..3 {
                let name = bench
                    .dir()
                    .join(names[dice.roll(names.len() as u64) as usize]);
                match dice.roll(4) {
                    // May well not be there.
                    0 => drop(fs::remove_file(&name)),
                    _ => drop(bench.temp.write(&name, dice.bytes())),
                }
            }
            let state = files(&bench.dir());
            match checkpoints.take(&bench.dir(), "x").await.unwrap() {
                hermes_checkpoints::Taken::New(_) => states.push(state),
                _ => assert_eq!(Some(&state), states.last()),
            }
            if dice.roll(3) == 0 {
                let list = checkpoints.list(&bench.dir()).await.unwrap();
                let number = dice.roll(list.len() as u64) as usize + 1;
                let expected = states[states.len() - number].clone();
                let restored = restore(&checkpoints, &bench.dir(), &number.to_string()).await;
                assert_eq!(restored.blocked, paths(&[]));
                let mut now = files(&bench.dir());
                for later in &restored.later {
                    assert!(now.remove(later).is_some() && !expected.contains_key(later));
                }
                assert_eq!(now, expected, "seed {seed}");
                // Nothing was unsaved, so there is no snapshot of it.
                let state = files(&bench.dir());
                if let hermes_checkpoints::Taken::New(_) =
                    checkpoints.take(&bench.dir(), "y").await.unwrap()
                {
                    states.push(state);
                }
            }
        }
        bench.is_sound();
    }
}

#[tokio::test]
async fn in_words() {
    let bench = Bench::new();
    let checkpoints = bench.open();
    let dir = bench.dir();
    let say = async |words: &str| checkpoints.rollback(&dir, words).await;
    let told = |said: RolledBack| match said {
        RolledBack::Told(text) => text,
        RolledBack::Restored(text) => panic!("{text}"),
    };
    assert!(told(say("").await).contains("--checkpoints"));
    bench.write("f.txt", "one\n");
    fresh(checkpoints.take(&dir, "before write_file").await);
    bench.write("f.txt", "two\n");
    let list = told(say("").await);
    assert!(
        list.contains("   1. ") && list.contains("before write_file  (1 file, +1 -0)"),
        "{list}"
    );
    let diff = told(say("diff 1").await);
    assert!(diff.contains("-one\n+two"), "{diff}");
    assert!(told(say("diff").await).contains("no checkpoint"));
    assert!(told(say("--help").await).contains("no checkpoint"));
    // Looking changes nothing.
    assert_eq!(checkpoints.list(&dir).await.unwrap().len(), 1);
    let RolledBack::Restored(text) = say("1 f.txt").await else {
        panic!("not restored");
    };
    assert!(
        text.contains("1 file") && text.contains("before write_file"),
        "{text}"
    );
    assert_eq!(bench.read("f.txt"), "one\n");
    assert!(told(say("2").await).contains("already"));
    assert!(told(say("diff 2").await).contains("nothing has changed"));
    let home = checkpoints.rollback(Path::new("/"), "").await;
    assert!(told(home).contains("home directory"));
}
