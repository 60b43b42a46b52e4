//! What the store forgets.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use hermes_checkpoints::{Limits, Orphans};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::bench::{Bench, fresh};

/// A project beside the usual one, with a snapshot.
async fn project(bench: &Bench, name: &str) -> PathBuf {
    let dir = bench.dir().parent().unwrap().join(name);
    bench.temp.write(dir.join("f.txt"), name);
    fresh(bench.open().take(&dir, "x").await);
    dir
}

/// Makes a project look as if nobody had touched it since 1970.
fn age(bench: &Bench, name: &str) {
    for entry in fs::read_dir(bench.store().join("projects")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|end| end == "json") && text.contains(name) {
            let mut record: Value = serde_json::from_str(&text).unwrap();
            record["last_touch"] = 5.0.into();
            fs::write(&path, record.to_string()).unwrap();
        }
    }
}

#[tokio::test]
async fn projects_that_are_gone_or_were_left() {
    let bench = Bench::new();
    let (gone, left, used) = (
        project(&bench, "gone").await,
        project(&bench, "left").await,
        project(&bench, "used").await,
    );
    fs::remove_dir_all(&gone).unwrap();
    age(&bench, "left");
    let checkpoints = bench.open();
    let nothing = Limits {
        retention: None,
        orphans: Orphans::Keep,
        ..Limits::default()
    };
    let pruned = checkpoints.prune(&nothing).await.unwrap();
    assert_eq!((pruned.orphans.len(), pruned.stale.len()), (0, 0));
    let pruned = checkpoints.prune(&bench.limits).await.unwrap();
    assert_eq!(
        (pruned.orphans, pruned.stale),
        (vec![gone], vec![left.clone()])
    );
    let status = checkpoints.status().await.unwrap();
    let dirs: Vec<_> = status.projects.iter().map(|project| &project.dir).collect();
    assert_eq!(dirs, [&used]);
    assert_eq!(
        (status.projects[0].snapshots, status.projects[0].exists),
        (1, true)
    );
    assert!(status.last_prune.is_some() && status.size > 0);
    // Their content is gone too, and the store is still one.
    let objects = bench.shadow(&["cat-file", "--batch-all-objects", "--batch-check"]);
    assert_eq!(objects.matches(" blob ").count(), 1, "{objects}");
    fresh(checkpoints.take(&left, "again").await);
    bench.is_sound();
}

#[tokio::test]
async fn a_store_that_is_too_large_loses_its_oldest() {
    let mut bench = Bench::new();
    bench.limits.total = Some(150 << 10);
    let checkpoints = bench.open();
    let mut seed: u32 = 1;
    for number in 0..6 {
        let noise = (0..40 << 10).map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        });
        bench.write("noise", noise.collect::<Vec<_>>());
        fresh(checkpoints.take(&bench.dir(), &number.to_string()).await);
    }
    // Who tends the store was told, and does something about it.
    let small = async {
        while checkpoints.status().await.unwrap().size > 150 << 10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = checkpoints.clone().tend() => {}
        small = tokio::time::timeout(Duration::from_secs(60), small) => small.unwrap(),
    }
    let list = checkpoints.list(&bench.dir()).await.unwrap();
    let reasons: Vec<&str> = list.iter().map(|one| one.reason.as_str()).collect();
    assert!(
        reasons.starts_with(&["5"]) && reasons.len() < 6,
        "{reasons:?}"
    );
    bench.is_sound();
}

#[tokio::test]
async fn at_most_once_a_day_by_itself() {
    let bench = Bench::new();
    let gone = project(&bench, "gone").await;
    fs::remove_dir_all(&gone).unwrap();
    let marker = bench.temp.hermes().join("checkpoints/.last_prune");
    fs::write(&marker, format!("{}", jiff::Timestamp::now().as_second())).unwrap();
    assert_eq!(bench.open().prune_if_due().await.unwrap(), None);
    fs::write(&marker, "5.0").unwrap();
    let pruned = bench.open().prune_if_due().await.unwrap().unwrap();
    assert_eq!(pruned.orphans, [gone]);
    assert_ne!(fs::read_to_string(&marker).unwrap(), "5.0");
}

#[tokio::test]
async fn all_of_it() {
    let bench = Bench::new();
    let checkpoints = bench.open();
    assert_eq!(checkpoints.clear().await.unwrap(), 0);
    assert!(checkpoints.finding().text.contains("none were needed"));
    let dir = project(&bench, "p").await;
    assert!(checkpoints.finding().text.contains("1 projects"));
    assert!(checkpoints.clear().await.unwrap() > 0);
    assert!(!bench.store().exists());
    assert_eq!(checkpoints.list(&dir).await.unwrap(), []);
    let status = checkpoints.status().await.unwrap();
    assert_eq!((status.projects.len(), status.size), (0, 0));
    fresh(checkpoints.take(&dir, "y").await);
}
