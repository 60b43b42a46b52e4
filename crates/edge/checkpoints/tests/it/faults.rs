//! What goes wrong: two at once, somebody killed, no room, a git that hangs.

use std::fs;
use std::time::{Duration, Instant};

use hermes_checkpoints::{Error, Scope, Taken};
use hermes_home::FileLock;
use pretty_assertions::assert_eq;

use crate::bench::{Bench, fresh, restore};

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once() {
    let bench = Bench::new();
    for number in 0..200 {
        bench.write(format!("f{number}"), format!("{number}\n"));
    }
    for round in 0..3 {
        bench.write("f0", format!("round {round}\n"));
        let (one, two) = (bench.open(), bench.open());
        let dir = bench.dir();
        let (one, two) = tokio::join!(one.take(&dir, "one"), two.take(&dir, "two"));
        let taken = [one.unwrap(), two.unwrap()];
        let new = taken.iter().filter(|taken| matches!(taken, Taken::New(_)));
        assert_eq!(new.count(), 1, "{taken:?}");
    }
    assert_eq!(bench.open().list(&bench.dir()).await.unwrap().len(), 3);
    bench.is_sound();
}

#[tokio::test]
async fn what_a_killed_one_leaves_is_no_obstacle() {
    let bench = Bench::new();
    bench.write("f.txt", "one\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    let reference = bench.reference();
    let hash = reference.strip_prefix("refs/hermes/").unwrap();
    let index = bench.store().join("indexes").join(hash);
    let locks = [
        index.with_extension("lock"),
        bench.store().join(format!("{reference}.lock")),
        bench.store().join("packed-refs.lock"),
        bench.store().join("gc.pid"),
    ];
    for lock in &locks {
        fs::write(lock, "half").unwrap();
    }
    // And an index of which only a part was written.
    let whole = fs::read(&index).unwrap();
    fs::write(&index, &whole[..whole.len() / 2]).unwrap();
    bench.write("f.txt", "two\n");
    fresh(bench.open().take(&bench.dir(), "y").await);
    bench.open().prune(&bench.limits).await.unwrap();
    assert!(locks.iter().all(|lock| !lock.exists()));
    restore(&checkpoints, &bench.dir(), "2").await;
    assert_eq!(bench.read("f.txt"), "one\n");
    bench.is_sound();
}

#[tokio::test]
async fn dropped_in_the_middle() {
    let mut bench = Bench::new();
    bench.write("f.txt", "one\n");
    let waits = bench.temp.home().join("waits");
    let script = format!(
        "case \" $* \" in *' commit-tree '*) touch {0}; while [ -e {0} ]; do sleep 0.05; done; exit 1;; esac",
        waits.display()
    );
    bench.intercept(&script);
    let (checkpoints, dir) = (bench.open(), bench.dir());
    let taking = checkpoints.take(&dir, "x");
    let began = async {
        while !waits.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        taken = taking => panic!("{taken:?}"),
        () = began => {}
    }
    // Its git was killed with it, and its locks are free.
    bench.path = "/usr/bin:/bin".to_owned();
    fresh(bench.open().take(&bench.dir(), "y").await);
    bench.is_sound();
}

#[tokio::test]
async fn no_room_on_the_disk() {
    let mut bench = Bench::new();
    bench.write("f.txt", "one\n");
    let healthy = bench.open();
    fresh(healthy.take(&bench.dir(), "x").await);
    bench.write("f.txt", "two\n");
    bench.intercept(
        "case \" $* \" in *' add '*) echo 'error: unable to write file: No space left on device' >&2; exit 128;; esac",
    );
    let checkpoints = bench.open();
    let refused = checkpoints.take(&bench.dir(), "y").await.unwrap_err();
    assert!(refused.to_string().contains("No space left"), "{refused}");
    // Nothing is overwritten that could not be saved first.
    let refused = checkpoints
        .restore(&bench.dir(), "1", Scope::Everything)
        .await;
    assert!(matches!(refused, Err(Error::Unsaved(_))), "{refused:?}");
    assert_eq!(bench.read("f.txt"), "two\n");
    assert_eq!(healthy.list(&bench.dir()).await.unwrap().len(), 1);
    fresh(healthy.take(&bench.dir(), "z").await);
    bench.is_sound();
}

#[tokio::test]
async fn a_git_that_hangs() {
    let mut bench = Bench::new();
    bench.write("f.txt", "one\n");
    bench.limits.time = Duration::from_millis(300);
    bench.intercept("case \" $* \" in *' add '*) exec sleep 600;; esac");
    let started = Instant::now();
    let refused = bench.open().take(&bench.dir(), "x").await.unwrap_err();
    assert!(matches!(refused, Error::Slow { .. }), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_file_nobody_can_read_costs_only_itself() {
    let mut bench = Bench::new();
    bench.write("f.txt", "one\n");
    bench.write("locked", "x\n");
    // The tests may run as somebody who can read everything: a socket is what git itself refuses to add, and a
    // file that git is told it cannot open is what everybody else has.
    let _socket = std::os::unix::net::UnixListener::bind(bench.dir().join("socket")).unwrap();
    let once = bench.temp.home().join("once");
    bench.intercept(&format!(
        "case \" $* \" in *' add '*) [ -e {0} ] || {{ touch {0}; echo 'error: open(\"locked\"): Permission denied' >&2; exit 128; }};; esac",
        once.display()
    ));
    fresh(bench.open().take(&bench.dir(), "x").await);
    assert_eq!(bench.kept(), ["f.txt", "locked"]);
}

#[tokio::test]
async fn somebody_else_is_tidying_up() {
    let bench = Bench::new();
    bench.write("f.txt", "one\n");
    let checkpoints = bench.open();
    fresh(checkpoints.take(&bench.dir(), "x").await);
    bench.write("f.txt", "two\n");
    let lock = FileLock::try_acquire(&bench.temp.hermes().join(".checkpoints.lock")).unwrap();
    assert!(lock.is_some());
    let (dir, other) = (bench.dir(), bench.open());
    let taking = other.take(&dir, "y");
    let releasing = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // Only looking is always possible.
        assert_eq!(checkpoints.list(&dir).await.unwrap().len(), 1);
        drop(lock);
    };
    let (taken, ()) = tokio::join!(taking, releasing);
    fresh(taken);
}
