//! `hermes sessions`

use std::fs;

use hermes_testkit::{Exit, TempHome};
use insta::assert_snapshot;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::seed::{Seed, sessions};
use crate::{command, fails, hermes};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

#[test]
fn a_home_without_conversations() {
    let home = TempHome::new();
    for (args, expected) in [
        (&["sessions", "list"][..], "No conversations yet.\n"),
        (&["sessions", "list", "--json"], "[]\n"),
        (&["sessions", "search", "x", "--json"], "[]\n"),
        (&["sessions", "export", "-"], ""),
    ] {
        assert_eq!(hermes(&home, args).ok(), expected);
    }
    assert!(fails(&home, &["sessions", "show", "abc"], 1).contains("not found"));
    assert!(!home.exists("state.db"), "looking made a database");
}

#[test]
fn listing_showing_and_searching() {
    let home = TempHome::new();
    sessions(
        &home,
        &[
            Seed {
                id: "20260101_000000_aaaaaa",
                title: Some("家の計画"),
                days_ago: 3,
                messages: &["plan the 家 please", "sure"],
                ..Seed::default()
            },
            Seed {
                id: "20260102_000000_bbbbbb",
                source: "telegram",
                messages: &["buy\nmilk \x1b]0;evil\x07 and bread", "done"],
                ..Seed::default()
            },
            Seed {
                id: "20260103_000000_cccccc",
                source: "tool",
                messages: &["hidden"],
                ..Seed::default()
            },
        ],
    );
    assert_snapshot!(hermes(&home, &["sessions", "list"]), @r"
    exit: 0
    --- stdout
    title                         last active  source    messages  id
    buy milk �]0;evil� and bread  28m ago      telegram  2         20260102_000000_bbbbbb
    家の計画                      3d ago       cli       2         20260101_000000_aaaaaa
    --- stderr
    ");
    let listed = json(hermes(&home, &["sessions", "list", "--json", "--source", "tool"]).ok());
    assert_eq!(listed[0]["id"], "20260103_000000_cccccc");
    assert_snapshot!(hermes(&home, &["sessions", "show", "家の計画"]), @r"
    exit: 0
    --- stdout
    家の計画
    20260101_000000_aaaaaa · cli · test/model · 2 messages

    user
    plan the 家 please

    assistant
    sure
    --- stderr
    ");
    let found = json(hermes(&home, &["sessions", "search", "milk", "--json"]).ok());
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["session_id"], "20260102_000000_bbbbbb");
    assert!(
        hermes(&home, &["sessions", "search", "家"])
            .ok()
            .contains("20260101_000000_aaaaaa")
    );
    assert_eq!(
        hermes(&home, &["sessions", "search", "\"unbalanced AND ("]).ok(),
        "Nothing found.\n"
    );
}

