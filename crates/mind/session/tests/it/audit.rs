//! The audit log as the witness of a session.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use hermes_home::audit::{self, Entry};
use hermes_home::{Env, Home, Resolved};
use hermes_session::AuditLog;
use hermes_testkit::TempHome;
use hermes_types::{Act, Outcome, Witness};
use pretty_assertions::assert_eq;

struct Desk {
    home: TempHome,
    log: AuditLog,
}

impl Desk {
    fn new() -> Self {
        let home = TempHome::new();
        let log = AuditLog::new(home_at(&home), 12);
        Self { home, log }
    }

    fn dir(&self) -> PathBuf {
        self.home.hermes().join("audit")
    }

    fn entries(&self) -> Vec<Entry> {
        let lines = audit::lines(&self.dir()).unwrap();
        lines.map(|line| line.unwrap().entry.unwrap().0).collect()
    }
}

pub fn home_at(home: &TempHome) -> Home {
    let env = Env::from([("HERMES_HOME", home.hermes().to_str().unwrap())]);
    Resolved::from(None, &env).unwrap().home(&env)
}

fn act(about: &str) -> Act {
    Act {
        session: "20260405_223459_ab12cd".into(),
        tool: "terminal".to_owned(),
        about: about.to_owned(),
        place: PathBuf::from("/project"),
        decision: "owner: once".to_owned(),
        outcome: Outcome::Done,
        took: Duration::from_millis(1_234),
        changed: vec![PathBuf::from("/project/f")],
    }
}

// spec: state §16.1, state §16.2
#[tokio::test]
async fn what_was_seen_is_in_the_file() {
    let desk = Desk::new();
    let said = desk.log.saw(act("ls\nghp_abcdefghijklmnop1234")).await;
    assert_eq!(said, None);
    let entry = desk.entries().remove(0);
    let action = entry.action;
    assert_eq!(entry.seq, 1);
    assert_eq!(action.session, "20260405_223459_ab12cd");
    assert_eq!((action.tool.as_str(), action.took_ms), ("terminal", 1_234));
    assert_eq!(action.about, "ls ghp_ab...1234");
    assert_eq!(
        (action.place.as_str(), action.outcome.as_str()),
        ("/project", "done")
    );
    assert_eq!(
        (action.decision.as_str(), action.missed),
        ("owner: once", 0)
    );
    assert_eq!(action.changed, ["/project/f"]);
}

// spec: state §16.7
#[tokio::test]
async fn a_full_disk_is_told_once_and_stays_visible_in_the_log() {
    let desk = Desk::new();
    assert_eq!(desk.log.saw(act("one")).await, None);
    // The newest file is the one that is written to, and this one takes nothing.
    let full = desk.dir().join("9999-12.log");
    symlink("/dev/full", &full).unwrap();
    let said = desk.log.saw(act("two")).await.unwrap();
    assert!(said.contains("the disk is full"), "{said}");
    assert_eq!(desk.log.saw(act("three")).await, None);
    fs::remove_file(&full).unwrap();
    assert_eq!(desk.log.saw(act("four")).await, None);
    assert_eq!(desk.log.saw(act("five")).await, None);
    let missed: Vec<u64> = desk.entries().iter().map(|e| e.action.missed).collect();
    assert_eq!(missed, [0, 2, 0]);
    let report = audit::verify(&desk.dir()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert!(report.notes[0].ends_with("before entry 2, 2 could not be written down"));
}

// spec: state §16.7
#[tokio::test]
async fn a_directory_that_cannot_be_made_stops_nothing() {
    let desk = Desk::new();
    desk.home.write("audit", "somebody's file");
    let said = desk.log.saw(act("one")).await.unwrap();
    assert!(said.contains("audit"), "{said}");
    assert_eq!(desk.log.saw(act("two")).await, None);
    fs::remove_file(desk.dir()).unwrap();
    assert_eq!(desk.log.saw(act("three")).await, None);
    assert_eq!(desk.entries()[0].action.missed, 2);
}

// spec: state §16.8
#[tokio::test]
async fn the_first_action_of_a_session_removes_old_months() {
    let desk = Desk::new();
    let past = "2001-02-03T00:00:00Z".parse().unwrap();
    let log = audit::Audit::open(&home_at(&desk.home)).unwrap();
    log.record(&audit::Action::default(), past).unwrap();
    // The newest month always stays, so there must be another.
    desk.log.saw(act("one")).await;
    let again = AuditLog::new(home_at(&desk.home), 12);
    again.saw(act("two")).await;
    assert!(!desk.dir().join("2001-02.log").exists());
    let about: Vec<String> = desk.entries().into_iter().map(|e| e.action.about).collect();
    assert_eq!(about, ["one", "removed 2001-02: entries up to 1", "two"]);
    let report = audit::verify(&desk.dir()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}
