//! What a menu offers while a reference is typed.

use std::fs::File;
use std::time::{Duration, SystemTime};

use hermes_refs::{Candidate, Finder, Kind};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use crate::bench::Bench;

fn finder(bench: &Bench) -> Finder {
    let mut finder = Finder::new(bench.project(), bench.user_home());
    finder.refresh(&CancellationToken::new());
    finder
}

fn inserts(found: &[Candidate]) -> Vec<&str> {
    found.iter().map(|one| one.insert.as_str()).collect()
}

/// A project of a few files, the first the oldest.
fn project() -> Bench {
    let bench = Bench::new();
    bench.write("project/.gitignore", "target/\n");
    bench.write("project/target/main.rs", "");
    let files = [
        "README.md",
        "src/main.rs",
        "src/app/remain.rs",
        "界面/主 页.rs",
        "domain.txt",
    ];
    for (age, file) in files.iter().rev().enumerate() {
        let path = bench.write(&format!("project/{file}"), "");
        let at = SystemTime::now() - Duration::from_secs(60 * (1 + age as u64));
        File::open(path).unwrap().set_modified(at).unwrap();
    }
    let old = SystemTime::now() - Duration::from_secs(86_400);
    let ignored = bench.project().join(".gitignore");
    File::open(ignored).unwrap().set_modified(old).unwrap();
    bench
}

#[test]
fn kinds_come_first_and_then_what_was_changed_last() {
    let bench = project();
    let finder = finder(&bench);
    assert_eq!(
        inserts(&finder.candidates("")),
        [
            "@diff",
            "@staged",
            "@file:",
            "@folder:",
            "@git:",
            "@url:",
            "@file:domain.txt",
            "@file:\"界面/主 页.rs\"",
            "@file:src/app/remain.rs",
            "@file:src/main.rs",
            "@file:README.md",
            "@file:.gitignore",
        ]
    );
    let words = finder.candidates("f");
    assert_eq!(inserts(&words)[..2], ["@file:", "@folder:"]);
    assert_eq!((words[0].kind, &words[0].marked), (Kind::Word, &vec![1]));
}

#[test]
fn names_are_found_by_what_is_typed_of_them() {
    let bench = project();
    let finder = finder(&bench);
    assert_eq!(
        inserts(&finder.candidates("main")),
        [
            "@file:src/main.rs",
            "@file:domain.txt",
            "@file:src/app/remain.rs"
        ]
    );
    assert_eq!(
        inserts(&finder.candidates("页")),
        ["@file:\"界面/主 页.rs\""]
    );
    assert_eq!(
        inserts(&finder.candidates("app")),
        ["@folder:src/app/", "@file:src/app/remain.rs"]
    );
    assert_eq!(
        inserts(&finder.candidates("folder:app")),
        ["@folder:src/app/"]
    );
    assert_eq!(
        inserts(&finder.candidates("file:app")),
        ["@file:src/app/remain.rs"]
    );
    assert_eq!(inserts(&finder.candidates("folder:")).len(), 3);
    assert!(finder.candidates("url:https://x.test").is_empty());
    let main = &finder.candidates("main")[0];
    assert_eq!(
        (main.label.as_str(), &main.marked),
        ("src/main.rs", &vec![4, 5, 6, 7])
    );
}

#[test]
fn paths_are_completed_from_where_they_begin() {
    let bench = project();
    bench.write(".hidden", "");
    let finder = finder(&bench);
    assert_eq!(inserts(&finder.paths("./s")), ["./src/"]);
    assert_eq!(inserts(&finder.paths("src/")), ["src/app/", "src/main.rs"]);
    assert_eq!(inserts(&finder.paths("~/pro")), ["~/project/"]);
    assert_eq!(inserts(&finder.paths("../")), ["../project/"]);
    assert_eq!(inserts(&finder.paths("~/.hi")), ["~/.hidden"]);
    let absolute = format!("{}/READ", bench.project().display());
    assert_eq!(finder.paths(&absolute)[0].label, "README.md");
    assert!(finder.paths("word").is_empty());
    assert_eq!(
        inserts(&finder.candidates("./src/")),
        ["@folder:./src/app/", "@file:./src/main.rs"]
    );
    assert_eq!(
        inserts(&finder.candidates("file:./src/")),
        ["@file:./src/app/", "@file:./src/main.rs"]
    );
    assert_eq!(
        inserts(&finder.candidates("folder:./src/")),
        ["@folder:./src/app/"]
    );
}

#[test]
fn there_is_never_too_much_and_whoever_stops_it_keeps_what_was_known() {
    let bench = Bench::new();
    for index in 0..80 {
        bench.write(&format!("project/{index}.txt"), "");
    }
    let mut finder = finder(&bench);
    assert_eq!(finder.candidates("").len(), 50);
    assert_eq!(finder.candidates("txt").len(), 50);
    bench.write("project/new.txt", "");
    let stopped = CancellationToken::new();
    stopped.cancel();
    finder.refresh(&stopped);
    assert!(finder.candidates("new").is_empty());
    finder.refresh(&CancellationToken::new());
    assert_eq!(inserts(&finder.candidates("new")), ["@file:new.txt"]);
}