#[test]
fn a_narrow_terminal_cuts_the_title_only() {
    let home = TempHome::new();
    let title = "a title that is much longer than the narrow terminal is wide";
    sessions(
        &home,
        &[Seed {
            id: "20260101_000000_aaaaaa",
            title: Some(title),
            messages: &["x"],
            ..Seed::default()
        }],
    );
    let pty = command(&home, &["sessions", "list"]).pty(10, 80);
    let screen = pty.wait_for("aaaaaa", std::time::Duration::from_secs(10));
    assert!(
        screen.contains("a title that is") && screen.contains('…'),
        "{screen}"
    );
    assert!(
        screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
}

// spec: state §13.10
#[test]
fn titles_are_unique_short_and_clean() {
    let home = TempHome::new();
    sessions(
        &home,
        &[
            Seed {
                id: "aaaa1111",
                messages: &["x"],
                ..Seed::default()
            },
            Seed {
                id: "bbbb2222",
                title: Some("old"),
                messages: &["y"],
                ..Seed::default()
            },
        ],
    );
    hermes(&home, &["sessions", "rename", "aaaa1111", "proj"]).ok();
    let reason = fails(&home, &["sessions", "rename", "bbbb2222", "proj"], 1);
    assert!(reason.contains("aaaa1111"), "{reason}");
    let title =
        |id: &str| json(hermes(&home, &["sessions", "show", id, "--json"]).ok())["title"].clone();
    assert_eq!(title("bbbb2222"), "old");
    assert!(
        fails(
            &home,
            &["sessions", "rename", "bbbb2222", &"x".repeat(101)],
            1
        )
        .contains("101")
    );
    hermes(&home, &["sessions", "rename", "bbbb2222", "a\u{200b}b  c"]).ok();
    assert_eq!(title("bbbb2222"), "ab c");
    hermes(&home, &["sessions", "rename", "bbbb", "two", "words"]).ok();
    assert_eq!(title("bbbb2222"), "two words");
    assert!(fails(&home, &["sessions", "rename", "nosuch", "t"], 1).contains("not found"));
}

// spec: state §13.11
#[test]
fn a_compressed_conversation_is_one_row() {
    let home = TempHome::new();
    sessions(
        &home,
        &[
            Seed {
                id: "root0000",
                title: Some("proj"),
                ended: Some("compression"),
                messages: &["begin"],
                ..Seed::default()
            },
            Seed {
                id: "tip00000",
                title: Some("proj #2"),
                parent: Some("root0000"),
                messages: &["go on"],
                ..Seed::default()
            },
        ],
    );
    let listed = json(hermes(&home, &["sessions", "list", "--json"]).ok());
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(
        (&listed[0]["id"], &listed[0]["root_id"]),
        (&"tip00000".into(), &"root0000".into())
    );
    assert_eq!(
        json(hermes(&home, &["sessions", "show", "proj", "--json"]).ok())["id"],
        "tip00000"
    );
}

// spec: state §13.12
#[test]
fn exporting_one_or_all() {
    let home = TempHome::new();
    sessions(
        &home,
        &[
            Seed {
                id: "20260101_000000_aaaaaa",
                messages: &["one", "two"],
                ..Seed::default()
            },
            Seed {
                id: "20260102_000000_bbbbbb",
                source: "telegram",
                messages: &["三"],
                ..Seed::default()
            },
        ],
    );
    let one = hermes(
        &home,
        &["sessions", "export", "-", "--session-id", "20260101_0"],
    );
    assert_eq!(one.ok().lines().count(), 1);
    let session = json(one.ok());
    assert_eq!(session["id"], "20260101_000000_aaaaaa");
    assert_eq!(session["messages"][1]["content"], "two");
    let reason = fails(
        &home,
        &["sessions", "export", "-", "--session-id", "2026010"],
        1,
    );
    assert!(reason.contains("not found"), "{reason}");
    let file = home.work().join("all.jsonl");
    hermes(&home, &["sessions", "export", file.to_str().unwrap()]).ok();
    let text = home.read(&file);
    assert_eq!(text.lines().count(), 2);
    assert!(text.contains("三"), "not escaped");
    assert_eq!(
        hermes(&home, &["sessions", "export", "-", "--source", "telegram"])
            .ok()
            .lines()
            .count(),
        1
    );
    fails(
        &home,
        &["sessions", "export", "/nonexistent/dir/x.jsonl"],
        1,
    );
}

// spec: state §13.13
#[test]
fn pruning_takes_old_ended_sessions_and_their_files() {
    let home = TempHome::new();
    sessions(
        &home,
        &[
            Seed {
                id: "old_ended",
                days_ago: 40,
                ended: Some("cli_close"),
                messages: &["a"],
                ..Seed::default()
            },
            Seed {
                id: "old_open",
                days_ago: 40,
                parent: Some("old_ended"),
                messages: &["b"],
                ..Seed::default()
            },
            Seed {
                id: "new_ended",
                ended: Some("cli_close"),
                messages: &["c"],
                ..Seed::default()
            },
        ],
    );
    for name in [
        "session_old_ended.json",
        "old_ended.jsonl",
        "request_dump_old_ended_1.json",
        "session_old_open.json",
    ] {
        home.write(format!("sessions/{name}"), "{}");
    }
    let refused = hermes(&home, &["sessions", "prune", "--older-than", "30"]);
    assert_eq!(
        refused.exit,
        Exit::Code(1),
        "without a terminal and without -y"
    );
    hermes(&home, &["sessions", "prune", "--older-than", "30", "-y"]).ok();
    let left = json(hermes(&home, &["sessions", "list", "--json"]).ok());
    let mut ids: Vec<_> = left
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    assert_eq!(ids, ["new_ended", "old_open"]);
    assert_eq!(
        json(hermes(&home, &["sessions", "show", "old_open", "--json"]).ok())["parent_session_id"],
        Value::Null
    );
    let files: Vec<_> = fs::read_dir(home.hermes().join("sessions"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(files, ["session_old_open.json"]);
    assert!(
        hermes(&home, &["sessions", "prune", "--older-than", "30", "-y"])
            .ok()
            .starts_with("No ended session")
    );
}

#[test]
fn deleting_asks_first() {
    let home = TempHome::new();
    sessions(
        &home,
        &[Seed {
            id: "gone1111",
            messages: &["x"],
            ..Seed::default()
        }],
    );
    home.write("sessions/session_gone1111.json", "{}");
    fails(&home, &["sessions", "delete", "gone1111"], 1);
    let mut pty = command(&home, &["sessions", "delete", "gone1111"]).pty(10, 80);
    pty.wait_for("[y/N]", std::time::Duration::from_secs(10));
    pty.send("n\r");
    pty.wait_for("Nothing was deleted", std::time::Duration::from_secs(10));
    hermes(&home, &["sessions", "delete", "gone1", "-y"]).ok();
    assert!(!home.exists("sessions/session_gone1111.json"));
    assert_eq!(
        hermes(&home, &["sessions", "list"]).ok(),
        "No conversations found.\n"
    );
    let stats = json(hermes(&home, &["sessions", "stats", "--json"]).ok());
    assert_eq!(stats["sessions"], 0);
}

#[test]
fn a_file_that_is_no_database_is_kept_aside_and_the_rest_works() {
    let home = TempHome::new();
    home.write(
        "state.db",
        "this is not a database, and long enough to be looked at as one".repeat(20),
    );
    let reason = fails(&home, &["sessions", "list"], 1);
    assert!(reason.contains("hermes sessions recover"), "{reason}");
    hermes(&home, &["config", "show"]).ok();
    hermes(&home, &["status"]).ok();
    assert_eq!(hermes(&home, &["doctor"]).exit, Exit::Code(1));
    fails(&home, &["sessions", "repair"], 1);
    fails(&home, &["sessions", "recover"], 1);
    hermes(&home, &["sessions", "recover", "-y"]).ok();
    let aside = fs::read_dir(home.hermes())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| name.starts_with("state.db.malformed-backup-"))
        .expect("the damaged file is kept");
    assert!(home.read(aside).starts_with("this is not a database"));
    hermes(&home, &["sessions", "list"]).ok();
    hermes(&home, &["doctor"]).ok();
}
