//! Writing, cutting, changing, and what is noticed of it.

use std::path::Path;

use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;

use super::*;

struct Desk {
    home: TempHome,
    audit: Audit,
}

impl Desk {
    fn new() -> Self {
        let home = TempHome::new();
        let modes = Modes {
            dir: 0o700,
            secret: Some(0o600),
        };
        let audit = Audit::in_dir(home.hermes().join("audit"), &modes).unwrap();
        Self { home, audit }
    }

    fn record(&self, about: &str, at: &str) {
        let action = Action {
            tool: "terminal".to_owned(),
            about: about.to_owned(),
            outcome: "done".to_owned(),
            ..Action::default()
        };
        self.audit.record(&action, at.parse().unwrap()).unwrap();
    }

    fn dir(&self) -> &Path {
        &self.audit.dir
    }

    fn problems(&self) -> Vec<String> {
        let report = verify(self.dir()).unwrap();
        let dir = format!("{}/", self.dir().display());
        let problems = report.problems.iter();
        problems.map(|problem| problem.replace(&dir, "")).collect()
    }

    fn edit(&self, file: &str, change: impl FnOnce(String) -> String) {
        let path = self.dir().join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, change(text)).unwrap();
    }
}

/// Three actions in two months.
fn three() -> Desk {
    let desk = Desk::new();
    desk.record("one", "2026-01-31T23:59:59Z");
    desk.record("two", "2026-02-01T00:00:00Z");
    desk.record("three", "2026-02-01T00:00:01Z");
    desk
}

#[test]
fn a_log_that_nobody_touched_is_whole() {
    let desk = three();
    assert_eq!(
        verify(desk.dir()).unwrap(),
        Report {
            entries: 3,
            problems: vec![]
        }
    );
    let said: Vec<String> = lines(desk.dir())
        .unwrap()
        .map(|line| line.unwrap().entry.unwrap().0.action.about)
        .collect();
    assert_eq!(said, ["one", "two", "three"]);
    assert_eq!(
        verify(&desk.home.hermes().join("nothing")).unwrap(),
        Report::default()
    );
}

#[test]
fn every_kind_of_tampering_is_noticed() {
    let changed = three();
    changed.edit("2026-01.log", |text| text.replace("one", "won"));
    assert_eq!(
        changed.problems(),
        [
            "2026-01.log:1: it was changed, or is incomplete",
            "2026-02.log:1: the log begins with entry 2; what was before is gone",
        ]
    );
    let removed = three();
    removed.edit("2026-02.log", |text| {
        text.lines()
            .skip(1)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    assert_eq!(
        removed.problems(),
        ["2026-02.log:1: entries 2 to 2 are gone"]
    );
    let swapped = three();
    swapped.edit("2026-02.log", |text| {
        text.lines().rev().map(|line| format!("{line}\n")).collect()
    });
    assert_eq!(swapped.problems().len(), 3);
    let cut = three();
    cut.edit("2026-02.log", |text| {
        text.lines()
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    assert_eq!(
        cut.problems(),
        ["the log ends with entry 2, but entry 3 had been written: its end was cut off"]
    );
    let month = three();
    fs::remove_file(month.dir().join("2026-01.log")).unwrap();
    assert_eq!(
        month.problems(),
        ["2026-02.log:1: the log begins with entry 2; what was before is gone"]
    );
    let noteless = three();
    fs::remove_file(noteless.dir().join("head")).unwrap();
    assert_eq!(noteless.problems().len(), 1);
}

#[test]
fn a_line_cut_short_by_a_full_disk_stays_and_the_chain_goes_on() {
    let desk = three();
    desk.edit("2026-02.log", |text| text + "abc {\"seq\":4,\"at");
    desk.record("four", "2026-02-01T00:00:02Z");
    assert_eq!(
        desk.problems(),
        ["2026-02.log:3: it was changed, or is incomplete"]
    );
    assert_eq!(verify(desk.dir()).unwrap().entries, 4);
}

#[test]
fn a_writer_killed_before_its_note_leaves_a_whole_chain() {
    let desk = three();
    let before = fs::read(desk.dir().join("head")).unwrap();
    desk.record("four", "2026-02-01T00:00:02Z");
    fs::write(desk.dir().join("head"), before).unwrap();
    assert_eq!(desk.problems(), Vec::<String>::new());
}

#[test]
fn secrets_and_line_breaks_stay_out() {
    let desk = Desk::new();
    desk.record("echo ghp_abcdefghijklmnop1234\nls", "2026-02-01T00:00:00Z");
    let text = fs::read_to_string(desk.dir().join("2026-02.log")).unwrap();
    assert!(!text.contains("ghp_abcdefghijklmnop1234"), "{text}");
    assert_eq!(text.lines().count(), 1);
    assert_eq!(desk.home.mode(desk.dir().join("2026-02.log")), 0o600);
}

#[test]
fn many_writers_make_one_chain() {
    let desk = Desk::new();
    std::thread::scope(|threads| {
        for writer in 0..8 {
            let desk = &desk;
            threads.spawn(move || {
                for turn in 0..25 {
                    desk.record(&format!("{writer}/{turn}"), "2026-02-01T00:00:00Z");
                }
            });
        }
    });
    assert_eq!(
        verify(desk.dir()).unwrap(),
        Report {
            entries: 200,
            problems: vec![]
        }
    );
}
