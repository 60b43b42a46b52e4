//! The curator when things go wrong around it: clocks, kills, others at the same time.

use hermes_skills::curator::{Curator, Due, Extent, Sure, Thought, Trigger, Wish};
use hermes_skills::journal::{Author, By, Journal, Undo};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::curator::{ago, curator, record, run, told, usage};
use crate::support::{Bench, content};

#[test]
fn a_clock_that_was_years_ahead_once_does_not_stop_it() {
    let bench = Bench::new();
    bench.plain("old");
    usage(&bench, &[("old", record(91))]);
    let state = json!({"last_run_at": ago(-4_000), "last_run_summary": "archived x"});
    bench.temp.write("skills/.curator_state", state.to_string());
    assert!(Curator::news(&bench.home).is_some());
    assert_eq!(curator(&bench).check(Some(far_ahead())).unwrap(), Due::Now);
    assert_eq!(Curator::news(&bench.home), None, "told once");
    let begun = curator(&bench).begin(Trigger::Clock).unwrap();
    curator(&bench)
        .finish(begun.expect("it runs"), Thought::default())
        .unwrap();
    assert!(bench.temp.exists("skills/.archive/old/SKILL.md"));
    assert!(matches!(
        curator(&bench).check(None).unwrap(),
        Due::NotBefore(_)
    ));
}

fn far_ahead() -> jiff::Timestamp {
    ago(-4_000).parse().unwrap()
}

#[test]
fn the_newest_backup_is_the_newest_whatever_the_clock_said() {
    let bench = Bench::with_config("curator: {backup: {keep: 2}}\n");
    bench.plain("one");
    told(curator(&bench).answer(&Wish::Backup));
    // Made while the clock was ahead.
    let backups = bench.dir().join(".curator_backups");
    let first = curator(&bench).backups()[0].id.clone();
    std::fs::rename(backups.join(first), backups.join("2091-01-01T00-00-00Z")).unwrap();
    bench
        .temp
        .write("skills/one/SKILL.md", content("one") + "later\n");
    for _ in 0..3 {
        told(curator(&bench).answer(&Wish::Backup));
    }
    let kept = curator(&bench).backups();
    let ids: Vec<&str> = kept.iter().map(|backup| backup.id.as_str()).collect();
    assert_eq!(ids, ["2091-01-01T00-00-00Z-03", "2091-01-01T00-00-00Z-02"]);
    bench.temp.write("skills/one/SKILL.md", content("one"));
    told(curator(&bench).answer(&back_to(None)));
    assert!(bench.temp.read("skills/one/SKILL.md").contains("later"));
}

fn back_to(id: Option<&str>) -> Wish {
    Wish::RollBack {
        id: id.map(str::to_owned),
        sure: Sure::Yes,
    }
}

#[test]
fn whoever_looks_after_a_rollback_was_cut_off_sees_all_skills() {
    let cut_off = |is_out: bool| {
        let bench = Bench::new();
        let swap = "skills/.curator_backups/.swap";
        for (side, name) in [("old", "mine"), ("new", "theirs")] {
            let file = format!("{swap}/{side}/{name}/SKILL.md");
            bench.temp.write(file, content(name));
        }
        if is_out {
            bench.temp.write(format!("{swap}/out"), "");
        }
        // Nothing is changed: somebody only begins a conversation.
        let seen = bench.skills().visible().into_iter();
        let names: Vec<String> = seen.map(|skill| skill.found.name).collect();
        assert!(!bench.temp.exists(swap));
        assert_eq!(Journal::new(&bench.home).entries().unwrap(), []);
        names
    };
    assert_eq!(cut_off(false), ["mine"]);
    assert_eq!(cut_off(true), ["theirs"]);
}

