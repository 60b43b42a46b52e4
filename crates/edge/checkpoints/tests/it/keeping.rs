//! Snapshots: what is in them, and how they lie in the store.

use std::path::Path;

use hermes_checkpoints::{Error, Taken};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::bench::{Bench, fresh};

#[tokio::test]
async fn the_layout_is_the_one_everybody_knows() {
    let bench = Bench::new();
    bench.write("f.txt", "one\n");
    let checkpoints = bench.open();
    let commit = fresh(checkpoints.take(&bench.dir(), "before write_file").await);
    assert_eq!(bench.temp.mode("checkpoints"), 0o700);
    let reference = bench.reference();
    let hash = reference.strip_prefix("refs/hermes/").unwrap().to_owned();
    assert_eq!(hash.len(), 16);
    assert_eq!(bench.shadow(&["rev-parse", &reference]), commit);
    assert!(bench.store().join("indexes").join(&hash).is_file());
    let record = bench
        .temp
        .read(bench.store().join(format!("projects/{hash}.json")));
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(Path::new(record["workdir"].as_str().unwrap()), bench.dir());
    assert!(record["created_at"].is_f64() && record["last_touch"].is_f64());
    let exclude = bench.temp.read(bench.store().join("info/exclude"));
    assert!(exclude.contains("node_modules/\n") && exclude.contains(".env*\n"));
    let who = bench.shadow(&["log", "-1", "--format=%an <%ae> %s", &reference]);
    assert_eq!(who, "Hermes Checkpoint <hermes@local> before write_file");
    bench.is_sound();
}

#[tokio::test]
async fn the_same_again_is_no_new_one() {
    let bench = Bench::new();
    let checkpoints = bench.open();
    assert_eq!(
        checkpoints.take(&bench.dir(), "a").await.unwrap(),
        Taken::Empty
    );
    bench.write("f.txt", "one\n");
    fresh(checkpoints.take(&bench.dir(), "a").await);
    let again = checkpoints.take(&bench.dir(), "b").await.unwrap();
    assert_eq!(again, Taken::Unchanged);
    // Another program that opens the store sees the same.
    bench.write("f.txt", "two\n");
    fresh(bench.open().take(&bench.dir(), "c").await);
    let list = checkpoints.list(&bench.dir()).await.unwrap();
    let reasons: Vec<&str> = list.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, ["c", "a"]);
    assert_eq!(
        (list[0].files, list[0].insertions, list[0].deletions),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn some_files_are_nobodys_business() {
    let mut bench = Bench::new();
    bench.limits.file = Some(1000);
    for name in [
        ".env",
        ".env.local",
        "sub/.env.production",
        "node_modules/x/index.js",
        "target/debug/a",
        "a.log",
        "lib.so",
        "film.mp4",
        "ignored.txt",
    ] {
        bench.write(name, "secret\n");
    }
    bench.write("large.bin", vec![7; 1001]);
    bench.write("grows.txt", "small\n");
    bench.write("sub/code.rs", "fn main() {}\n");
    // A project's own rules may leave out more, but never let secrets in.
    bench.write(".gitignore", "ignored.txt\n!.env\n!.env.local\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "a").await);
    assert_eq!(bench.kept(), [".gitignore", "grows.txt", "sub/code.rs"]);
    // Even their content is nowhere.
    let objects = bench.shadow(&["cat-file", "--batch-all-objects", "--batch-check"]);
    assert_eq!(objects.matches(" blob ").count(), 3, "{objects}");
    bench.write("grows.txt", vec![b'x'; 2000]);
    fresh(checkpoints.take(&bench.dir(), "b").await);
    assert_eq!(bench.kept(), [".gitignore", "sub/code.rs"]);
}

#[tokio::test]
async fn only_the_newest_are_kept() {
    let mut bench = Bench::new();
    bench.limits.snapshots = 3;
    let checkpoints = bench.open();
    for number in 1..=6 {
        bench.write("f.txt", format!("{number}\n"));
        fresh(
            checkpoints
                .take(&bench.dir(), &format!("number {number}"))
                .await,
        );
    }
    let list = checkpoints.list(&bench.dir()).await.unwrap();
    let reasons: Vec<&str> = list.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, ["number 6", "number 5", "number 4"]);
    let now = jiff::Timestamp::now();
    assert!(
        list.iter()
            .all(|one| now.duration_since(one.at).as_secs() < 60)
    );
    assert!(bench.store().join(".gc-pending").exists());
    bench.is_sound();
}

#[tokio::test]
async fn places_without_checkpoints() {
    let mut bench = Bench::new();
    let checkpoints = bench.open();
    let home = bench.temp.home();
    let above = home.parent().unwrap();
    bench.temp.write("skills/s/SKILL.md", "x");
    for dir in [Path::new("/"), above, &home, &bench.temp.hermes()] {
        let refused = checkpoints.take(dir, "a").await;
        assert!(matches!(refused, Err(Error::Unfit { .. })), "{dir:?}");
    }
    // What is inside of our home may well be kept.
    fresh(
        checkpoints
            .take(&bench.temp.hermes().join("skills"), "a")
            .await,
    );
    let inside = bench.store();
    assert!(matches!(
        checkpoints.take(&inside, "a").await,
        Err(Error::Unfit { .. })
    ));
    bench.path = "/nonexistent".to_owned();
    bench.write("f", "x");
    let without = bench.open();
    assert!(!without.has_git());
    assert!(matches!(
        without.take(&bench.dir(), "a").await,
        Err(Error::NoGit)
    ));
    assert!(without.finding().text.contains("no git"));
}

#[tokio::test]
async fn a_home_inside_a_project_is_left_out() {
    let mut bench = Bench::new();
    bench.write("f.txt", "x\n");
    let inner = bench.dir().join("conf/hermes");
    std::fs::create_dir_all(&inner).unwrap();
    bench.temp.write(inner.join("auth.json"), "secret");
    let mut env = bench.env();
    env.set("HERMES_HOME", inner.to_str().unwrap());
    let home = hermes_home::Resolved::from(None, &env).unwrap().home(&env);
    bench.limits.snapshots = 2;
    let checkpoints = hermes_checkpoints::Checkpoints::with(&home, bench.limits.clone(), &env);
    for text in ["a", "b", "c"] {
        bench.write("f.txt", text);
        fresh(checkpoints.take(&bench.dir(), "x").await);
    }
    let list = checkpoints.list(&bench.dir()).await.unwrap();
    assert_eq!((list.len(), list[0].files), (2, 1));
}

#[tokio::test]
async fn too_many_files() {
    let mut bench = Bench::new();
    bench.limits.files = 100;
    for number in 0..101 {
        bench.write(format!("many/{number}"), "x");
    }
    let checkpoints = bench.open();
    let refused = checkpoints.take(&bench.dir(), "a").await.unwrap_err();
    assert!(
        refused.to_string().contains("more than 100 files"),
        "{refused}"
    );
    // Where most of them are of the kind nobody wants back, they don't count.
    let aside = bench.dir().join("node_modules");
    std::fs::rename(bench.dir().join("many"), aside).unwrap();
    bench.write("f.txt", "x\n");
    fresh(checkpoints.take(&bench.dir(), "a").await);
    assert_eq!(bench.kept(), ["f.txt"]);
}
