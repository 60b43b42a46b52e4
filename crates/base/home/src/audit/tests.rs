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

    fn notes(&self) -> Vec<String> {
        let dir = format!("{}/", self.dir().display());
        let notes = verify(self.dir()).unwrap().notes;
        notes.iter().map(|note| note.replace(&dir, "")).collect()
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
            ..Report::default()
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

// spec: state §16.4
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
    assert_eq!(desk.problems(), Vec::<String>::new());
    let cut = "2026-02.log:3: it was changed, or is incomplete";
    assert_eq!(
        desk.notes(),
        [format!(
            "{cut} (a full disk or a kill: no other is missing)"
        )]
    );
    assert_eq!(verify(desk.dir()).unwrap().entries, 4);
    // The last line can be like that as well.
    desk.edit("2026-02.log", |text| text + "abc {");
    assert_eq!((desk.problems().len(), desk.notes().len()), (0, 2));
}

#[test]
fn a_last_line_that_only_lacks_its_end_counts() {
    let desk = three();
    desk.edit("2026-02.log", |text| text.trim_end().to_owned());
    desk.record("four", "2026-02-01T00:00:02Z");
    let report = verify(desk.dir()).unwrap();
    assert_eq!(
        report,
        Report {
            entries: 4,
            ..Report::default()
        }
    );
}

#[test]
fn a_changed_line_is_no_unfinished_one_wherever_it_stands() {
    for (at, number) in [("one", 1), ("two", 1), ("three", 2)] {
        let desk = three();
        let file = if at == "one" {
            "2026-01.log"
        } else {
            "2026-02.log"
        };
        desk.edit(file, |text| text.replace(at, "other"));
        let expected = format!("{file}:{number}: it was changed, or is incomplete");
        assert_eq!(desk.problems()[0], expected);
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_break_the_chain() {
    let desk = three();
    desk.record("four", "2025-07-01T00:00:00Z");
    desk.record("five", "2026-03-01T00:00:00Z");
    assert_eq!(desk.problems(), Vec::<String>::new());
    let text = fs::read_to_string(desk.dir().join("2026-02.log")).unwrap();
    assert!(text.contains("four"), "{text}");
}

#[test]
fn what_could_not_be_written_is_said_by_what_could() {
    let desk = three();
    let action = Action {
        missed: 2,
        ..Action::default()
    };
    let at = "2026-02-01T00:00:03Z".parse().unwrap();
    desk.audit.record(&action, at).unwrap();
    assert_eq!(desk.problems(), Vec::<String>::new());
    assert_eq!(
        desk.notes(),
        ["2026-02.log:3: before entry 4, 2 could not be written down"]
    );
}

#[test]
fn an_entry_put_in_place_of_the_newest_is_noticed() {
    let desk = three();
    let note = fs::read(desk.dir().join("head")).unwrap();
    desk.edit("2026-02.log", |text| {
        text.lines()
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    desk.record("other", "2026-02-01T00:00:01Z");
    fs::write(desk.dir().join("head"), note).unwrap();
    assert_eq!(
        desk.problems(),
        ["2026-02.log:2: entry 3 is not the one that had been written"]
    );
}

#[test]
fn who_waits_for_one_that_hangs_gives_up() {
    let desk = three();
    let _lock = FileLock::acquire(&desk.dir().join(".lock")).unwrap();
    let at = "2026-02-01T00:00:01Z".parse().unwrap();
    let error = desk.audit.record(&Action::default(), at).unwrap_err();
    assert!(error.to_string().contains("doesn't let go"), "{error}");
}

// spec: state §16.8
#[test]
fn old_months_go_and_the_chain_says_so() {
    let desk = Desk::new();
    for month in ["2025-09", "2025-10", "2025-11", "2026-10"] {
        desk.record("x", &format!("{month}-15T00:00:00Z"));
    }
    let now = "2026-11-16T00:00:00Z".parse().unwrap();
    assert_eq!(desk.audit.prune(0, now).unwrap(), 0);
    assert_eq!(desk.audit.prune(12, now).unwrap(), 2);
    assert_eq!(desk.audit.prune(12, now).unwrap(), 0);
    assert_eq!(desk.problems(), Vec::<String>::new());
    assert_eq!(desk.notes(), ["entries 1 to 2 were removed as too old"]);
    desk.record("y", "2026-11-16T00:00:00Z");
    assert_eq!(desk.problems(), Vec::<String>::new());
    // One month more, by other hands.
    fs::remove_file(desk.dir().join("2025-11.log")).unwrap();
    assert_eq!(
        desk.problems(),
        ["2026-10.log:1: the log begins with entry 4; what was before is gone"]
    );
}

#[test]
fn whoever_is_killed_while_old_months_go_leaves_a_whole_chain() {
    let desk = Desk::new();
    desk.record("x", "2025-09-15T00:00:00Z");
    desk.record("x", "2026-10-15T00:00:00Z");
    let old = fs::read(desk.dir().join("2025-09.log")).unwrap();
    let now = "2026-11-16T00:00:00Z".parse().unwrap();
    desk.audit.prune(12, now).unwrap();
    fs::write(desk.dir().join("2025-09.log"), old).unwrap();
    assert_eq!(desk.problems(), Vec::<String>::new());
    assert_eq!(desk.audit.prune(12, now).unwrap(), 1);
    assert_eq!(desk.problems(), Vec::<String>::new());
}

#[test]
fn a_wrong_clock_does_not_remove_the_newest_month() {
    let desk = three();
    let later = "2199-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(desk.audit.prune(12, later).unwrap(), 1);
    assert_eq!(desk.problems(), Vec::<String>::new());
    assert!(desk.dir().join("2026-02.log").exists());
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let desk = three();
    desk.edit("2026-02.log", |text| {
        format!("{}\n{text}", "x".repeat(3 << 20))
    });
    assert_eq!(verify(desk.dir()).unwrap().entries, 3);
    assert_eq!(desk.notes().len(), 1);
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
            ..Report::default()
        }
    );
}