#[test]
fn one_who_was_killed_after_the_move_has_said_where_the_skill_belongs() {
    let bench = Bench::new();
    bench.plain("deep/cat/old");
    usage(&bench, &[("old", record(91))]);
    // Where the record goes last, it cannot be written any more.
    run(&bench);
    let mut records: serde_json::Value =
        serde_json::from_str(&bench.temp.read("skills/.usage.json")).unwrap();
    for (field, before) in [("state", json!("stale")), ("archived_at", json!(null))] {
        records["old"][field] = before;
    }
    bench.temp.write("skills/.usage.json", records.to_string());
    run(&bench);
    told(curator(&bench).answer(&Wish::Restore("old".to_owned())));
    assert!(bench.temp.exists("skills/deep/cat/old/SKILL.md"));
}

#[test]
fn a_rollback_of_a_rollback_of_a_rollback() {
    let bench = Bench::with_config("curator: {backup: {keep: 1}}\n");
    let write = |text: &str| {
        let text = content("one") + text;
        bench.temp.write("skills/one/SKILL.md", text);
    };
    let read = || bench.temp.read("skills/one/SKILL.md");
    write("first\n");
    told(curator(&bench).answer(&Wish::Backup));
    write("second\n");
    // Each goes back to what the one before it put aside.
    for expected in ["first", "second", "first", "second"] {
        told(curator(&bench).answer(&back_to(None)));
        assert!(read().contains(expected), "{expected}: {}", read());
    }
    // Not while somebody tidies up.
    let begun = curator(&bench).begin(Trigger::Owner).unwrap();
    let refused = curator(&bench).answer(&back_to(None)).unwrap_err();
    assert!(refused.to_string().contains("curator"), "{refused}");
    drop(begun);
    told(curator(&bench).answer(&back_to(None)));
}

#[test]
fn one_who_tidies_and_one_who_undoes_do_not_wait_for_each_other_for_ever() {
    let bench = Bench::new();
    for name in ["moved", "undone"] {
        bench.plain(name);
    }
    let journal = Journal::new(&bench.home);
    journal.keep_all(&Author::of(By::Outside)).unwrap();
    bench
        .temp
        .write("skills/undone/SKILL.md", content("undone") + "more\n");
    journal.keep_all(&Author::of(By::Outside)).unwrap();
    let last = journal.entries().unwrap().last().unwrap().number;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20 {
                told(curator(&bench).answer(&Wish::Archive("moved".to_owned())));
                told(curator(&bench).answer(&Wish::Restore("moved".to_owned())));
            }
        });
        let mut number = last;
        for _ in 0..40 {
            // An undo is a change like any other, and can be undone.
            match journal.undo(number).unwrap() {
                Undo::Done(done) => number = done.noted.unwrap().number,
                other => panic!("{other:?}"),
            }
        }
    });
    assert!(bench.temp.read("skills/undone/SKILL.md").contains("more"));
}

#[test]
fn what_is_outside_or_pinned_stays_whatever_its_record_says() {
    let elsewhere = tempfile::tempdir().unwrap();
    let skill = elsewhere.path().join("theirs");
    std::fs::create_dir(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), content("theirs")).unwrap();
    let config = format!(
        "skills: {{external_dirs: [{}]}}\n",
        elsewhere.path().display()
    );
    let bench = Bench::with_config(&config);
    bench.plain("pinned");
    let mut pinned = record(400);
    pinned["pinned"] = json!(true);
    usage(&bench, &[("theirs", record(400)), ("pinned", pinned)]);
    let said = run(&bench);
    assert!(said.contains("everything is in order"), "{said}");
    let prune = Wish::Prune {
        days: 1,
        extent: Extent::Real,
        sure: Sure::Yes,
    };
    assert!(told(curator(&bench).answer(&prune)).contains("no skill of its own"));
    let refused = curator(&bench).answer(&Wish::Archive("theirs".to_owned()));
    assert!(refused.unwrap_err().to_string().contains("external"));
    assert!(skill.join("SKILL.md").exists() && bench.temp.exists("skills/pinned/SKILL.md"));
}
