//! Several processes write one audit log, and some of them are killed.
#![allow(clippy::disallowed_methods)] // children are this very binary

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_home::audit::{self, Action, Audit};
use hermes_home::{Env, Home, Resolved};
use hermes_testkit::TempHome;
use jiff::Timestamp;
use pretty_assertions::assert_eq;

const CHILD: &str = "audit::writes_for_another_test";

fn home_at(dir: &Path) -> Home {
    let env = Env::from([("HERMES_HOME", dir.to_str().unwrap())]);
    Resolved::from(None, &env).unwrap().home(&env)
}

/// `AUDIT_CHILD`: how many entries, and where.
#[test]
#[ignore = "the writing side of the other tests here"]
fn writes_for_another_test() {
    let Ok(job) = std::env::var("AUDIT_CHILD") else {
        return;
    };
    let (count, dir) = job.split_once(' ').unwrap();
    let log = Audit::open(&home_at(Path::new(dir))).unwrap();
    for n in 0..count.parse().unwrap() {
        let about = format!("{}/{n}", std::process::id());
        let action = Action {
            tool: "terminal".to_owned(),
            about: about.clone(),
            // More than a page, so that a kill can come in the middle of a write.
            changed: vec!["x".repeat(400); 12],
            outcome: "done".to_owned(),
            ..Action::default()
        };
        log.record(&action, Timestamp::now()).unwrap();
        println!("written {about}");
    }
}

fn spawn(count: usize, home: &TempHome) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--ignored", "--nocapture"])
        .env(
            "AUDIT_CHILD",
            format!("{count} {}", home.hermes().display()),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a child said it had written, until it is gone.
fn acknowledged(lines: impl Iterator<Item = std::io::Result<String>>) -> Vec<String> {
    let lines = lines.map_while(Result::ok);
    lines
        .filter_map(|line| {
            line.split_once("written ")
                .map(|(_, about)| about.to_owned())
        })
        .collect()
}

fn entries(home: &TempHome) -> Vec<String> {
    let lines = audit::lines(&home.hermes().join("audit")).unwrap();
    let entries = lines.filter_map(|line| line.unwrap().entry.ok());
    entries.map(|(entry, _)| entry.action.about).collect()
}

// spec: state §16.5
#[test]
fn two_processes_write_one_chain() {
    let home = TempHome::new();
    let children = [spawn(100, &home), spawn(100, &home)];
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let report = audit::verify(&home.hermes().join("audit")).unwrap();
    assert_eq!((report.entries, report.problems), (200, vec![]));
}

// spec: state §16.6
#[test]
fn a_kill_in_the_middle_loses_nothing_that_was_written() {
    let home = TempHome::new();
    let mut written = Vec::new();
    for round in 0..20 {
        let mut child = spawn(100_000, &home);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.by_ref().take(3 + round);
        written.extend(acknowledged(first));
        child.kill().unwrap();
        written.extend(acknowledged(lines));
        child.wait().unwrap();
        let report = audit::verify(&home.hermes().join("audit")).unwrap();
        assert_eq!(report.problems, Vec::<String>::new(), "round {round}");
    }
    let entries = entries(&home);
    assert!(written.len() > 20, "{}", written.len());
    for about in &written {
        assert!(entries.contains(about), "{about} is gone");
    }
}
