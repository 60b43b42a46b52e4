//! Killed in the middle, and several at once: a skill is the old one or the new one.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hermes_skills::bundled::sync;
use hermes_skills::journal::{Author, By, Journal, Undo};
use hermes_skills::{Change, Origin};

use crate::support::{Bench, content, create};

const HOME: &str = "HERMES_SKILLS_CRASH_HOME";

/// Not a test of its own: what the killed process does. Writes one skill over and over, and makes and removes others.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn writer() {
    let Some(home) = std::env::var_os(HOME) else {
        return;
    };
    let bench = Bench::at(Path::new(&home));
    let skills = bench.skills();
    for n in 0_u64.. {
        let long = content("one") + &format!("{}\n", ["a", "b"][n as usize % 2]).repeat(20_000);
        let edit = Change::Edit { content: long };
        skills.change("one", &edit, Origin::Foreground).unwrap();
        let name = format!("made-{n}");
        create(&skills, &name).unwrap();
        let delete = Change::Delete {
            absorbed_into: None,
        };
        skills.change(&name, &delete, Origin::Foreground).unwrap();
    }
}

/// The same for whoever takes back what was learned, and takes that back, over and over.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn undoer() {
    let Some(home) = std::env::var_os(HOME) else {
        return;
    };
    let journal = Journal::new(&Bench::at(Path::new(&home)).home);
    loop {
        let last = journal.entries().unwrap().last().unwrap().number;
        assert!(matches!(journal.undo(last).unwrap(), Undo::Done(_)));
    }
}

fn start(bench: &Bench, job: &str) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", job, "--nocapture"])
        .env(HOME, bench.temp.home())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn whoever_is_killed_leaves_whole_skills() {
    let bench = Bench::new();
    create(&bench.skills(), "one").unwrap();
    let file = bench.dir().join("one/SKILL.md");
    for round in 0..12 {
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        let mut child = start(&bench, "crash::writer");
        // It has begun; from here on every moment is as good as another.
        let until = Instant::now() + Duration::from_secs(20);
        while fs::metadata(&file).unwrap().modified().unwrap() == before {
            assert!(Instant::now() < until, "the writer wrote nothing");
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_micros(700 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let body = text.strip_prefix(&content("one")).unwrap();
        let whole = body.is_empty() || body == "a\n".repeat(20_000) || body == "b\n".repeat(20_000);
        assert!(whole, "half a file of {} bytes", text.len());
        for skill in bench.skills().library().skills() {
            let text = fs::read_to_string(skill.dir().join("SKILL.md")).unwrap();
            assert!(text.starts_with("---\nname: "), "{}", skill.dir().display());
        }
        // Nobody holds a lock, and what was half built is swept away.
        create(&bench.skills(), &format!("after-{round}")).unwrap();
        let leftovers = fs::read_dir(bench.dir()).unwrap().flatten();
        let leftovers =
            leftovers.filter(|entry| entry.file_name().to_string_lossy().starts_with(".staging-"));
        assert_eq!(leftovers.count(), 0);
    }
}

#[test]
fn a_renewal_that_was_cut_off_is_made_good() {
    let bench = Bench::new();
    sync(&bench.home, &bench.env).unwrap();
    let plan = bench.dir().join("software-development/plan");
    // Killed between the two moves of a renewal: the old one is aside, the new one not there yet.
    fs::rename(&plan, bench.dir().join(".aside-software-development%plan")).unwrap();
    create(&bench.skills(), "any").unwrap();
    assert!(plan.join("SKILL.md").is_file());
    // Killed just after it: the new one counts.
    fs::create_dir(bench.dir().join(".aside-software-development%plan")).unwrap();
    create(&bench.skills(), "other").unwrap();
    assert!(plan.join("SKILL.md").is_file());
    assert!(
        !bench
            .dir()
            .join(".aside-software-development%plan")
            .exists()
    );
}

#[test]
fn several_at_once_make_each_skill_once() {
    let bench = Bench::new();
    let made: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let skills = bench.skills();
                    (0..10)
                        .filter(|n| create(&skills, &format!("skill-{n}")).is_ok())
                        .count()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    assert_eq!(made, 10);
    assert_eq!(bench.skills().visible().len(), 10);
    let synced = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| sync(&bench.home, &bench.env).unwrap()))
            .collect();
        let done = workers
            .into_iter()
            .filter_map(|worker| worker.join().unwrap());
        done.map(|synced| synced.copied.len()).sum::<usize>()
    });
    assert_eq!(
        synced,
        hermes_skills::bundled::Bundle::embedded().skills.len()
    );
}

#[test]
fn whoever_is_killed_while_taking_back_leaves_a_whole_skill() {
    let bench = Bench::new();
    let journal = Journal::new(&bench.home);
    let look = || journal.keep_all(&Author::of(By::Outside)).unwrap();
    let file = bench.plain("tools/one");
    look();
    let first = fs::read_to_string(&file).unwrap();
    let second = first.repeat(2_000);
    fs::write(&file, &second).unwrap();
    look();
    for round in 0..12 {
        let before = journal.entries().unwrap().len();
        let mut child = start(&bench, "crash::undoer");
        let until = Instant::now() + Duration::from_secs(20);
        while journal.entries().unwrap().len() == before {
            assert!(Instant::now() < until, "nothing was taken back");
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_micros(300 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        look();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text == first || text == second, "{} bytes", text.len());
    }
}

#[test]
fn the_next_look_puts_back_what_a_kill_left_aside() {
    let bench = Bench::new();
    let journal = Journal::new(&bench.home);
    let look = || journal.keep_all(&Author::of(By::Outside)).unwrap();
    let file = bench.plain("tools/one");
    look();
    // Killed between the two renames.
    let aside = bench.dir().join(".aside-tools%one");
    fs::rename(bench.dir().join("tools/one"), &aside).unwrap();
    assert_eq!(look(), 0, "nothing has changed");
    assert!(file.is_file() && !aside.exists());
}
