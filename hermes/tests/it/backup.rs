//! `hermes backup` and `hermes import`

use std::fs::{self, File};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_store::{NewSession, OpenOptions, Store};
use hermes_testkit::TempHome;
use hermes_types::{Message, SessionId};
use jiff::Timestamp;
use pretty_assertions::assert_eq;

use crate::seed::{Seed, sessions};
use crate::{fails, hermes};

// spec: state §13.15
#[test]
fn a_backup_under_load_restores_elsewhere() {
    let home = TempHome::new();
    home.write("config.yaml", "model: a/b # kept\n");
    home.write(".env", "OPENAI_API_KEY=k\n");
    home.write("profiles/work/config.yaml", "model: w\n");
    home.write("gateway.pid", "1");
    home.write("hermes-agent/code.py", "x");
    sessions(
        &home,
        &[Seed {
            id: "kept0000",
            title: Some("kept"),
            messages: &["hello"],
            ..Seed::default()
        }],
    );
    let zip = home.work().join("b.zip");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| write_until(&home, &stop));
        hermes(&home, &["backup", "-o", zip.to_str().unwrap()]).ok();
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(home.mode(&zip), 0o600);
    add_evil_member(&zip);

    let other = TempHome::new();
    other.write("config.yaml", "old: 1\n");
    sessions(
        &other,
        &[Seed {
            id: "replaced",
            messages: &["x"],
            ..Seed::default()
        }],
    );
    fails(&other, &["import", zip.to_str().unwrap()], 1);
    let output = hermes(&other, &["import", zip.to_str().unwrap(), "--force"]);
    output.ok();
    assert!(output.stderr.contains("../evil"), "{output}");
    assert!(!other.exists(other.home().join("evil")));
    assert_eq!(other.read("config.yaml"), "model: a/b # kept\n");
    assert_eq!(other.read("profiles/work/config.yaml"), "model: w\n");
    assert_eq!((other.mode(".env"), other.mode("state.db")), (0o600, 0o600));
    assert!(!other.exists("gateway.pid") && !other.exists("hermes-agent"));
    assert!(hermes(&other, &["sessions", "list"]).ok().contains("kept"));
    assert!(
        !hermes(&other, &["sessions", "list"])
            .ok()
            .contains("replaced")
    );
    hermes(&other, &["doctor"]).ok();
}

/// Appends as fast as it can until told to stop.
fn write_until(home: &TempHome, stop: &AtomicBool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(home.hermes().join("state.db"), OpenOptions::default())
            .await
            .unwrap();
        let id = SessionId::new("load0000");
        store
            .ensure_session(NewSession::new("load0000", "cli"))
            .await
            .unwrap();
        while !stop.load(Ordering::Relaxed) {
            store
                .append(&id, &Message::user("load ".repeat(50)), Timestamp::now())
                .await
                .unwrap();
        }
        store.close().await;
    });
}

fn add_evil_member(path: &std::path::Path) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut zip = zip::ZipWriter::new_append(file).unwrap();
    zip.start_file("../evil", zip::write::SimpleFileOptions::default())
        .unwrap();
    zip.write_all(b"gotcha").unwrap();
    zip.finish().unwrap();
}

#[test]
fn snapshots_come_and_go_back() {
    let home = TempHome::new();
    home.write("config.yaml", "a: 1\n");
    home.write("memories/MEMORY.md", "one\n");
    sessions(
        &home,
        &[Seed {
            id: "first000",
            messages: &["x"],
            ..Seed::default()
        }],
    );
    let output = hermes(&home, &["backup", "--quick", "--label", "before trip"]);
    let id = output.ok().split_whitespace().nth(2).unwrap().to_owned();
    assert!(id.ends_with("-before-trip"), "{output}");
    assert!(hermes(&home, &["backup", "--list"]).ok().contains(&id));
    home.write("config.yaml", "a: 2\n");
    home.write("memories/MEMORY.md", "two\n");
    sessions(
        &home,
        &[Seed {
            id: "second00",
            messages: &["y"],
            ..Seed::default()
        }],
    );
    hermes(&home, &["import", &id, "--force"]).ok();
    assert_eq!(home.read("config.yaml"), "a: 1\n");
    assert_eq!(home.read("memories/MEMORY.md"), "one\n");
    let listed = hermes(&home, &["sessions", "list"]);
    assert!(
        listed.ok().contains("first000") && !listed.ok().contains("second00"),
        "{listed}"
    );
}

