//! Several processes at once, and processes that are killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_home::Modes;
use hermes_skills::memory::{Notes, Wish};
use pretty_assertions::assert_eq;

const CHILD: &str = "processes::adds_what_it_is_told";
const LIMIT: usize = 1_000_000;
const MODES: Modes = Modes {
    dir: 0o700,
    secret: Some(0o600),
};

/// Not a test: what the tests below start as processes of their own.
#[test]
#[ignore = "started by other tests"]
fn adds_what_it_is_told() {
    let Ok(order) = std::env::var("NOTES_CHILD") else {
        return;
    };
    let (name, path) = order.split_once(' ').unwrap();
    let notes = Notes::new(path.into(), LIMIT, MODES);
    for n in 0.. {
        let entry = format!("{name} {n} {}", "word ".repeat(200));
        let wish = Wish::Add(entry.trim().to_owned());
        notes.change(&[wish]).unwrap();
        println!("\nadded {n}");
        if name != "endless" {
            return;
        }
    }
}

fn spawn(name: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--ignored", "--nocapture"])
        .env("NOTES_CHILD", format!("{name} {}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn twenty_processes_add_at_once_and_all_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memories/MEMORY.md");
    let children: Vec<Child> = (0..20).map(|n| spawn(&format!("p{n}"), &path)).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let notes = Notes::new(path, LIMIT, MODES);
    let mut names: Vec<String> = notes
        .entries()
        .unwrap()
        .iter()
        .map(|entry| entry.split(' ').next().unwrap().to_owned())
        .collect();
    names.sort();
    let mut expected: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn a_killed_process_leaves_the_old_file_or_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("MEMORY.md");
    for round in 0..10 {
        let mut child = spawn("endless", &path);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let added = lines
            .map_while(Result::ok)
            .filter(|line| line.starts_with("added"));
        // The first entries of each round may be there already.
        assert_eq!(added.take(2 + round).count(), 2 + round);
        child.kill().unwrap();
        child.wait().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let whole = |entry: &str| entry.starts_with("endless ") && entry.ends_with("word word");
        assert!(text.split("\n§\n").all(whole), "{text}");
    }
}
