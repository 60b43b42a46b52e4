//! `hermes insights`, on files the Python program made and on none.

use std::path::Path;
use std::time::Duration;

use hermes_testkit::{Exit, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{command, hermes};

fn with_fixture(name: &str) -> TempHome {
    let home = TempHome::new();
    let fixtures =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/base/store/tests/it/fixtures");
    home.write("state.db", std::fs::read(fixtures.join(name)).unwrap());
    home
}

// spec: learning §13.18
#[test]
fn nothing_to_tell() {
    let home = TempHome::new();
    let line = "No sessions found in the last 7 days.\n";
    for more in [&[][..], &["--cost"]] {
        let args = [&["insights", "--days", "7"][..], more].concat();
        assert_eq!(hermes(&home, &args).ok(), line);
    }
    let seen: Value = serde_json::from_str(hermes(&home, &["insights", "--json"]).ok()).unwrap();
    assert_eq!(
        (&seen["empty"], &seen["days"], &seen["overview"]["sessions"]),
        (&json!(true), &json!(30), &json!(0))
    );
    assert!(
        !home.hermes().join("state.db").exists(),
        "looking makes no file"
    );
    let odd = hermes(&home, &["insights", "--days", "0"]);
    assert_eq!(odd.exit, Exit::Code(2), "{odd}");
}

// spec: learning §13.18
#[test]
fn a_file_of_the_python_program() {
    let home = with_fixture("v11.db");
    let output = hermes(&home, &["insights", "--days", "10000"]);
    insta::assert_snapshot!(output.ok(), @r"
    ╭────────────────────────────╮
    │ Insights · last 10000 days │
    ╰────────────────────────────╯

    Overview
      Period       2026-01-01 to 2026-01-01
      Sessions     7
      Messages     14 (8 user, 5 assistant, 1 tool)
      Tool calls   1
      Requests     2
      Tokens       120
                   100 in, 20 out
                   0 cached, 0 written
      Cost         $0.2500 (estimated)
      Active time  3s
      On average   2.0 messages, 17 tokens, 1s

    Models (tokens, sessions, tool calls, cost)
      one  ███████████████  120 tokens · 1 · 1 · $0.2500

    Platforms (sessions)
      cli       ███████████████  4 · 10 messages
      subagent  ████             1 · 1 message
      telegram  ████             1 · 2 messages
      tool      ████             1 · 1 message

    Tools (calls)
      web_search  ███████████████  1 · 100.0 %

    Activity (sessions)
      Mon                   0
      Tue                   0
      Wed                   0
      Thu  ███████████████  7
      Fri                   0
      Sat                   0
      Sun                   0
      Busiest  09:00 (7)
      Active   1 day
      Streak   1 day in a row

    Notable sessions
      Longest     1s · alpha
      Messages    4 · alpha
      Tokens      120 · alpha
      Tool calls  1 · alpha
    ");
}

#[test]
fn its_cost() {
    let home = with_fixture("v22.db");
    let output = hermes(&home, &["insights", "--days", "10000", "--cost"]);
    insta::assert_snapshot!(output.ok(), @r"
    ╭────────────────────────╮
    │ Cost · last 10000 days │
    ╰────────────────────────╯

    Overview
      Total          $0.2500
      Conversations  $0.2500
      Children       $0.00
      Side tasks     $0.00

    By day
      2026-01-01  ███████████████  $0.2500 · 2 requests

    By model
      one  ███████████████  $0.2500 · 2 requests

    By provider
      acme  ███████████████  $0.2500 · 2 requests

    By session
      alpha  ███████████████  $0.2500 · 2 requests
    ");
}

#[test]
fn for_programs() {
    let home = with_fixture("v22.db");
    let output = hermes(
        &home,
        &["insights", "--days", "10000", "--json", "--source", "cli"],
    );
    let seen: Value = serde_json::from_str(output.ok()).unwrap();
    let keys: Vec<&str> = seen
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "days",
        "source",
        "empty",
        "overview",
        "models",
        "platforms",
        "tools",
        "skills",
        "activity",
        "notable",
        "money",
    ];
    assert_eq!(keys, expected);
    assert_eq!(
        (&seen["source"], &seen["empty"]),
        (&json!("cli"), &json!(false))
    );
    let overview = &seen["overview"];
    assert_eq!(
        (&overview["sessions"], &overview["messages"]),
        (&json!(7), &json!(16))
    );
    assert_eq!(
        (&overview["tokens"]["input"], &overview["total_tokens"]),
        (&json!(100), &json!(120))
    );
    assert_eq!(
        seen["tools"],
        json!([{"name": "web_search", "calls": 1, "percent": 100.0}])
    );
    assert_eq!(seen["activity"]["days"], json!([["2026-01-01", 7]]));
    assert_eq!(seen["money"]["sessions"][0]["title"], "alpha");
}

#[test]
fn forty_columns_and_no_colour() {
    let home = with_fixture("v22.db");
    for more in [&[][..], &["--cost"]] {
        let args = [&["insights", "--days", "10000"][..], more].concat();
        let mut pty = command(&home, &args).env("NO_COLOR", "1").pty(100, 40);
        assert_eq!(pty.wait_exit(Duration::from_secs(10)), Exit::Code(0));
        let screen = pty.screen();
        let bars = screen.lines().filter(|line| line.contains('█'));
        assert!(bars.clone().count() >= 3, "{screen}");
        // A line that was too long would have gone on in the next one, where nothing else begins like that.
        let odd = |line: &&str| {
            !line.is_empty() && !line.starts_with(['╭', '│', '╰', ' ']) && line.contains(['█', '·'])
        };
        assert_eq!(screen.lines().find(odd), None, "{screen}");
        let heads = [
            "Overview",
            if more.is_empty() { "Models" } else { "By day" },
        ];
        assert!(heads.iter().all(|head| screen.contains(head)), "{screen}");
    }
}