#[test]
fn a_restore_over_a_damaged_or_open_database() {
    let home = TempHome::new();
    sessions(
        &home,
        &[Seed {
            id: "kept0000",
            messages: &["hello"],
            ..Seed::default()
        }],
    );
    let zip = home.work().join("b.zip");
    hermes(&home, &["backup", "-o", zip.to_str().unwrap()]).ok();

    // Somebody has the file open and has written since.
    sessions(
        &home,
        &[Seed {
            id: "later000",
            messages: &["x"],
            ..Seed::default()
        }],
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = runtime
        .block_on(Store::open(
            home.hermes().join("state.db"),
            OpenOptions::default(),
        ))
        .unwrap();
    hermes(&home, &["import", zip.to_str().unwrap(), "--force"]).ok();
    let seen = runtime
        .block_on(store.list(hermes_store::ListQuery::default()))
        .unwrap();
    assert_eq!(
        seen.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        ["kept0000"]
    );
    drop(store);

    home.write("state.db", "no database at all ".repeat(100));
    hermes(&home, &["import", zip.to_str().unwrap(), "--force"]).ok();
    assert!(
        hermes(&home, &["sessions", "list"])
            .ok()
            .contains("kept0000")
    );
    let aside = fs::read_dir(home.hermes())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(
        aside
            .into_iter()
            .any(|name| name.starts_with("state.db.malformed-backup-"))
    );
}

#[test]
fn what_is_no_backup_is_refused() {
    let home = TempHome::new();
    let text = home.write(home.work().join("x.zip"), "not a zip");
    assert!(fails(&home, &["import", text.to_str().unwrap()], 1).contains("not a zip file"));
    assert!(fails(&home, &["import", "/nonexistent.zip"], 1).contains("/nonexistent.zip"));
    let mut zip = zip::ZipWriter::new(File::create(home.work().join("y.zip")).unwrap());
    zip.start_file("hello.txt", zip::write::SimpleFileOptions::default())
        .unwrap();
    zip.finish().unwrap();
    let path = home.work().join("y.zip");
    assert!(fails(&home, &["import", path.to_str().unwrap()], 1).contains("not a Hermes backup"));
}

#[test]
fn a_running_gateway_keeps_imports_out() {
    let home = TempHome::new();
    home.write("config.yaml", "a: 1\n");
    let zip = home.work().join("b.zip");
    hermes(&home, &["backup", "-o", zip.to_str().unwrap()]).ok();
    let lock = File::create(home.hermes().join("gateway.lock")).unwrap();
    lock.lock().unwrap();
    let reason = fails(&home, &["import", zip.to_str().unwrap(), "--force"], 1);
    assert!(reason.contains("gateway is running"), "{reason}");
    drop(lock);
    hermes(&home, &["import", zip.to_str().unwrap(), "--force"]).ok();
}

#[test]
fn where_a_backup_goes() {
    let home = TempHome::new();
    hermes(
        &home,
        &["backup", "-o", home.work().join("named").to_str().unwrap()],
    )
    .ok();
    assert!(home.exists(home.work().join("named.zip")));
    hermes(&home, &["backup"]).ok();
    let names: Vec<_> = fs::read_dir(home.home())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("hermes-backup-") && name.ends_with(".zip")),
        "{names:?}"
    );
    fails(&home, &["backup", "-o", "/nonexistent/dir/b.zip"], 1);
}
