//! Deleting, pruning and the clean-up at start.

use hermes_store::{ErrorKind, Maintenance, Prune, session_files};
use jiff::{SignedDuration, Timestamp};
use pretty_assertions::assert_eq;

use crate::support::{Home, at, begin, begin_child, id, say};

const DAY: i64 = 86_400;

#[tokio::test]
async fn deleting_leaves_the_children() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 1).await;
    say(&store, &root, "gone", 2).await;
    let child = begin_child(&store, "child", "root", 3).await;
    say(&store, &child, "stays", 4).await;
    store.delete_session(&root).await.unwrap();
    assert_eq!(store.session(&root).await.unwrap(), None);
    let child = store.session(&child).await.unwrap().unwrap();
    assert_eq!((child.parent, child.message_count), (None, 1));
    assert_eq!(home.number("SELECT COUNT(*) FROM messages"), 1);
    home.assert_intact();
    let error = store.delete_session(&root).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

// spec: state §13.13
#[tokio::test]
async fn only_old_ended_sessions_are_pruned() {
    let home = Home::new();
    let store = home.open().await;
    let now = Timestamp::now().as_second();
    for (name, source, days, ended) in [
        ("old-ended", "cli", 40, true),
        ("old-open", "cli", 40, false),
        ("new-ended", "cli", 20, true),
        ("old-chat", "telegram", 40, true),
    ] {
        let session = begin(&store, name, source, now - days * DAY).await;
        say(&store, &session, name, now - days * DAY).await;
        if ended {
            store
                .end_session(&session, "cli_close", at(now))
                .await
                .unwrap();
        }
    }
    begin_child(&store, "survivor", "old-ended", now).await;
    let files = home.dir().join("sessions");
    std::fs::create_dir(&files).unwrap();
    for name in [
        "session_old-ended.json",
        "old-ended.jsonl",
        "request_dump_old-ended_1.json",
        "session_old-open.json",
        "sessions.json",
    ] {
        std::fs::write(files.join(name), "{}").unwrap();
    }
    let prune = Prune {
        started_before: at(now - 30 * DAY),
        source: Some("cli".to_owned()),
    };
    assert_eq!(
        store.prune_candidates(&prune).await.unwrap(),
        [id("old-ended")]
    );
    let removed = store.prune(&prune).await.unwrap();
    assert_eq!(removed, [id("old-ended")]);
    let names: Vec<_> = session_files(&files, &removed)
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "old-ended.jsonl",
            "request_dump_old-ended_1.json",
            "session_old-ended.json"
        ]
    );
    let survivor = store.session(&id("survivor")).await.unwrap().unwrap();
    assert_eq!(survivor.parent, None);
    let everywhere = Prune {
        source: None,
        ..prune
    };
    assert_eq!(store.prune(&everywhere).await.unwrap(), [id("old-chat")]);
    assert!(store.session(&id("old-open")).await.unwrap().is_some());
    home.assert_intact();
}

#[tokio::test]
async fn many_sessions_are_pruned_in_parts() {
    let home = Home::new();
    let store = home.open().await;
    for n in 0..75 {
        let session = begin(&store, &format!("s{n}"), "cli", 1).await;
        store
            .end_session(&session, "cli_close", at(2))
            .await
            .unwrap();
    }
    let prune = Prune {
        started_before: Timestamp::now(),
        source: None,
    };
    assert_eq!(store.prune(&prune).await.unwrap().len(), 75);
    assert_eq!(home.number("SELECT COUNT(*) FROM sessions"), 0);
}

#[tokio::test]
async fn maintenance_runs_once_in_a_while() {
    let home = Home::new();
    let store = home.open().await;
    let now = Timestamp::now().as_second();
    let old = async |name: &str| {
        let session = begin(&store, name, "cli", now - 100 * DAY).await;
        store
            .end_session(&session, "cli_close", at(now))
            .await
            .unwrap();
    };
    let plan = || Maintenance {
        keep: SignedDuration::from_hours(90 * 24),
        at_most_every: SignedDuration::from_hours(24),
        shrink: true,
    };
    old("first").await;
    let report = store.maintain(plan()).await.unwrap();
    assert_eq!(report.removed, [id("first")]);
    assert!(report.shrunk && !report.skipped);
    old("second").await;
    let report = store.maintain(plan()).await.unwrap();
    assert!(report.skipped && report.removed.is_empty());
    let yesterday = (now - 2 * DAY) as f64;
    store
        .set_meta("last_auto_prune", &yesterday.to_string())
        .await
        .unwrap();
    let report = store.maintain(plan()).await.unwrap();
    assert_eq!(report.removed, [id("second")]);
    let last: f64 = store
        .meta("last_auto_prune")
        .await
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    assert!(last >= now as f64);
    let report = store
        .maintain(Maintenance {
            at_most_every: SignedDuration::ZERO,
            ..plan()
        })
        .await
        .unwrap();
    assert!(!report.shrunk, "nothing was removed");
}

#[tokio::test]
async fn ghosts_of_the_terminal_interface_go() {
    let home = Home::new();
    let store = home.open().await;
    let now = 100 * DAY;
    for (name, source, start, ended) in [
        ("ghost", "tui", 1, true),
        ("open", "tui", 1, false),
        ("young", "tui", now - DAY / 2, true),
        ("cli", "cli", 1, true),
        ("spoken", "tui", 1, true),
        ("named", "tui", 1, true),
    ] {
        let session = begin(&store, name, source, start).await;
        if ended {
            store
                .end_session(&session, "cli_close", at(now))
                .await
                .unwrap();
        }
    }
    say(&store, &id("spoken"), "x", 2).await;
    store.set_title(&id("named"), "kept").await.unwrap();
    assert_eq!(store.remove_ghosts(at(now)).await.unwrap(), [id("ghost")]);
    assert_eq!(home.number("SELECT COUNT(*) FROM sessions"), 5);
}

#[tokio::test]
async fn forgotten_continuations_are_ended() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 1).await;
    store
        .end_session(&root, "compression", at(2))
        .await
        .unwrap();
    let now = 100 * DAY;
    for (name, start) in [("forgotten", 3), ("recent", now - DAY), ("silent", 3)] {
        let session = begin_child(&store, name, "root", start).await;
        if name != "silent" {
            say(&store, &session, "x", start).await;
        }
    }
    assert_eq!(store.end_orphans(at(now)).await.unwrap(), 1);
    let row = store.session(&id("forgotten")).await.unwrap().unwrap();
    assert_eq!(row.end_reason.as_deref(), Some("orphaned_compression"));
}
