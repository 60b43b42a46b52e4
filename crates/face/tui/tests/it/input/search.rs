//! Ctrl+R.

use std::time::Instant;

use hermes_testkit::TempHome;
use hermes_tui::input::{History, Search, Searched};
use hermes_tui::look::Look;
use insta::assert_snapshot;
use pretty_assertions::assert_eq;

use super::{home, key, texts};

fn search() -> Search {
    let temp = TempHome::new();
    let mut history = History::open(&home(&temp));
    for entry in [
        "fix the parser",
        "Deploy to staging",
        "several\nlines with a deploy",
        "run tests",
        "deploy again",
    ] {
        history.add(entry).unwrap();
    }
    history.search()
}

fn press(search: &mut Search, keys: &str) -> Searched {
    let mut last = Searched::GivenUp;
    for name in keys.split(' ') {
        last = search.key(key(name), Instant::now());
    }
    last
}

#[test]
fn older_and_newer() {
    let mut search = search();
    assert_eq!(press(&mut search, "d e p"), Searched::Going);
    assert_eq!(search.current(), Some("deploy again"));
    press(&mut search, "C-r");
    assert_eq!(search.current(), Some("several\nlines with a deploy"));
    press(&mut search, "C-r C-r C-r");
    assert_eq!(search.current(), Some("Deploy to staging"));
    press(&mut search, "C-s");
    assert_eq!(search.current(), Some("several\nlines with a deploy"));
    let found = Searched::Found("several\nlines with a deploy".into());
    assert_eq!(press(&mut search, "Enter"), found);
}

#[test]
fn capitals_count_when_there_are_some() {
    let mut search = search();
    press(&mut search, "D e p");
    assert_eq!(search.current(), Some("Deploy to staging"));
    press(&mut search, "x");
    assert_eq!(search.current(), None);
    press(&mut search, "BS");
    assert_eq!(search.current(), Some("Deploy to staging"));
}

#[test]
fn ways_out() {
    let mut search = search();
    for name in ["Esc", "C-g", "C-c", "Enter", "Left"] {
        assert_eq!(press(&mut search, name), Searched::GivenUp, "{name}");
    }
    press(&mut search, "r u n");
    let then = Searched::FoundThen("run tests".into(), key("Left"));
    assert_eq!(press(&mut search, "Left"), then);
}

#[test]
fn drawn() {
    let mut search = search();
    let mut rows = |keys: &str| {
        press(&mut search, keys);
        texts(&search.rows(20, &Look::plain())).join("\n")
    };
    assert_snapshot!(rows("d e p C-r"), @r"
    lines with a deploy
    search: dep
    ");
    assert_snapshot!(rows("q"), @r"

    nothing found: depq
    ");
}
